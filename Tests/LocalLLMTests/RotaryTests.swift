@testable import Networks
import Foundation
import TestSupport
import Testing

@testable import LocalLLM

@Suite struct RotaryTests {
    private func rotary(_ scaling: Rotary.Scaling, factors: [Float]? = nil) -> Rotary {
        Rotary(layout: .halves, width: 64, base: 10_000, scaling: scaling, factors: factors)
    }

    @Test func `linear scaling divides every frequency`() {
        let plain = rotary(.none).frequencies
        #expect(plain[0] == 1)
        #expect(abs(plain[16] - 0.01) < 1e-12)
        for (a, b) in zip(rotary(.linear(factor: 4)).frequencies, plain) { #expect(a == b / 4) }
    }

    @Test func `YaRN keeps fast dimensions, interpolates slow ones, and sharpens attention`() {
        let plain = rotary(.none).frequencies
        let scaled = rotary(
            .yarn(factor: 8, originalContext: 2048, betaFast: 32, betaSlow: 1, attentionFactor: 1))
        // Pair 0 turns 326 times in 2048 positions, more than 32; pair 31 less than once.
        #expect(scaled.frequencies[0] == plain[0])
        #expect(scaled.frequencies[31] == plain[31] / 8)
        #expect(zip(scaled.frequencies, plain).allSatisfy { $0 <= $1 && $0 >= $1 / 8 })
        #expect(abs(scaled.magnitude - (1 + 0.1 * log(8))) < 1e-12)
    }

    @Test func `YaRN's ramp may end between two pairs`() {
        func frequencies(_ roundsRamp: Bool) -> [Double] {
            rotary(
                .yarn(
                    factor: 8, originalContext: 2048, betaFast: 32, betaSlow: 1, attentionFactor: 1,
                    roundsRamp: roundsRamp)
            ).frequencies
        }
        // Of 64 values at base 10,000: 32 turns at pair 8.064, one at 20.105.
        let pair = 14.0
        let ramp = (pair - 8.0640) / (20.1052 - 8.0640)
        let plain = rotary(.none).frequencies[14]
        #expect(abs(frequencies(false)[14] / plain - (1 - ramp * 7 / 8)) < 1e-4)
        #expect(abs(frequencies(true)[14] / plain - (1 - (pair - 8) / (21 - 8) * 7 / 8)) < 1e-9)
    }

    @Test func `per-frequency factors divide their own frequency`() {
        let factors = (0..<32).map { Float($0 + 1) }
        for (index, pair) in zip(rotary(.none, factors: factors).frequencies, rotary(.none).frequencies).enumerated() {
            #expect(abs(pair.0 - pair.1 / Double(index + 1)) < 1e-15)
        }
    }

    /// A file of a Llama with these keys.
    private func network(_ keys: [(key: String, value: GGUFBuilder.Value)]) throws {
        let directory = try TemporaryDirectory()
        var model = TinyModel()
        model.extra = keys.map { ("llama.rope.scaling.\($0.key)", $0.value) }
        _ = try Registry.network(for: GGUFFile(path: model.write(in: directory).path))
    }

    @Test func `variants of YaRN that are not served are refused by name`() throws {
        let yarn: [(key: String, value: GGUFBuilder.Value)] = [("type", .string("yarn")), ("factor", .float32(8))]
        let usual = Float(1 + 0.1 * log(8))
        for (key, served, refused) in [
            ("yarn_ext_factor", [-1, 1], [0.5, 0]), ("yarn_attn_factor", [0, 1, usual], [0.7, 2]),
        ] as [(String, [Float], [Float])] {
            for value in served { try network(yarn + [(key, .float32(value))]) }
            for value in refused {
                #expect(Comment(rawValue: key)) {
                    try network(yarn + [(key, .float32(value))])
                } throws: { error in
                    "\(error)".contains("llama.rope.scaling.\(key)")
                }
            }
        }
        #expect(throws: ModelFileError.self) { try network([("yarn_ext_factor", .float32(1))]) }
        #expect(throws: ModelFileError.self) { try network([("yarn_attn_factor", .float32(1.2))]) }
    }

    @Test func `a magnitude without a type of scaling applies, as in files of Phi 3`() async throws {
        let directory = try TemporaryDirectory()
        func logits(_ keys: [(key: String, value: GGUFBuilder.Value)]) async throws -> [Float] {
            var model = TinyModel()
            model.extra = keys.map { ("llama.rope.scaling.\($0.key)", $0.value) }
            let file = try model.write(in: directory)
            return try await LocalModel.load(from: file, configuration: .init(threads: 1)).logits(of: [1, 30, 75, 200])
        }
        let factor: (key: String, value: GGUFBuilder.Value) = ("attn_factor", .float32(1.2))
        let found = try await logits([factor])
        #expect(try await logits([("type", .string("linear")), ("factor", .float32(1)), factor]) == found)
        #expect(normalizedMeanSquaredError(found, try await logits([])) > 1e-4)
    }
}
