import Foundation
import Synchronization
import Testing

@testable import FoundationModels
@testable import LocalLLM

@Suite(.timeLimit(.minutes(10))) struct GuidedSessionTests {
    private let options = GenerationOptions(samplingMode: .greedy, maximumResponseTokens: 12)

    /// Has a model generate values, and fails unless each is whole or was cut off, and one at least is whole.
    private func generate<Value: Generable>(
        _ type: Value.Type, _ model: SystemLanguageModel, seeds: Range<UInt64> = 0..<4, tokens: Int = 500
    ) async throws -> [Value] {
        var values: [Value] = []
        for seed in seeds {
            let options = GenerationOptions(
                samplingMode: .random(top: 0, seed: seed), temperature: 1, maximumResponseTokens: tokens)
            do {
                let response = try await LanguageModelSession(model: model).respond(
                    to: "go", generating: type, includeSchemaInPrompt: false, options: options)
                #expect(response.rawContent.isComplete)
                // The value says the same as the text; what is nil may be left out.
                #expect(
                    try Value(response.content.generatedContent).generatedContent == response.content.generatedContent)
                values.append(response.content)
            } catch let error as GeneratedContent.ParsingError {
                #expect(error.debugDescription.contains("maximum length"), "\(type): \(error.debugDescription)")
            }
        }
        #expect(!values.isEmpty, "\(type)")
        return values
    }

    @Test func `a random model generates values of every type, and keeps to the guides`() async throws {
        let model = try tinyModel(context: 2048)
        for recipe in try await generate(Recipe.self, model) {
            #expect((5...240).contains(recipe.minutes) && (2...3).contains(recipe.ingredients.count))
            #expect(recipe.tags.count <= 2)
            for ingredient in recipe.ingredients {
                #expect(["flour", "milk", "egg"].contains(ingredient.name))
                #expect((0.25...500).contains(ingredient.amount))
            }
        }
        for quiz in try await generate(Quiz.self, model) {
            #expect((1...2).contains(quiz.questions.count))
            for question in quiz.questions {
                #expect(question.text == "Which is right?" && question.choices.count == 3)
                #expect(Set(question.choices.map(\.id)).count == 3)
                for choice in question.choices { #expect(choice.text.wholeMatch(of: /[a-z]{2,6}/) != nil) }
            }
        }
        for receipt in try await generate(Receipt.self, model) {
            #expect(["baker", "grocer"].contains(receipt.shop) && (0...99_999).contains(receipt.cents))
        }
        let events = try await generate(Event.self, model, seeds: 0..<8)
        #expect(Set(events.map(\.generatedContent.jsonString)).count > 1)
        for ticket in try await generate(Ticket.self, model) {
            #expect(ticket.number.wholeMatch(of: /[A-Z]{2}-[0-9]{3}/) != nil)
            #expect(ticket.word.wholeMatch(of: /[a-z]+/) != nil)
            #expect((0.5...2).contains(ticket.factor) && ticket.digits.allSatisfy((0...9).contains))
        }
        _ = try await generate(Shape.self, model)
        _ = try await generate(Expression.self, model)
        _ = try await generate(Remark.self, model, seeds: 0..<8)
        _ = try await generate(Page<Bool>.self, model)
        _ = try await generate(Order.self, model)
        _ = try await generate(Empty.self, model)
        _ = try await generate([Person].self, model)
        _ = try await generate(Bool.self, model)
        _ = try await generate(Int.self, model)
        _ = try await generate(Float.self, model)
        _ = try await generate(Double.self, model)
        _ = try await generate(Decimal.self, model)
        _ = try await generate([[Int]].self, model)
        _ = try await generate(GeneratedContent.self, model)
    }

    @Test func `the bundled model generates a value, and shows it as it grows`() async throws {
        let session = LanguageModelSession(model: SystemLanguageModel(contentsOf: bundledModel))
        let stream = session.streamResponse(
            to: "A quiz about animals.", generating: Quiz.self, includeSchemaInPrompt: false,
            options: .init(samplingMode: .greedy, maximumResponseTokens: 400))
        var (ids, last): (Set<GenerationID>, Quiz.PartiallyGenerated?) = ([], nil)
        for try await snapshot in stream {
            ids.formUnion((snapshot.content.questions ?? []).map(\.id))
            last = snapshot.content
        }
        let quiz = try await stream.collect()
        #expect(ids == Set(quiz.content.questions.map(\.id)))
        #expect(last?.questions?.count == quiz.content.questions.count)
        let right = quiz.content.questions.map { ($0.id, $0.choices.first(where: \.isRight)?.id ?? $0.choices[0].id) }
        let count = quiz.content.questions.count { $0.choices.contains(where: \.isRight) }
        #expect(
            Quiz.grade(quiz.content.asPartiallyGenerated(), chosen: Dictionary(uniqueKeysWithValues: right)) <= count)
        guard case .response(let response)? = session.transcript.last,
            case .structure(let value)? = response.segments.first
        else { return #expect(Bool(false), "\(String(describing: session.transcript.last))") }
        #expect(value.source == "Quiz" && value.content == quiz.rawContent)
    }

    @Test func `every form of respond and streamResponse answers`() async throws {
        let forms = Forms(session: LanguageModelSession(model: try tinyModel(context: 4096)), options: options)
        for answers in [try await forms.responses(), try await forms.streams()] {
            #expect(answers.count == 9)
            for answer in answers.dropFirst(3) {
                guard case .bool = answer.kind else { return #expect(Bool(false), "\(answer)") }
            }
        }
        #expect(forms.session.transcript.count == 36)
    }

    @Test func `a schema put together at run time is followed`() async throws {
        let schema = try FormBuilder(fields: [("color", ["red", "green"]), ("isNew", [])]).schema()
        let session = LanguageModelSession(model: try tinyModel(context: 2048))
        let content = try await session.respond(
            to: "go", schema: schema, options: .init(samplingMode: .random(top: 0, seed: 3), temperature: 1)
        ).content
        let lines = FormBuilder.lines(content)
        #expect(lines.prefix(2) == ["rows:", "color:"] && ["red", "green"].contains(lines[2]) && lines[3] == "isNew:")
        struct Form: Decodable {
            let rows: [Row]
            struct Row: Decodable {
                let color: String
                let isNew: Bool
            }
        }
        #expect(try content.decoded(as: Form.self).rows.first?.color == lines[2])
    }

    @Test func `the model reads the schema unless it is left out`() throws {
        let format = Transcript.ResponseFormat(type: Receipt.self)
        for (isShown, context) in [(true, ContextOptions()), (false, ContextOptions(includeSchemaInPrompt: false))] {
            let entry = Transcript.Prompt(segments: .init(text: "go"), responseFormat: format, contextOptions: context)
            let read = try #require(ConversationWindow(Transcript(entries: [.prompt(entry)])).request().messages.first)
            #expect(read.content.contains(#""enum":["baker","grocer"]"#) == isShown && read.content.hasPrefix("go"))
        }
    }

    @Test func `guides that no value satisfies are refused`() async throws {
        let schema = GenerationSchema(
            type: Person.self,
            properties: [.init(name: "a", type: Int.self, guides: [.minimum(5), .maximum(3)])])
        let session = LanguageModelSession(model: try tinyModel())
        let error = await #expect(throws: LanguageModelError.self) {
            try await session.respond(to: "go", schema: schema, includeSchemaInPrompt: false)
        }
        guard case .unsupportedGenerationGuide = error else {
            return #expect(Bool(false), "\(String(describing: error))")
        }
        #expect(session.transcript.isEmpty && !session.isResponding)
    }

    @Test func `a value that is cut off is no value`() async throws {
        let session = LanguageModelSession(model: try tinyModel(context: 512))
        await #expect(throws: GeneratedContent.ParsingError.self) {
            try await session.respond(
                to: "go", generating: Recipe.self, includeSchemaInPrompt: false, options: .greedy(20))
        }
        #expect(session.transcript.isEmpty)
    }

    @Test func `a session calls tools and goes on to a value`() async throws {
        let asked = Mutex<[ForecastTool.Arguments]>([])
        let tool = ForecastTool { arguments in asked.withLock { $0.append(arguments) } }
        var outcomes: [Transcript] = []
        for seed in UInt64(0)..<64 where !outcomes.contains(where: { $0.count > 3 }) {
            let session = LanguageModelSession(model: try tinyModel(context: 4096), tools: [tool])
            let options = GenerationOptions(
                samplingMode: .random(top: 0, seed: seed), temperature: 1, maximumResponseTokens: 300)
            do {
                let response = try await session.respond(
                    to: "go", generating: Bool.self, includeSchemaInPrompt: false, options: options)
                #expect(Array(response.transcriptEntries) == Array(session.transcript.dropFirst()))
                outcomes.append(session.transcript)
            } catch is LanguageModelError {
                // It called until the context was full.
                #expect(session.transcript.count == 1)
            }
        }
        #expect(!outcomes.isEmpty && asked.withLock { $0.allSatisfy { (1...7).contains($0.days) } })
        let calling = try #require(outcomes.first { $0.count > 3 })
        // It may have said something before it called.
        let place = try #require(calling.firstIndex { if case .toolCalls = $0 { true } else { false } })
        guard case .toolCalls(let calls) = calling[place],
            let output = calling.lazy.compactMap({ if case .toolOutput(let output) = $0 { output } else { nil } }).first
        else {
            return #expect(Bool(false), "\(calling)")
        }
        #expect(calls[0].toolName == "forecast" && output.id == calls[0].id && output.toolName == "forecast")
        guard case .structure(let value)? = output.segments.first else { return #expect(Bool(false)) }
        #expect(try value.content.value(Int.self, forProperty: "degrees") == 24)
        let stored = try JSONDecoder().decode(Transcript.self, from: JSONEncoder().encode(calling))
        #expect(stored == calling)
    }

    @Test func `calls of one message run at the same time, and outputs come in their order`() async throws {
        let both = Rendezvous()
        let tools = SessionTools([Meeting(name: "a", both: both), Meeting(name: "b", both: both)])
        let empty = try GeneratedContent(json: "{}")
        let outputs = try await tools.run([
            .init(id: "1", toolName: "b", arguments: empty), .init(id: "2", toolName: "a", arguments: empty),
        ])
        #expect(outputs.map(\.id) == ["1", "2"] && outputs.map(\.segments.text) == ["b met", "a met"])
    }

    @Test func `what goes wrong with a call says which tool`() async throws {
        let tools = SessionTools([LockedTool(), ForecastTool { _ in }])
        func run(_ name: String, _ arguments: String) async throws {
            _ = try await tools.run([
                .init(id: "1", toolName: name, arguments: try GeneratedContent(json: arguments))
            ])
        }
        let failed = await #expect(throws: LanguageModelSession.ToolCallError.self) {
            try await run("LockedTool", "{}")
        }
        #expect(failed?.tool.name == "LockedTool" && failed?.underlyingError is Refused)
        let wrong = await #expect(throws: LanguageModelSession.ToolCallError.self) {
            try await run("forecast", #"{"city": "rome"}"#)
        }
        #expect(wrong?.localizedDescription.contains("forecast") == true)
        for (name, arguments) in [("other", "{}"), ("forecast", #"{"city": "ro"#)] {
            await #expect(throws: GeneratedContent.ParsingError.self) { try await run(name, arguments) }
        }
    }

    @Test func `calls and outputs are part of the conversation`() async throws {
        let system = try tinyModel(context: 4096)
        defer { withExtendedLifetime(system) {} }
        let model = try await system.host.model()
        let call = Transcript.ToolCall(
            id: "1", toolName: "forecast", arguments: try GeneratedContent(json: #"{"city":"rome","days":2}"#))
        let transcript = Transcript(entries: [
            .prompt(.init(segments: .init(text: "Rome?"))), .toolCalls(.init([call])),
            .toolOutput(.init(id: "1", toolName: "forecast", segments: .init(text: "sunny"))),
        ])
        let text = try ConversationWindow(transcript, tools: SessionTools([ForecastTool { _ in }]).offer(nil)).prompt(
            for: model
        ).text
        #expect(text.contains(#""name": "forecast", "arguments": {"city":"rome","days":2}"#))
        #expect(text.contains("sunny") && text.contains("How far ahead"))
    }

    @Test func `sessions begin without instructions, and instructions list tools`() throws {
        let model = try tinyModel()
        #expect(LanguageModelSession(model: model, instructions: nil).transcript.isEmpty)
        let session = LanguageModelSession(
            model: model, tools: [LockedTool(), ForecastTool { _ in }], instructions: "Hi")
        guard case .instructions(let entry)? = session.transcript.first else { return #expect(Bool(false)) }
        #expect(entry.toolDefinitions.map(\.name) == ["LockedTool", "forecast"])
    }

    @Test func `feedback holds the transcript and what was wanted`() throws {
        let session = LanguageModelSession(model: try tinyModel(), instructions: "Hi")
        let data = session.logFeedbackAttachment(
            sentiment: .negative, issues: [.init(category: .incorrect, explanation: "no")],
            desiredResponseContent: Receipt(shop: "baker", cents: 5))
        let text = String(decoding: data, as: UTF8.self)
        #expect(text.contains(#""sentiment":"negative""#) && text.contains("incorrect"))
        #expect(text.contains("baker") && text.contains("LocalLLM.Transcript"))
    }
}

/// Lets tasks go on when two are there.
private actor Rendezvous {
    private var waiting: CheckedContinuation<Void, Never>?

    func meet() async {
        if let waiting {
            self.waiting = nil
            waiting.resume()
        } else {
            await withCheckedContinuation { waiting = $0 }
        }
    }
}

private struct Meeting: Tool {
    let name: String
    let description = "Waits for the other"
    let both: Rendezvous

    var parameters: GenerationSchema { GenerationSchema(type: Empty.self, properties: []) }

    func call(arguments: GeneratedContent) async throws -> String {
        await both.meet()
        return "\(name) met"
    }
}
