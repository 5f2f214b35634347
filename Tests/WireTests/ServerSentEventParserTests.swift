import JSON
import Testing

@testable import Wire

@Suite struct ServerSentEventParserTests {
    /// The events of a stream that comes in pieces of so many bytes.
    private func events(_ stream: [UInt8], pieces size: Int, limit: Int = 1 << 20) throws -> [String] {
        var parser = ServerSentEventParser(limit: limit)
        return try stride(from: 0, to: stream.count, by: size).flatMap {
            try parser.push(stream[$0..<min($0 + size, stream.count)])
        }
    }

    @Test(arguments: [1, 2, 3, 5, 1000])
    func `however it is cut`(_ size: Int) throws {
        let stream = """
            \u{feff}data: a\r\n\r\ndata:b\rdata: ü€😀\r\r: comment\nevent: x\nid: 7\ndata\n\ndata:  c\r\n\n\n\ndatax: d
            data: [DONE]\n\ndata: cut off
            """
        #expect(try events(Array(stream.utf8), pieces: size) == ["a", "b\nü€😀", "", " c", "[DONE]"])
    }

    @Test func `a byte order mark counts only at the beginning`() throws {
        #expect(try events(Array("data: a\n\n\u{feff}data: b\n\n".utf8), pieces: 1000) == ["a"])
    }

    @Test func `what is not UTF-8 is replaced`() throws {
        #expect(try events(Array("data: ".utf8) + [0xff, 0x0a, 0x0a], pieces: 1) == ["\u{fffd}"])
    }

    @Test(arguments: ["data: 0123456789", "data: 01234\ndata: 56789\n", ": 0123456789abcdef"])
    func `what has no end is refused at the limit`(_ stream: String) throws {
        #expect(throws: ServerSentEventParser.TooLong(limit: 15)) {
            try events(Array(stream.utf8), pieces: 4, limit: 15)
        }
        #expect(try events(Array("data: 012345678\n\ndata: 012345678\n\n".utf8), pieces: 4, limit: 15).count == 2)
    }

    @Test func `what the encoder writes is read`() throws {
        let encoder = try ChatCompletionChunkEncoder(
            AnswerIdentity(id: "1", created: 2, model: "m", systemFingerprint: "f"), choices: 1, includeUsage: true)
        let stream = try ServerSentEvent.ping + encoder.text("a\r\nb", choice: 0) + ServerSentEvent.done
        let read = try events(stream, pieces: 3)
        #expect(read.count == 2)
        let chunk = try JSON.decode(ChatCompletionChunk.self, from: Array(read[0].utf8))
        #expect(chunk.choices[0].delta.content == "a\r\nb")
        #expect(read[1] == "[DONE]")
    }
}
