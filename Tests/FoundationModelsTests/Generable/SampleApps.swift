import Foundation
import FoundationModels

// What sample apps for FoundationModels declare and call, in our own words: recipes, receipts, quizzes, forms put together
// at run time, tools. `GuidedSessionTests` runs it.

@Generable(description: "A recipe for a home cook")
struct Recipe: Equatable {
    @Guide(description: "The dish, in at most five words")
    let name: String
    @Guide(description: "From easy to hard")
    let difficulty: Difficulty
    @Guide(description: "Minutes in the kitchen", .range(5...240))
    let minutes: Int
    @Guide(description: "What it takes", .count(2...3))
    let ingredients: [Ingredient]
    @Guide(.maximumCount(2))
    let tags: [Tag]

    @Generable
    enum Difficulty: CaseIterable { case easy, medium, hard }

    @Generable
    enum Tag: String { case vegan, quick, soup = "a soup" }

    @Generable
    struct Ingredient: Equatable {
        @Guide(.anyOf(["flour", "milk", "egg"]))
        var name: String
        @Guide(.minimum(0.25), .maximum(500))
        var amount: Double
        @Guide(.anyOf(["g", "ml"])) var unit: String?
    }
}

/// A quiz whose questions and choices are told apart by their IDs while they are still growing.
@Generable
struct Quiz {
    @Guide(.count(1...2))
    var questions: [Question]

    @Generable
    struct Question: Identifiable {
        let id: GenerationID
        @Guide(.constant("Which is right?"))
        var text: String
        @Guide(.count(3))
        var choices: [Choice]
    }

    @Generable
    struct Choice: Identifiable, Equatable {
        let id: GenerationID
        @Guide(.pattern(/[a-z]{2,6}/)) var text: String
        var isRight: Bool
    }
}

extension Quiz {
    /// The chosen answers that are right so far.
    static func grade(_ quiz: Quiz.PartiallyGenerated, chosen: [GenerationID: GenerationID]) -> Int {
        (quiz.questions ?? []).count { question in
            question.choices?.contains { $0.id == chosen[question.id] && $0.isRight == true } == true
        }
    }
}

/// A receipt; the code is written without macros, as apps do that cannot use them.
struct Receipt: Generable, Equatable {
    var shop: String
    var cents: Int
    var isPaid: Bool?

    static var generationSchema: GenerationSchema {
        GenerationSchema(
            type: Receipt.self, description: "A receipt",
            properties: [
                .init(name: "shop", description: "Its name", type: String.self, guides: [.anyOf(["baker", "grocer"])]),
                .init(name: "cents", type: Int.self, guides: [.minimum(0), .maximum(99_999)]),
                .init(name: "isPaid", type: Bool?.self),
            ])
    }

    init(shop: String, cents: Int, isPaid: Bool? = nil) {
        self.shop = shop
        self.cents = cents
        self.isPaid = isPaid
    }

    init(_ content: GeneratedContent) throws {
        shop = try content.value(String.self, forProperty: "shop")
        cents = try content.value(forProperty: "cents")
        isPaid = try content.value(forProperty: "isPaid")
    }

    var generatedContent: GeneratedContent {
        GeneratedContent(properties: ["shop": shop, "cents": cents, "isPaid": isPaid])
    }
}

/// An event that happened, in one of several forms.
@Generable
enum Event: Equatable {
    case message(from: Sender, isRead: Bool)
    case call(minutes: Int)
    case nothing

    @Generable
    enum Sender { case anna, ben }
}

/// A form that users put together.
struct FormBuilder {
    var fields: [(name: String, choices: [String])]

    func schema() throws -> GenerationSchema {
        let properties = fields.map { field in
            DynamicGenerationSchema.Property(
                name: field.name, description: "One of the choices",
                schema: field.choices.isEmpty
                    ? DynamicGenerationSchema(type: Bool.self)
                    : DynamicGenerationSchema(name: "\(field.name) choices", anyOf: field.choices))
        }
        let item = DynamicGenerationSchema(name: "Item", description: "A row", properties: properties)
        let rows = DynamicGenerationSchema(
            arrayOf: DynamicGenerationSchema(referenceTo: "Item"), minimumElements: 1, maximumElements: 2)
        let root = DynamicGenerationSchema(name: "Form", properties: [.init(name: "rows", schema: rows)])
        return try GenerationSchema(root: root, dependencies: [item])
    }

    /// Walks over a value as a user interface shows it.
    static func lines(_ content: GeneratedContent) -> [String] {
        switch content.kind {
        case .null: ["-"]
        case .bool(let value): ["\(value)"]
        case .number(let value): ["\(value)"]
        case .string(let value): [value]
        case .array(let values): values.flatMap(lines)
        case .structure(let properties, let keys):
            keys.flatMap { key in properties[key].map { ["\(key):"] + lines($0) } ?? [] }
        }
    }
}

/// Looks up the weather; its output is a value.
struct ForecastTool: Tool {
    let name = "forecast"
    let description = "The weather of the next days"
    let asked: @Sendable (Arguments) -> Void

    @Generable
    struct Arguments: Equatable {
        @Guide(description: "Where") var city: City
        @Guide(description: "How far ahead", .range(1...7)) var days: Int

        @Generable
        enum City { case rome, oslo }
    }

    func call(arguments: Arguments) async throws -> GeneratedContent {
        asked(arguments)
        return GeneratedContent(properties: ["city": arguments.city, "sunny": true, "degrees": 24])
    }
}

struct Refused: Error {}

/// Fails, as tools do that are not permitted.
struct LockedTool: Tool {
    let description = "Opens the door"
    @Generable struct Arguments {}
    func call(arguments: Arguments) async throws -> String { throw Refused() }
}

/// All eighteen ways to ask.
struct Forms {
    let session: LanguageModelSession
    let options: GenerationOptions
    let flag = DynamicGenerationSchema(type: Bool.self)

    func responses() async throws -> [GeneratedContent] {
        let schema = try GenerationSchema(root: flag, dependencies: [])
        let texts = [
            try await session.respond(to: Prompt("a"), options: options),
            try await session.respond(to: "a", options: options),
            try await session.respond(options: options) { "a" },
        ]
        let values = [
            try await session.respond(to: Prompt("a"), generating: Bool.self, options: options),
            try await session.respond(to: "a", generating: Bool.self, includeSchemaInPrompt: false, options: options),
            try await session.respond(generating: Bool.self, options: options) { "a" },
        ]
        let contents = [
            try await session.respond(to: Prompt("a"), schema: schema, options: options),
            try await session.respond(to: "a", schema: schema, includeSchemaInPrompt: false, options: options),
            try await session.respond(schema: schema, options: options) { "a" },
        ]
        return texts.map(\.rawContent) + values.map(\.rawContent) + contents.map(\.content)
    }

    func streams() async throws -> [GeneratedContent] {
        let schema = try GenerationSchema(root: flag, dependencies: [])
        var all: [GeneratedContent] = []
        all.append(try await session.streamResponse(to: Prompt("a"), options: options).collect().rawContent)
        all.append(try await session.streamResponse(to: "a", options: options).collect().rawContent)
        all.append(try await session.streamResponse(options: options) { "a" }.collect().rawContent)
        all.append(
            try await session.streamResponse(to: Prompt("a"), generating: Bool.self, options: options).collect()
                .rawContent)
        all.append(
            try await session.streamResponse(to: "a", generating: Bool.self, options: options).collect().rawContent)
        all.append(
            try await session.streamResponse(generating: Bool.self, options: options) { "a" }.collect().rawContent)
        all.append(
            try await session.streamResponse(to: Prompt("a"), schema: schema, options: options).collect().content)
        all.append(try await session.streamResponse(to: "a", schema: schema, options: options).collect().content)
        all.append(try await session.streamResponse(schema: schema, options: options) { "a" }.collect().content)
        return all
    }
}
