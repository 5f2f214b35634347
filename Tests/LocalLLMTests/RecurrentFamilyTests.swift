import Foundation
import TestSupport
import Testing

@testable import LocalLLM

/// Networks with recurrent layers against the reference's logits at every position.
@Suite(.enabled(if: Fixtures.exist("architectures/index.json"), "reference data is not here"))
struct RecurrentFamilyTests {
    private struct Index: Decodable {
        struct Case: Decodable { let token_ids: [Int32] }
        let cases: [String: Case]
    }

    private static let names = [
        "jamba-dense", "lfm2-dense", "mamba-dense", "mamba2-dense", "qwen35-dense",
    ]
    private static let more = ["arwkv7", "rwkv6", "rwkv6qwen2", "rwkv7"]

    private let compute = Compute(kernels: .best, threads: 2)

    private static func network(_ name: String) throws -> any Network {
        try Registry.network(for: GGUFFile(path: Fixtures.url(folder(name) + name + ".gguf").path))
    }

    private static func folder(_ name: String) -> String { more.contains(name) ? "more/" : "architectures/" }

    private static func tokens(_ name: String) throws -> [Int32] {
        if more.contains(name) {
            let data = try Data(contentsOf: Fixtures.url("more/\(name).json"))
            return try JSONDecoder().decode(Index.Case.self, from: data).token_ids
        }
        let data = try Data(contentsOf: Fixtures.url("architectures/index.json"))
        return try #require(try JSONDecoder().decode(Index.self, from: data).cases[name]).token_ids
    }

    private static func logits(_ name: String) throws -> [Float] {
        try Fixtures.floats(folder(name) + name + ".logits.f32")
    }

    /// Logits of tokens that are appended to a sequence.
    private func forward(_ tokens: ArraySlice<Int32>, _ state: SequenceState, _ network: any Network) -> [Float] {
        var step = Step()
        step.append(tokens, to: state, output: .all)
        return floats(network.forward(step, on: compute))
    }

    private func floats(_ matrix: Matrix) -> [Float] {
        (0..<matrix.rows).flatMap { Array(UnsafeBufferPointer(start: matrix[$0], count: matrix.columns)) }
    }

    @Test(arguments: names + more)
    func `each family gives the logits of the reference, however its prompt is cut`(name: String) throws {
        let network = try Self.network(name)
        let (tokens, expected) = (try Self.tokens(name), try Self.logits(name))
        for chunk in [tokens.count, 5, 1] {
            let state = SequenceState(network.stateShape)
            var found: [Float] = []
            for start in stride(from: 0, to: tokens.count, by: chunk) {
                found += forward(tokens[start..<min(start + chunk, tokens.count)], state, network)
            }
            let error = normalizedMeanSquaredError(found, expected)
            #expect(error < 1e-6, "\(name), chunks of \(chunk)")
        }
    }

    @Test(arguments: names + more)
    func `two sequences side by side, a fork and one that was rolled back give the same`(name: String) throws {
        let network = try Self.network(name)
        let (tokens, expected) = (try Self.tokens(name), try Self.logits(name))
        let half = tokens.count / 2
        let (first, second) = (SequenceState(network.stateShape), SequenceState(network.stateShape))
        // The second one is ahead of the first.
        _ = forward(tokens[..<3], second, network)
        var step = Step()
        step.append(tokens[..<half], to: first, output: .all)
        step.append(tokens[3..<half], to: second, output: .all)
        let together = floats(network.forward(step, on: compute))
        let size = expected.count / tokens.count
        let halfExpected = Array(expected[..<(half * size)])
        #expect(normalizedMeanSquaredError(Array(together[..<(half * size)]), halfExpected) < 1e-6)
        #expect(
            normalizedMeanSquaredError(Array(together[(half * size)...]), Array(halfExpected[(3 * size)...])) < 1e-6)

        // The fork goes elsewhere; the original is not changed by it, and comes back from where it went itself.
        first.checkpoint()
        let (fork, untouched) = (first.fork(), first.fork())
        _ = forward([5, 4, 3, 2], fork, network)
        _ = forward([7, 8, 9], first, network)
        #expect(first.rollBack(to: half) == half)
        let rest = forward(tokens[half...], first, network)
        #expect(normalizedMeanSquaredError(rest, Array(expected[(half * size)...])) < 1e-6)
        // Bit for bit as if it had never been there.
        let isSame = forward(tokens[half...], untouched, network) == rest
        #expect(isSame)
    }
}
