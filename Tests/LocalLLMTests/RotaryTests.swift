import Foundation
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
}
