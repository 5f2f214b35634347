import KernelFormats
import KernelsPortable
import TestSupport
import Testing

#if arch(x86_64)
    import CIntrinsics
    import KernelsAVX2
    import KernelsAVX512
#endif

@Suite struct FloatProductTests {
    struct Tier: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let kernel: @Sendable (FloatProduct) -> Void

        func multiply(
            _ a: UnsafePointer<Float>, _ aStride: Int, _ tokens: Int, _ w: UnsafePointer<Float>, _ wStride: Int,
            _ rows: Int, _ count: Int, _ c: UnsafeMutablePointer<Float>, _ cStride: Int, _ accumulate: Bool
        ) {
            kernel(
                FloatProduct(
                    a: a, aStride: aStride, tokens: tokens, w: w, wStride: wStride, rows: rows, count: count, c: c,
                    cStride: cStride, accumulate: accumulate))
        }

        static let available: [Tier] = {
            var tiers = [
                Tier(testDescription: "portable") { KernelsPortable.multiplyFloats($0) }
            ]
            #if arch(x86_64)
                if cpu_has_avx2_fma_f16c() != 0 {
                    tiers.append(
                        Tier(testDescription: "AVX2") { KernelsAVX2.multiplyFloats($0) })
                }
                if KernelsAVX512.isSupported() {
                    tiers.append(
                        Tier(testDescription: "AVX-512") { KernelsAVX512.multiplyFloats($0) })
                }
            #endif
            return tiers
        }()
    }

    private func random(_ count: Int, seed: UInt64) -> [Float] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in Float.random(in: -1...1, using: &generator) }
    }

    @Test(arguments: Tier.available, [8, 40, 256])
    func `any number of tokens by any number of rows`(tier: Tier, count: Int) {
        let (aStride, wStride, cStride) = (count + 3, count + 5, 20)
        let a = random(9 * aStride, seed: 1), w = random(14 * wStride, seed: 2)
        for tokens in 1...9 {
            for rows in [1, 2, 3, 4, 6, 7, 13, 14] {
                var c = [Float](repeating: 0.5, count: 9 * cStride)
                tier.multiply(a, aStride, tokens, w, wStride, rows, count, &c, cStride, false)
                tier.multiply(a, aStride, tokens, w, wStride, rows, count, &c, cStride, true)
                for token in 0..<9 {
                    for row in 0..<cStride {
                        guard token < tokens, row < rows else {
                            #expect(c[token * cStride + row] == 0.5)
                            continue
                        }
                        let terms = (0..<count).map { Double(a[token * aStride + $0]) * Double(w[row * wStride + $0]) }
                        // Each of `count` products and sums rounds by at most half an ulp of the sum of magnitudes.
                        let tolerance = Double(Float.ulpOfOne) * Double(2 * count) * terms.reduce(0) { $0 + abs($1) }
                        #expect(abs(Double(c[token * cStride + row]) - 2 * terms.reduce(0, +)) <= tolerance)
                    }
                }
            }
        }
    }

    #if arch(x86_64)
        @Test(.enabled(if: cpu_has_avx2_fma_f16c() != 0, "this processor has no AVX2"), arguments: [false, true])
        func `a token by halves has the bits of the token by floats`(isBFloat16: Bool) {
            let type: TensorType = isBFloat16 ? .BF16 : .F16
            for (rows, columns, depth) in [(1, 8, 8), (4, 264, 64), (7, 96, 96), (14, 520, 512)] {
                // Misaligned by a byte.
                let bytes = [0] + RandomWeights.bytes(type, rows * columns)
                var w = [Float](repeating: 0, count: rows * columns)
                bytes.withUnsafeBytes {
                    KernelsPortable.dequantize(type, $0.baseAddress! + 1, into: &w, count: w.count)
                }
                let a = random(columns, seed: 7)
                var expected = [Float](repeating: 0, count: rows), found = expected
                for first in stride(from: 0, to: columns, by: depth) {
                    let count = min(depth, columns - first)
                    a.withUnsafeBufferPointer { a in
                        w.withUnsafeBufferPointer { w in
                            KernelsAVX2.multiplyFloats(
                                FloatProduct(
                                    a: a.baseAddress! + first, aStride: columns, tokens: 1, w: w.baseAddress! + first,
                                    wStride: columns, rows: rows, count: count, c: &expected, cStride: rows,
                                    accumulate: first > 0))
                        }
                    }
                }
                bytes.withUnsafeBytes {
                    KernelsAVX2.multiplyHalves(
                        HalfProduct(
                            a: a, w: $0.baseAddress! + 1, isBFloat16: isBFloat16, rows: rows, columns: columns,
                            depth: depth, c: &found))
                }
                #expect(found.map(\.bitPattern) == expected.map(\.bitPattern))
            }
        }
    #endif

    @Test(arguments: Tier.available)
    func `an element has the same bits whatever is computed beside it`(tier: Tier) {
        let (count, tokens, rows) = (264, 11, 14)
        let a = random(tokens * count, seed: 3), w = random(rows * count, seed: 4)
        var together = [Float](repeating: 0, count: tokens * rows)
        tier.multiply(a, count, tokens, w, count, rows, count, &together, rows, false)
        for token in 0..<tokens {
            for row in 0..<rows {
                var alone: Float = 0
                a.withUnsafeBufferPointer { a in
                    w.withUnsafeBufferPointer { w in
                        tier.multiply(
                            a.baseAddress! + token * count, count, 1, w.baseAddress! + row * count, count, 1, count,
                            &alone, 1, false)
                    }
                }
                #expect(alone.bitPattern == together[token * rows + row].bitPattern)
            }
        }
    }
}
