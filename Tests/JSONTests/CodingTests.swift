import Foundation
import JSON
import Testing

private struct Part: Codable, Equatable {
    var type: String
    var text: String?
    var size: Int?
    var ratio: Double?
}

private struct Body: Codable, Equatable {
    var model: String?
    var parts: [Part]
    var isNew: Bool?
    var raw: JSON?
    var names: [String: Int]?

    enum CodingKeys: String, CodingKey {
        case model, parts, raw, names
        case isNew = "is_new"
    }
}

private func parse(_ text: String) throws -> JSON { try JSON(parsing: text, JSON.Limits(depth: 128)) }

@Suite struct CodingTests {
    @Test func `a type is decoded as Foundation decodes it`() throws {
        let text =
            #"{"model":"m","parts":[{"type":"a","text":null,"size":1e1,"ratio":3},{"type":"b"}],"is_new":true,"names":{"x":1}}"#
        let body = try parse(text).decode(Body.self)
        #expect(body == (try JSONDecoder().decode(Body.self, from: Data(text.utf8))))
        #expect(body.parts[0].size == 10)
    }

    @Test func `a value without a type keeps its order and its numbers`() throws {
        let raw = #"{"z":1.0,"a":[1e3,12345678901234567890],"m":{"b":null,"a":""}}"#
        let body = try parse("{\"parts\": [], \"raw\": \(raw)}").decode(Body.self)
        #expect(body.raw?.text == raw)
        #expect(String(decoding: try JSON.encode(body), as: UTF8.self) == "{\"parts\":[],\"raw\":\(raw)}")
        // Through other coders it is the same value, as far as they keep it.
        let other = try JSONDecoder().decode(JSON.self, from: try JSONEncoder().encode(body.raw))
        #expect(other["m"] == body.raw?["m"])
        #expect(other["a"]?.array?[0].int == 1000)
    }

    @Test(arguments: [
        (#"{"parts":[{"type":"a"},{"type":3}]}"#, "expected a string, found a number"),
        (#"{"parts":[{"type":"a"},{"type":null}]}"#, "expected a string, found null"),
        (#"{"parts":[{"type":"a"},{"type":"b","size":1.5}]}"#, "expected a whole number of 64 bits, found 1.5"),
        (#"{"parts":[{"type":"a"},{"type":"b","ratio":1e999}]}"#, "expected a number of 64 bits, found 1e999"),
        (#"{"parts":[{"type":"a"},[]]}"#, "expected an object, found an array"),
        (#"{"parts":[{"type":"a"},{}]}"#, "\"type\" is missing"),
    ])
    func `an error names the place, what was expected and what was found`(_ text: String, _ message: String) throws {
        let error = #expect(throws: DecodingError.self) { try parse(text).decode(Body.self) }
        let context: DecodingError.Context? =
            switch error {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context),
                .keyNotFound(_, let context):
                context
            default: nil
            }
        #expect(context?.debugDescription == message)
        #expect(context?.codingPath.prefix(2).map { $0.intValue.map { "\($0)" } ?? $0.stringValue } == ["parts", "1"])
    }

    @Test func `equal values give equal bytes, with sorted names`() throws {
        let names = Dictionary(
            uniqueKeysWithValues: ["a10", "a2", "B", "a", "é", "z", "_", "\u{fffd}", "😀"].map { ($0, 1) })
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        for _ in 0..<4 { #expect(try JSON.encode(names) == Array(try encoder.encode(names))) }
        let body = Body(
            model: "a/\"b\"\\\u{0}\u{1f}\u{7f}\u{2028}\n\t\r\u{8}\u{c}é😀",
            parts: [Part(type: "x", size: -1, ratio: 0.1)],
            isNew: false, names: ["b": 1, "a": 2])
        #expect(try JSON.encode(body) == Array(try encoder.encode(body)))
        #expect(try JSON(encoding: body).bytes == JSON.encode(body))
        #expect(throws: EncodingError.self) { try JSON.encode([Double.nan]) }
    }

    @Test func `nested containers and several of one object are joined`() throws {
        struct Odd: Codable, Equatable {
            enum Key: String, CodingKey { case a, b, list, inner }
            func encode(to encoder: any Encoder) throws {
                var first = encoder.container(keyedBy: Key.self)
                try first.encode(1, forKey: .b)
                var list = first.nestedUnkeyedContainer(forKey: .list)
                try list.encode("x")
                var pair = list.nestedContainer(keyedBy: Key.self)
                var second = encoder.container(keyedBy: Key.self)
                try second.encode(2, forKey: .a)
                try pair.encode(3, forKey: .inner)
                try second.encode(4, forKey: .b)
            }
            init() {}
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Key.self)
                var list = try container.nestedUnkeyedContainer(forKey: .list)
                #expect(try list.decode(String.self) == "x")
                #expect(throws: DecodingError.self) { try list.decode(Int.self) }
                let pair = try list.nestedContainer(keyedBy: Key.self)
                #expect(try pair.decode(Int.self, forKey: .inner) == 3)
                #expect(list.isAtEnd)
                #expect(throws: DecodingError.self) { try list.decode(Int.self) }
            }
        }
        let bytes = try JSON.encode(Odd())
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"a":2,"b":4,"list":["x",{"inner":3}]}"#)
        #expect(try JSON(parsing: bytes, JSON.Limits(depth: 8)).decode(Odd.self) == Odd())
    }

    @Test func `integers of 128 bits are read and written`() throws {
        struct Members: Codable, Equatable { var small = Int128.min, large = UInt128.max }
        let members = try JSON.encode(Members())
        #expect(try JSON(parsing: members, JSON.Limits(depth: 8)).decode() == Members())
        let numbers: [UInt128] = [0, 1 << 64, .max]
        let bytes = try JSON.encode(numbers)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "[0,18446744073709551616,340282366920938463463374607431768211455]")
        #expect(try JSON(parsing: bytes, JSON.Limits(depth: 8)).decode([UInt128].self) == numbers)
        #expect(
            try JSON(parsing: "-170141183460469231731687303715884105728", JSON.Limits(depth: 8)).decode() == Int128.min)
    }
}
