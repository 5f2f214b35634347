import CommandLineParsing
import Foundation
import HTTP
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Bench

@Suite(.timeLimit(.minutes(2))) struct ServeTests {
    /// What a server is asked, and how it answers chat requests, by their number from 0 on.
    final class Script: Sendable {
        let asked = Mutex<[Request]>([])
        private let reply: @Sendable (Int) async throws -> Response

        init(_ reply: @escaping @Sendable (Int) async throws -> Response) { self.reply = reply }

        func answer(_ request: Request) async throws -> Response {
            if request.path == "/v1/models" { return .text(#"{"data": [{"id": "first"}, {"id": "second"}]}"#) }
            let whole = try await request.collected(upTo: .max)
            let number = asked.withLock {
                $0.append(whole)
                return $0.count - 1
            }
            return try await reply(number)
        }

        var bodies: [[String: Any]] {
            asked.withLock { $0 }.map {
                (try? JSONSerialization.jsonObject(with: Data($0.body.bytes ?? [])) as? [String: Any]) ?? [:]
            }
        }
    }

    private static func stream(_ events: [String], then error: (any Error)? = nil) -> Response {
        Response(
            status: 200, headers: ["Content-Type": "text/event-stream"],
            body: .stream { writer in
                for event in events { try await writer.write(Array("data: \(event)\n\n".utf8)) }
                if let error { throw error }
            })
    }

    private static let role = #"{"choices": [{"delta": {"role": "assistant", "content": ""}}], "usage": null}"#
    private static let hello = #"{"choices": [{"delta": {"content": "hello "}}]}"#
    private static let usage =
        #"{"choices": [], "usage": {"prompt_tokens": 8, "completion_tokens": 5, "total_tokens": 13}}"#
    private static let whole = [role, hello, hello, hello, usage, "[DONE]"]

    /// Runs the program against a server; the JSON it prints.
    private func bench(
        _ script: Script, _ arguments: String..., expecting code: Int32 = 0
    ) async throws -> [String: Any] {
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0), handler: script.answer)
        let result: Program.Result
        do {
            result = try await Program.bench.run(
                ["serve", "--url", "http://127.0.0.1:\(server.port)", "-o", "json"] + arguments,
                environment: ["OPENAI_API_KEY": "sk-test"])
        } catch {
            await server.stop(within: .zero)
            throw error
        }
        await server.stop(within: .zero)
        #expect(result.complaints == "")
        #expect(result.code == code)
        return try #require(try JSONSerialization.jsonObject(with: result.output) as? [String: Any])
    }

    private func rows(_ output: [String: Any]) -> [[String: Any]] { output["results"] as? [[String: Any]] ?? [] }

    @Test func `every client's conversations are held, and their tokens counted by usage`() async throws {
        let script = Script { _ in Self.stream(Self.whole) }
        let output = try await bench(script, "--clients", "1,3", "--requests", "2", "--prompt", "16", "--generate", "9")
        #expect(output["model"] as? String == "first")
        let rows = rows(output)
        #expect(rows.map { $0["n_clients"] as? Int } == [1, 3])
        #expect(rows.map { $0["requests"] as? Int } == [2, 6])
        #expect(rows.map { $0["completion_tokens"] as? Int } == [10, 30])
        #expect(rows.map { $0["tokens_counted_by"] as? String } == ["usage", "usage"])
        #expect(rows.map { $0["prompt_tokens_mean"] as? Double } == [8, 8])
        #expect(rows.map { ($0["errors"] as? [String: Int])?.isEmpty } == [true, true])
        #expect(rows.map { ($0["between_tokens_s"] as? [String: Any])?["count"] as? Int } == [4, 12])
        #expect(rows.map { ($0["first_token_s"] as? [String: Any])?["count"] as? Int } == [2, 6])
        #expect(rows.allSatisfy { $0["first_token_of_later_turns_s"] == nil })

        let bodies = script.bodies
        #expect(bodies.count == 1 + 2 + 6)
        #expect(bodies.dropFirst().allSatisfy { $0["max_tokens"] as? Int == 9 && $0["stream"] as? Bool == true })
        #expect(bodies.allSatisfy { ($0["stream_options"] as? [String: Bool]) == ["include_usage": true] })
        #expect(script.asked.withLock { $0.allSatisfy { $0.headers["Authorization"] == "Bearer sk-test" } })
        let prompts = bodies.compactMap { ($0["messages"] as? [[String: String]])?.last?["content"] }
        #expect(Set(prompts).count == 9)
        // 16 words were 8 tokens: twice as many words are wanted.
        #expect(prompts.dropFirst().allSatisfy { $0.split(separator: " ").count == 32 })
    }

    @Test
    func `with a rate conversations begin whether or not others have ended, and goodput is what met the objective`()
        async throws
    {
        let script = Script { number in
            if number > 0 { try await Task.sleep(for: .milliseconds(number % 2 == 0 ? 6000 : 1)) }
            return Self.stream(Self.whole)
        }
        let output = try await bench(script, "--rate", "50", "--requests", "8", "--first-token", "5000")
        let row = rows(output)[0]
        #expect(row["requests"] as? Int == 8 && row["rate_per_s"] as? Double == 50)
        // One after another, the slow ones alone would take 24 seconds.
        #expect((row["n_clients"] as? Int ?? 0) > 1)
        let (all, good) = (row["requests_per_s"] as? Double ?? 0, row["goodput_per_s"] as? Double ?? 0)
        #expect(abs(good / all - 0.5) < 1e-9)
        #expect((output["objective"] as? [String: Double])?["first_token_s"] == 5)
    }

    @Test func `turns continue their conversation`() async throws {
        let script = Script { _ in Self.stream(Self.whole) }
        let output = try await bench(
            script, "--clients", "1", "--requests", "1", "--turns", "3", "--model", "mine")
        let roles = script.bodies.map { ($0["messages"] as? [[String: String]])?.compactMap { $0["role"] } ?? [] }
        let (user, assistant) = ("user", "assistant")
        #expect(
            roles == [[user], [user], [user, assistant, user], [user, assistant, user, assistant, user]])
        let last = script.bodies.last?["messages"] as? [[String: String]]
        #expect(last?[1]["content"] == "hello hello hello ")
        #expect(script.bodies.allSatisfy { $0["model"] as? String == "mine" })
        let row = rows(output)[0]
        #expect((row["first_token_s"] as? [String: Any])?["count"] as? Int == 1)
        #expect((row["first_token_of_later_turns_s"] as? [String: Any])?["count"] as? Int == 2)
    }

    @Test func `a server without usage has its pieces of text counted, and that is said`() async throws {
        let script = Script { _ in Self.stream([Self.role, Self.hello, Self.hello, "[DONE]"]) }
        let row = rows(try await bench(script, "--clients", "2", "--requests", "1"))[0]
        #expect(row["completion_tokens"] as? Int == 4)
        #expect(row["tokens_counted_by"] as? String == "chunks")
        #expect(row["prompt_tokens_mean"] == nil)
    }

    @Test func `failures are counted by what happened, and the others measured`() async throws {
        struct Cut: Error {}
        let script = Script { number in
            switch number {
            case 1, 2: .text(#"{"error": {"message": "Full.", "code": "queue_full"}}"#, status: 429)
            case 3: Self.stream([Self.role, Self.hello], then: Cut())
            case 4: Self.stream([Self.role, Self.hello])
            case 5: Self.stream([Self.role, #"{"error": {"message": "Shutting down.", "code": 503}}"#])
            case 6: Self.stream(["{"])
            case 7: .text("<h1>Bad gateway</h1>", status: 502)
            case 8: Response(status: 307, headers: ["Location": "/v1/elsewhere"])
            case 9: Self.stream([#"{"usage": {"prompt_tokens": 1, "completion_tokens": 9223372036854775807}}"#])
            case 10: .text(#"{"error": "\u001b[2J\#(String(repeating: "x", count: 1000))"}"#, status: 500)
            default: Self.stream(Self.whole)
            }
        }
        let row = rows(try await bench(script, "--clients", "1", "--requests", "12", expecting: 1))[0]
        var errors = try #require(row["errors"] as? [String: Int])
        let broken = errors.filter { $0.key.hasPrefix("the connection dropped mid-answer: ") }
        #expect(broken.map(\.value) == [1])
        for key in broken.keys { errors[key] = nil }
        #expect(
            errors == [
                "HTTP 429 queue_full": 2, "the answer ended before [DONE]": 1, "in mid-answer: Shutting down.": 1,
                "an event is not a chat completion chunk": 1, "HTTP 502": 1, "HTTP 307": 1,
                "the usage has numbers that cannot be": 1, "HTTP 500 [2J" + String(repeating: "x", count: 97): 1,
            ])
        #expect(row["requests"] as? Int == 12)
        #expect(row["completion_tokens"] as? Int == 10)
        #expect((row["answer_s"] as? [String: Any])?["count"] as? Int == 2)
        #expect(script.asked.withLock { $0.allSatisfy { $0.path == "/v1/chat/completions" } })
    }

    @Test func `a server that never answers, or never ends, costs no more than the time limit`() async throws {
        let script = Script { number in
            switch number {
            case 0: return Self.stream(Self.whole)
            case 1:
                try await Task.sleep(for: .seconds(3600))
                return .text("never")
            default:
                return Response(
                    status: 200,
                    body: .stream { writer in
                        while true {
                            try await writer.write(Array(": ping\n\n".utf8))
                            try await Task.sleep(for: .milliseconds(100))
                        }
                    })
            }
        }
        let output = try await bench(script, "--clients", "2", "--requests", "1", "--timeout", "20", expecting: 1)
        let errors = try #require(rows(output)[0]["errors"] as? [String: Int])
        #expect(
            errors == [
                "no answer: \(ClientError.timedOut)": 1,
                "the connection dropped mid-answer: \(ClientError.timedOut)": 1,
            ])
        #expect(rows(output)[0]["first_token_s"] == nil)
    }

    @Test func `a server that cannot be reached, or refuses the first request, is said`() async throws {
        let none = try await Program.bench.run("serve", "--url", "http://127.0.0.1:1", "--model", "m")
        #expect(none.code == 1)
        #expect(none.complaints.hasPrefix("bench: serve: no answer: "))
        let script = Script { _ in .text(#"{"error": "no such model"}"#, status: 404) }
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0), handler: script.answer)
        let refused = try await Program.bench.run("serve", "--url", "http://127.0.0.1:\(server.port)/v1/")
        await server.stop(within: .zero)
        #expect(refused.complaints == "bench: serve: HTTP 404 no such model\n")
    }

    @Test func `percentiles are those of nearest rank`() {
        let values = (1...200).map(Double.init).shuffled()
        #expect([50, 95, 99, 100].map { values.percentile($0) } == [100, 190, 198, 200])
        #expect([0.0, 50, 99].map { [7.0].percentile($0) } == [7, 7, 7])
        #expect([Double]().percentile(50) == 0)
        let times = ServeResult.Distribution([0.3, 0.1, 0.2])
        #expect(times?.count == 3 && times?.p50 == 0.2 && times?.p99 == 0.3)
        #expect(abs((times?.mean ?? 0) - 0.2) < 1e-12)
    }

    @Test func `the table is Markdown, errors below it`() {
        let answer = ServeClient.Answer(
            text: "", arrivals: [0.1, 0.2, 0.4], seconds: 0.5, usage: .init(promptTokens: 10, completionTokens: 4))
        let samples: [ServeResult.Sample] = [
            .init(turn: 0, outcome: .success(answer)), .init(turn: 1, outcome: .success(answer)),
            .init(turn: 0, outcome: .failure(.init("HTTP 429"))),
        ]
        #expect(
            ServeTable.render([ServeResult(clients: 2, samples, seconds: 2)]) == """
                | clients | requests | errors | prompt | tokens | seconds |  t/s | t/s each | requests/s | goodput/s |
                | ------: | -------: | -----: | -----: | -----: | ------: | ---: | -------: | ---------: | --------: |
                |       2 |        3 |      1 |     10 |      8 |    2.00 | 4.00 |     2.00 |       1.00 |      0.00 |

                | clients | milliseconds to          |   mean |    p50 |    p95 |    p99 |
                | ------: | ------------------------ | -----: | -----: | -----: | -----: |
                |       2 | first token              | 100.00 | 100.00 | 100.00 | 100.00 |
                |       2 | first token, later turns | 100.00 | 100.00 | 100.00 | 100.00 |
                |       2 | between tokens           | 150.00 | 100.00 | 200.00 | 200.00 |
                |       2 | whole answer             | 500.00 | 500.00 | 500.00 | 500.00 |

                Goodput: requests whose first token came within 1,000 ms, and further ones within 100 ms on average

                2 clients: 1 × HTTP 429
                """)
    }

    @Test(arguments: [
        ["--url", "127.0.0.1:8080"], ["--url", "ftp://a"], ["--url", "http://"], [],
        ["--url", "http://a", "--clients", "0"], ["--url", "http://a", "--rate", "0"],
        ["--url", "http://a", "--clients", "1", "--rate", "1"], ["--url", "http://a", "--timeout", "0"],
        ["--url", "http://a", "--api-key-file", "/nonexistent/key"],
        ["--url", "http://a", "--api-key-file", "/dev/null"],
    ])
    func `mistakes are named`(_ arguments: [String]) {
        let error = #expect(throws: UsageError.self) {
            try ServeCommand(Arguments(arguments, options: ServeCommand.options))
        }
        #expect(error?.description.hasPrefix(arguments.count < 3 ? "--url" : arguments[2]) == true)
    }
}
