import Foundation
import HTTP
import LocalLLM
import Testing

@testable import Client

@Suite("OpenAI-compatible services")
struct OpenAIChatServiceTests {
    private static func chunk(_ text: String) -> String {
        #"{"choices": [{"index": 0, "delta": {"content": "\#(text)"}, "finish_reason": null}]}"#
    }
    private static let finish = #"{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}"#
    private static let usage = #"{"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}"#

    /// The pieces of an answer, what it ends with, and what is logged.
    private func ask(
        patience: Duration = .seconds(120), _ handler: @escaping Server.Handler
    ) async throws -> (pieces: [AnswerPiece], error: (any Error)?, log: String) {
        let log = Record<String>()
        var pieces: [AnswerPiece] = []
        do {
            try await withServer(handler) { url in
                let service = OpenAIChatService(baseURL: url, key: "abc", model: "m", patience: patience) {
                    log.add($0)
                }
                for try await piece in service.stream([.user("Hi")]) { pieces.append(piece) }
            }
            return (pieces, nil, log.text)
        } catch {
            return (pieces, error, log.text)
        }
    }

    @Test
    func `an answer comes as it is generated, and what it took at its end`() async throws {
        let requests = Record<Request>()
        let (pieces, error, _) = try await ask { request in
            requests.add(request)
            return .events([Self.chunk("Hel"), Self.chunk("lo"), Self.finish, Self.usage, "[DONE]"])
        }
        #expect(error == nil)
        #expect(pieces == [.text("Hel"), .text("lo"), .usage(.init(promptTokens: 5, completionTokens: 2))])
        let request = try #require(requests.all.first)
        #expect(request.target == "/v1/chat/completions")
        #expect(request.headers["Authorization"] == "Bearer abc")
        #expect(
            String(decoding: request.body.bytes ?? [], as: UTF8.self)
                == #"{"model":"m","stream":true,"stream_options":{"include_usage":true},"#
                + #""messages":[{"role":"user","content":"Hi"}]}"#)
    }

    @Test(arguments: ["reasoning_content", "reasoning"])
    func `thoughts come apart from the answer`(_ field: String) async throws {
        let thought =
            #"{"choices": [{"index": 0, "delta": {"\#(field)": "Hm", "content": null}, "finish_reason": null}]}"#
        let (pieces, error, _) = try await ask { _ in .events([thought, Self.chunk("Yes"), Self.finish]) }
        #expect(error == nil)
        #expect(pieces == [.thought("Hm"), .text("Yes")])
    }

    @Test
    func `an answer without [DONE] or usage is whole if it says why it ends`() async throws {
        let (pieces, error, _) = try await ask { _ in .events([Self.chunk("Hi"), Self.finish]) }
        #expect(error == nil)
        #expect(pieces == [.text("Hi")])
    }

    @Test
    func `text is there before the answer is whole`() async throws {
        let goOn = Record<Void>()
        try await withServer({ _ in
            .stream { writer in
                try await writer.write(events: [Self.chunk("first")])
                _ = await eventually { !goOn.all.isEmpty }
                try await writer.write(events: [Self.chunk("second"), Self.finish, "[DONE]"])
            }
        }) { url in
            var pieces: [AnswerPiece] = []
            for try await piece in OpenAIChatService(baseURL: url, key: "abc", model: "m").stream(prompt: "Hi") {
                pieces.append(piece)
                goOn.add(())
            }
            #expect(pieces == [.text("first"), .text("second")])
        }
    }

    @Test(
        arguments: zip(
            [
                #"{"error": {"message": "out of memory"}}"#, #"{"error": "out of memory"}"#, "garbage",
                #"{"choices": 5}"#, "",
            ],
            [
                (APIClientError.noResponse, "out of memory"), (.noResponse, "out of memory"), (.decode, "JSON"),
                (.decode, "choices: expected an array, found a number"), (.noResponse, "before it was finished"),
            ]))
    func `what goes wrong in mid-answer is an error, after the text that came`(
        event: String, expected: (error: APIClientError, log: String)
    ) async throws {
        let (pieces, error, log) = try await ask { _ in .events([Self.chunk("Hi")] + (event.isEmpty ? [] : [event])) }
        #expect(pieces == [.text("Hi")])
        #expect(error as? APIClientError == expected.error)
        #expect(log.contains(expected.log), "\(log)")
    }

    @Test
    func `a connection that drops in mid-answer is an error`() async throws {
        let (pieces, error, log) = try await ask { _ in
            .stream { writer in
                try await writer.write(events: [Self.chunk("Hi")])
                throw CancellationError()
            }
        }
        #expect(pieces == [.text("Hi")])
        #expect(error as? APIClientError == .noResponse)
        #expect(!log.isEmpty)
    }

    @Test
    func `a server that falls silent in mid-answer is given up`() async throws {
        // A second without a byte may also be this machine's fault: whether the text has come is not looked at.
        let (_, error, log) = try await ask(patience: .seconds(1)) { _ in
            .stream { writer in
                try await writer.write(events: [Self.chunk("Hi")])
                try await Task.sleepForEver()
            }
        }
        #expect(error as? APIClientError == .noResponse)
        #expect(log.contains("nothing came for 1.0 seconds"))
    }

    @Test
    func `an event without end is not held`() async throws {
        let (_, error, log) = try await ask { _ in
            .stream { writer in
                let bytes = [UInt8](repeating: 0x61, count: 1 << 18)
                for _ in 0..<16 { try await writer.write(bytes) }
                try await Task.sleepForEver()
            }
        }
        #expect(error as? APIClientError == .decode)
        #expect(log.contains("an event has over 1048576 bytes"))
    }

    @Test
    func `what the service filters out is content that is blocked`() async throws {
        let filtered = #"{"choices": [{"index": 0, "delta": {}, "finish_reason": "content_filter"}]}"#
        let (_, error, _) = try await ask { _ in .events([filtered]) }
        #expect(error is ContentBlocked)
    }

    @Test
    func `dropping the answer ends the transfer`() async throws {
        let left = Record<Void>()
        try await withServer({ _ in
            .stream { writer in
                do {
                    try await writer.write(events: [Self.chunk("Hi")])
                    try await Task.sleepForEver()
                } catch {
                    left.add(())
                    throw error
                }
            }
        }) { url in
            for try await _ in OpenAIChatService(baseURL: url, key: "abc", model: "m").stream([.user("Hi")]) { break }
            #expect(await eventually { !left.all.isEmpty })
        }
    }
}
