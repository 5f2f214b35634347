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

    private func mutate(_ body: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var body = body
        for _ in 0..<Int.random(in: 1...3, using: &random) where body.count > 4 {
            let place = Int.random(in: 0..<body.count, using: &random)
            // A value's or a key's place is more telling than any other.
            let starts = body.indices.filter { [0x3a, 0x2c, 0x5b, 0x7b].contains(body[$0]) }
            let start = starts.randomElement(using: &random) ?? place
            let end = body[(start + 1)...].firstIndex { [0x2c, 0x5d, 0x7d].contains($0) } ?? body.count
            let piece = WholePathRequests.pieces.randomElement(using: &random)!
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
                let (path, seed) = WholePathRequests.seeds.randomElement(using: &random)!
                let isWhole = Int.random(in: 0..<8, using: &random) == 0
                let body = isWhole ? Array(seed.utf8) : mutate(Array(seed.utf8), &random)
                let answer = try await send(body, to: path, port)
                let status = Int(answer.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0
                let text = String(decoding: body, as: UTF8.self)
                #expect(WholePathRequests.statuses.contains(status), "\(path) \(text) \(answer)")
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
