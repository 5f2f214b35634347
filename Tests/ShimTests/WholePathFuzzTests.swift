import Foundation
import HTTP
import TestSupport
import Testing

@testable import LocalLLM
@testable import Shim

/// Bodies that are wrong somewhere, through all of the server: HTTP, JSON, template, tokenizer, scheduler, a tiny model, and the
/// answer's encoder. Whatever is sent, there is an answer, which is none of the server's own errors.
///
/// `LOCALLLM_FUZZ_RUNS` sets the number of requests for each seed.
@Suite(.timeLimit(.minutes(20))) struct WholePathFuzzTests {
    private static let runs = ProcessInfo.processInfo.environment["LOCALLLM_FUZZ_RUNS"].flatMap { Int($0) } ?? 60

    private static let seeds: [(path: String, body: String)] = [
        (
            "/v1/chat/completions",
            #"{"model":"Test-Q4","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"Hi"}]},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"1"}],"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}],"tool_choice":"auto","stream":true,"stream_options":{"include_usage":true},"n":2,"max_tokens":5,"logprobs":true,"top_logprobs":2,"seed":7,"stop":["a","bc"],"logit_bias":{"5":-1.5},"chat_template_kwargs":{"x":[1,{"y":null}]},"reasoning_effort":"low","temperature":0.5,"top_p":0.9}"#
        ),
        (
            "/v1/completions",
            #"{"model":"Test-Q4","prompt":["Hello","b"],"max_tokens":4,"echo":true,"logprobs":3,"n":2,"stop":"x","presence_penalty":1,"frequency_penalty":-1,"min_p":0.1,"dry_multiplier":0.5,"mirostat":2,"xtc_probability":0.5,"top_n_sigma":1,"cache_salt":"s"}"#
        ),
        ("/v1/completions", #"{"model":"Test-Q4","prompt":[[1,72,101],[5]],"max_tokens":3,"stream":true}"#),
        (
            "/v1/responses",
            #"{"model":"Test-Q4","input":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}],"instructions":"Be brief.","max_output_tokens":4,"stream":true,"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],"store":true,"metadata":{"a":"b"}}"#
        ),
        (
            "/v1/messages",
            #"{"model":"Test-Q4","max_tokens":4,"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"1"}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}],"stream":true,"stop_sequences":["x"]}"#
        ),
        ("/v1/embeddings", #"{"model":"Test-Q4","input":["a","bc"],"dimensions":8,"encoding_format":"base64"}"#),
        ("/v1/rerank", #"{"model":"Test-Q4","query":"a","documents":["b",{"text":"c"}],"top_n":1}"#),
        (
            "/completion",
            #"{"prompt":["a",5,"b"],"n_predict":4,"n_probs":2,"stream":true,"cache_prompt":true,"timings_per_token":true,"return_progress":true}"#
        ),
        ("/infill", #"{"input_prefix":"a","input_suffix":"b","input_extra":[{"text":"c"}],"n_predict":2}"#),
        ("/tokenize", #"{"content":"Hello","add_special":true,"with_pieces":true}"#),
        ("/detokenize", #"{"tokens":[1,72,101]}"#),
        ("/apply-template", #"{"messages":[{"role":"user","content":"Hi"}],"chat_template":"{{ messages|length }}"}"#),
        ("/api/suggest", #"{"text":"Hello, how are","maxSuggestions":2,"user":"u"}"#),
    ]

    private static let pieces = [
        "null", "true", "-1", "0", "1e999", "9223372036854775808", "1.5", "\"\"", "[]", "{}", "[[[[", "}]", ",", ":",
        #""\ud83d""#, #""\u0000""#, "{{ 1/0 }}", "{% for x in range(99999) %}", "<|im_start|>", "<s></s>", "\u{feff}",
        "\u{2028}", "e\u{301}", "\n", #"\"#, "\"stream\":false,", "\"n\":16,", "\"max_tokens\":0,",
        String(repeating: "a", count: 3000), String(repeating: "[", count: 200), String(repeating: " ", count: 500),
    ].map { Array($0.utf8) }

    private func mutate(_ body: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var body = body
        for _ in 0..<Int.random(in: 1...3, using: &random) where body.count > 4 {
            let place = Int.random(in: 0..<body.count, using: &random)
            // A value's or a key's place is more telling than any other.
            let starts = body.indices.filter { [0x3a, 0x2c, 0x5b, 0x7b].contains(body[$0]) }
            let start = starts.randomElement(using: &random) ?? place
            let end = body[(start + 1)...].firstIndex { [0x2c, 0x5d, 0x7d].contains($0) } ?? body.count
            let piece = Self.pieces.randomElement(using: &random)!
            switch Int.random(in: 0..<6, using: &random) {
            case 0: body[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1, 2: body.replaceSubrange(start + 1..<max(start + 1, end), with: piece)
            case 3: body.insert(contentsOf: piece, at: place)
            case 4: body.insert(contentsOf: body[min(place, start)..<max(place, start)], at: place)
            default: body.removeSubrange(place..<min(body.count, place + Int.random(in: 1...9, using: &random)))
            }
        }
        return body
    }

    @Test(arguments: 0..<4)
    func `no request is answered with an error of the server's own`(seed: UInt64) async throws {
        let directory = try TemporaryDirectory()
        var description = TinyModel()
        (description.layers, description.context) = (1, 256)
        let model = try await LocalModel.load(
            from: try description.write(in: directory), configuration: .init(threads: 1))
        var random = SeededGenerator(seed: seed)
        try await withShim(router(model)) { port in
            var good = 0
            for _ in 0..<Self.runs {
                let (path, seed) = Self.seeds.randomElement(using: &random)!
                let isWhole = Int.random(in: 0..<8, using: &random) == 0
                let body = isWhole ? Array(seed.utf8) : mutate(Array(seed.utf8), &random)
                let answer = try await send(body, to: path, port)
                let status = Int(answer.dropFirst("HTTP/1.1 ".count).prefix(3))
                let text = String(decoding: body, as: UTF8.self)
                #expect(
                    [200, 400, 404, 409, 413, 422, 429, 501, 503].contains(status), "\(path) \(text) \(answer)")
                // A stream can fail after its beginning, too.
                #expect(!answer.contains("server_error") || status == 501, "\(path) \(text) \(answer)")
                if status == 200 { good += 1 }
            }
            #expect(good > 0)
            let alive = try await exchange(port, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            #expect(alive.hasPrefix("HTTP/1.1 200"))
        }
    }

    private func send(_ body: [UInt8], to path: String, _ port: UInt16) async throws -> String {
        let head = post(path, "").replacingOccurrences(
            of: "Content-Length: 0", with: "Content-Length: \(body.count)")
        return try await onThread {
            let client = try SocketClient(port: port, timeout: 300)
            try client.send(Array(head.utf8) + body)
            return try client.receiveAll()
        }
    }
}
