import Foundation
import Testing

@testable import Wire

@Suite struct RawJSONTests {
    private struct Body: Codable {
        struct Item: Codable { var value: RawJSON? }

        var items: [Item]?
        var value: RawJSON?
        var é: RawJSON?
    }

    private func decode(_ text: String) throws -> Body { try JSON.decode(Body.self, from: Array(text.utf8)) }

    private func text(_ value: RawJSON?) -> String? { value.map { String(decoding: $0.text, as: UTF8.self) } }

    @Test(arguments: [
        #"{"z": 1, "a": [2, {"m": "}\"]"}], "b": {}}"#, "[1, 2]", "null", "-1.5e3", "\"a, b\"", "[]", "true",
    ])
    func `a value keeps its text, wherever it stands`(value: String) throws {
        let top = try decode(#"{"x": [{"value": 0}, "\"value\": 1"], "value" : \#(value) , "y": "z"}"#)
        #expect(text(top.value) == (value == "null" ? nil : value))
        let inner = try decode(#"{"items": [{}, {"n": "]", "value": \#(value)}], "value": 1}"#)
        #expect(text(inner.items?[1].value) == (value == "null" ? nil : value))
    }

    /// Looked up one by one from the beginning, they would take hours.
    @Test(.timeLimit(.minutes(3))) func `many values in a long list are found in one pass`() throws {
        let item = #"{"n": "\#(String(repeating: "x", count: 40))", "value": {"a": 1}}"#
        let body = try decode(#"{"items": [\#(Array(repeating: item, count: 8_000).joined(separator: ","))]}"#)
        #expect(body.items?.count == 8_000)
        #expect(body.items?.allSatisfy { text($0.value) == #"{"a": 1}"# } == true)
    }

    @Test func `keys may be escaped`() throws {
        #expect(text(try decode(#"{"\u00e9": [1]}"#).é) == "[1]")
    }

    @Test func `what is encoded is the same value`() throws {
        let value = RawJSON(Array(#"{"b": 1, "a": [true]}"#.utf8))
        #expect(String(decoding: try JSON.encode(value), as: UTF8.self) == #"{"a":[true],"b":1}"#)
        #expect(RawJSON(Array(" [ ] ".utf8)).isEmpty)
        #expect(!RawJSON(Array("[0]".utf8)).isEmpty)
    }
}
