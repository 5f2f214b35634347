import Foundation
import LocalLLM
import TestSupport
import Testing

@testable import Bench

@Suite struct PerplexityTests {
    private let directory: TemporaryDirectory
    private let model: String

    init() throws {
        directory = try TemporaryDirectory()
        model = try TinyModel().write(in: directory).path
    }

    private func perplexity(_ arguments: String...) async throws -> Program.Result {
        try await Program.bench.run(["perplexity", "-m", model, "-t", "1"] + arguments)
    }

    private func object(_ result: Program.Result) throws -> [String: Any] {
        #expect(result.complaints == "")
        #expect(result.code == 0)
        return try #require(try JSONSerialization.jsonObject(with: result.output) as? [String: Any])
    }

    @Test func `it is that of the second halves of the chunks, each begun anew`() async throws {
        let text = "It_was_the_best_of_times,_it_was_the_worst_of_times."  // a space would be three tokens
        let file = try directory.write(Array(text.utf8), as: "text")
        let result = try object(try await perplexity("--text", file, "--chunk", "16"))

        let tokens = [1] + text.utf8.map { TinyModel.token($0) }
        let network = try await LocalModel.load(from: URL(fileURLWithPath: model))
        var losses: [Double] = []
        for start in [0, 16, 32] {
            // Whatever the chunk's first token is, the beginning of a sequence stands in its place.
            let input = [1] + tokens[start + 1..<start + 16]
            let logits = try await network.logits(of: input, chunk: 16)
            for position in 8..<15 {
                let row = logits[position * 259..<(position + 1) * 259].map { exp(Double($0)) }
                losses.append(-log(row[Int(tokens[start + position + 1])] / row.reduce(0, +)))
            }
        }
        let mean = losses.reduce(0, +) / 21
        let variance = losses.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / 20
        #expect(result["chunks"] as? Int == 3)
        #expect(result["scored"] as? Int == 21)
        // The same steps, summed in another order.
        #expect(abs(try #require(result["nll"] as? Double) / mean - 1) < 1e-5)
        #expect(abs(try #require(result["perplexity"] as? Double) / exp(mean) - 1) < 1e-4)
        #expect(
            abs(try #require(result["perplexity_stderr"] as? Double) / (exp(mean) * (variance / 21).squareRoot()) - 1)
                < 1e-4)

        let short = try object(try await perplexity("--text", file, "--chunk", "16", "--chunks", "1"))
        #expect(short["scored"] as? Int == 7)
    }

    @Test func `logits that it or the logits command wrote are at no distance`() async throws {
        let written = directory.url.appending(path: "written").path
        let tokens = "1,70,71,72,73,74,75,76"
        let first = try object(try await perplexity("--tokens", tokens, "--chunk", "4", "--out", written))
        #expect(first["scored"] as? Int == 2)
        #expect(try Data(contentsOf: URL(fileURLWithPath: written)).count == 8 * 259 * 4)
        let second = try object(try await perplexity("--tokens", tokens, "--chunk", "4", "--reference", written))
        let distance = try #require(second["reference"] as? [String: Any])
        #expect(distance["positions"] as? Int == 8)
        #expect(distance["top1_agreement"] as? Double == 1)
        #expect(try #require(distance["nmse"] as? Double) < 1e-9)
        #expect(abs(try #require(distance["kl_mean"] as? Double)) < 1e-6)

        _ = try await Program.bench.run("logits", "-m", model, "-t", "1", "--tokens", tokens, "--out", written)
        let whole = try object(try await perplexity("--tokens", tokens, "--reference", written))
        #expect(try #require((whole["reference"] as? [String: Any])?["nmse"] as? Double) < 1e-9)
        let decoded = try object(try await perplexity("--tokens", tokens, "--decode", "--reference", written))
        #expect(try #require((decoded["reference"] as? [String: Any])?["nmse"] as? Double) < 1e-9)
        // Each chunk of four begins anew, the reference does not.
        let apart = try object(try await perplexity("--tokens", tokens, "--chunk", "4", "--reference", written))
        #expect(try #require((apart["reference"] as? [String: Any])?["nmse"] as? Double) > 1e-3)
    }

    @Test func `distances by hand`() throws {
        let reference: [Float] = [log(0.5), log(0.25), log(0.25)].map { $0 + 3 }
        let logits: [Float] = [log(0.25), log(0.5), log(0.25)]
        let distance = logits.withUnsafeBufferPointer { logits in
            reference.withUnsafeBufferPointer { LogitsDistance(logits, reference: $0) }
        }
        // ½ ln(½ / ¼) + ¼ ln(¼ / ½), whatever is added to all logits.
        #expect(abs(distance.divergence - 0.25 * log(2)) < 1e-6)
        #expect(!distance.hasSameTop)
        #expect(abs(distance.largestDifference - Double(3 + log(Float(2)))) < 1e-6)
        let summary = LogitsDistance.Summary([distance, distance])
        #expect(summary.topAgreement == 0)
        #expect(abs(summary.meanDivergence - 0.25 * log(2)) < 1e-6)
        let squares = zip(logits, reference).reduce(0.0) { $0 + pow(Double($1.0 - $1.1), 2) }
        let power = reference.reduce(0.0) { $0 + pow(Double($1), 2) }
        #expect(abs(summary.normalizedError - squares / power) < 1e-6)
    }

    @Test func `what does not fit is refused with its size`() async throws {
        let text = try directory.write(Array("short".utf8), as: "text")
        let short = try await perplexity("--text", text)
        #expect(short.complaints.contains("has 6 tokens, fewer than a chunk of 512"))
        #expect(short.code == 1)
        let other = try await perplexity("--tokens", "1,2,3", "--reference", text)
        #expect(other.complaints.contains("has 5 bytes, the logits of these tokens have 3108"))
        #expect(try await perplexity("--text", text, "--tokens", "1").code == 2)
        #expect(try await perplexity().complaints.contains("--text or --tokens is missing"))
        #expect(try await perplexity("--tokens", "1,2", "--out", "/nowhere/x").complaints.contains("/nowhere/x"))
    }
}
