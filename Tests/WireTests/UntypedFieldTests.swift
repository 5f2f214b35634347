import JSON
import Testing

@testable import Wire

/// Fields whose value is passed on: schemas, tools, arguments.
@Suite struct UntypedFieldTests {
    private struct Body: Codable {
        struct Item: Codable { var value: JSON? }

        var items: [Item]?
        var value: JSON?
        var é: JSON?
    }

    private func decode(_ text: String) throws -> Body { try JSON.decode(Body.self, from: Array(text.utf8)) }

    @Test(arguments: [
        #"{"z":1,"a":[2,{"m":"}\"]"}],"b":{}}"#, "[1,2.0]", "null", "-1.5e3", "\"a, b\"", "[]", "true",
    ])
    func `a value keeps its order and its numbers, wherever it stands`(value: String) throws {
        let top = try decode(#"{"x": [{"value": 0}, "\"value\": 1"], "value" : \#(value) , "y": "z"}"#)
        #expect(top.value?.text == (value == "null" ? nil : value))
        let inner = try decode(#"{"items": [{}, {"n": "]", "value": \#(value)}], "value": 1}"#)
        #expect(inner.items?[1].value?.text == (value == "null" ? nil : value))
    }

    @Test func `keys may be escaped`() throws {
        #expect(try decode(#"{"\u00e9": [1]}"#).é?.text == "[1]")
    }

    @Test func `what is encoded is the same value in the same order`() throws {
        let value = try decode(#"{"value": {"b": 1.0, "a": [true]}}"#)
        #expect(String(decoding: try JSON.encode(value), as: UTF8.self) == #"{"value":{"b":1.0,"a":[true]}}"#)
    }

    @Test func `a member is set once, whatever the case of others`() throws {
        var body = try #require(
            try JSON(body: Array(#"{"Model": "a", "b": 1, "model": "c", "ſtream": true}"#.utf8)).object)
        body.setOnly("model", "d")
        body.setOnly("stream", nil)
        #expect(JSON.object(body).text == #"{"b":1,"model":"d"}"#)
    }
}
