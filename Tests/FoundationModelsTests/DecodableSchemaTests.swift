import Foundation
import Testing

@testable import FoundationModels

@Suite(.timeLimit(.minutes(5))) struct DecodableSchemaTests {
    enum Stars: Int, Codable, CaseIterable { case one = 1, two, three }
    enum Board: String, Codable, CaseIterable { case none, breakfast, full }

    struct Hotel: Codable, Equatable {
        struct Room: Codable, Equatable {
            var beds: UInt8
            var view: String?
        }

        var name: String
        var stars: Stars
        var board: Board?
        var rooms: [Room]
        var prices: [String: Double]
        var isOpen: Bool
        var page: URL
        var notes: [String?]

        private enum CodingKeys: String, CodingKey {
            case name, stars, board, rooms, prices, page, notes
            case isOpen = "is_open"
        }
    }

    @Test func `a type's schema is read off its decoding`() throws {
        let schema = try GenerationSchema(decoding: Hotel.self)
        #expect(schema.name == "Hotel")
        // Properties are generated in the order in which they are decoded: that of the coding keys.
        let expected = """
            {"title":"Hotel","type":"object","properties":{"name":{"type":"string"},"stars":{"enum":[1,2,3]},\
            "board":{"type":"string","enum":["none","breakfast","full"]},\
            "rooms":{"type":"array","items":{"type":"object","properties":{\
            "beds":{"type":"integer","minimum":0,"maximum":255},"view":{"type":"string"}},"required":["beds"],\
            "additionalProperties":false}},\
            "prices":{"type":"object","additionalProperties":{"type":"number"}},\
            "page":{"type":"string","format":"uri"},\
            "notes":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"null"}]}},\
            "is_open":{"type":"boolean"}},\
            "required":["name","stars","rooms","prices","page","notes","is_open"],"additionalProperties":false}
            """
        #expect(try schema.jsonSchema == expected)
    }

    struct Vote: Codable {
        var choice: Board
        var weight: Int8
        var reasons: [Stars]
    }

    @Test func `a random model's answers can be decoded`() async throws {
        let model = try tinyModel(context: 2048)
        var whole = 0
        for seed: UInt64 in 0..<4 {
            let options = GenerationOptions(
                samplingMode: .random(top: 0, seed: seed), temperature: 1, maximumResponseTokens: 300)
            do {
                _ = try await LanguageModelSession(model: model).respond(
                    to: "go", decoding: Vote.self, options: options,
                    contextOptions: .init(includeSchemaInPrompt: false))
                whole += 1
            } catch let error as GeneratedContent.ParsingError {
                #expect(error.debugDescription.contains("maximum length"))
            }
        }
        #expect(whole > 0)
    }

    @Test func `what a model said is the value`() async throws {
        let script = ScriptedLanguageModel.Script(#"{"beds": 2, "view": null}"#)
        let session = LanguageModelSession(model: ScriptedLanguageModel(script))
        let room = try await session.respond(to: "A room", decoding: Hotel.Room.self)
        #expect(room == Hotel.Room(beds: 2, view: nil))
        #expect(script.requests.first?.schema?.name == "Room")
    }

    // MARK: What is refused

    enum Shape: Codable { case circle(radius: Double), square }
    enum Open: String, Codable { case yes, no }
    struct Tree: Codable { var children: [Tree] }
    struct Meeting: Codable { var at: Date }
    class Animal: Codable { var name = "" }
    final class Dog: Animal {
        required init(from decoder: any Decoder) throws {
            try super.init(from: decoder.container(keyedBy: Key.self).superDecoder())
        }
        private enum Key: CodingKey {}
    }
    struct Even: Codable {
        var number: Int
        init(from decoder: any Decoder) throws {
            number = try decoder.singleValueContainer().decode(Int.self)
            guard number != 0 else {
                throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "zero is no number here"))
            }
        }
    }
    struct Pair: Decodable {
        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            _ = (try list.decode(Int.self), try list.decode(Int.self))
        }
    }
    struct Outer<Inner: Codable>: Codable { var inner: Inner }

    @Test func `a type without a schema is refused by name, wherever it is`() throws {
        func refusal<Value: Codable>(_ type: Value.Type) throws -> [String] {
            try [
                { _ = try GenerationSchema(decoding: type) },
                { _ = try GenerationSchema(decoding: Outer<[Value]>.self) },
            ]
            .map { (make: () throws -> Void) in
                let error = #expect(throws: LanguageModelError.self) { try make() }
                guard case .unsupportedGenerationGuide(let guide) = try #require(error) else { return "" }
                #expect(guide.schemaName == "\(type)")
                return guide.debugDescription
            }
        }
        for (refusals, reason) in [
            (try refusal(Shape.self), "from Shape: it decides by the names"),
            (try refusal(Open.self), "from Open: it is not CaseIterable"),
            (try refusal(Tree.self), "from Tree: it contains itself"),
            (try refusal(Date.self), "from Date: it has no form"),
            (try refusal(Data.self), "from Data: it has no form"),
            (try refusal(Dog.self), "from Dog: it inherits"),
            (try refusal(Even.self), "zero is no number here"),
        ] {
            #expect(refusals.count == 2 && refusals.allSatisfy { $0.contains(reason) }, "\(refusals)")
        }
        let error = #expect(throws: LanguageModelError.self) { try GenerationSchema(decoding: Pair.self) }
        #expect("\(try #require(error))".contains("a list of a certain length"))
    }
}
