#if arch(x86_64)
    import CIntrinsics
    import Foundation
    import KernelFormats
    import KernelsAVX2
    import KernelsAVX512
    import KernelsPortable
    import TestSupport
    import Testing

    /// Each kernel of the tier against its portable twin, at sizes that leave every kind of tail.
    @Suite(.enabled(if: cpu_has_avx2_fma_f16c() != 0, "this processor has no AVX2"))
    struct AVX2Tests {
        private static let formats: [TensorType] = [
            .F32, .F16, .BF16, .Q4_0, .Q4_1, .Q5_0, .Q5_1, .Q8_0, .Q2_K, .Q3_K, .Q4_K, .Q5_K, .Q6_K, .IQ4_NL, .IQ4_XS,
        ]

        private func random(_ count: Int, seed: UInt64, _ range: ClosedRange<Float> = -1...1) -> [Float] {
            var generator = SeededGenerator(seed: seed)
            return (0..<count).map { _ in Float.random(in: range, using: &generator) }
        }

        @Test(arguments: formats)
        func `unpacks what the portable tier unpacks`(type: TensorType) {
            for blocks in [1, 3] {
                // A whole number of blocks and of 32 values; misaligned by a byte.
                let count = blocks * max(32, type.blockValues)
                let bytes = [0] + RandomWeights.bytes(type, count)
                var expected = [Float](repeating: 0, count: count), found = expected
                bytes.withUnsafeBytes { source in
                    KernelsPortable.dequantize(type, source.baseAddress! + 1, into: &expected, count: count)
                    #expect(KernelsAVX2.dequantize(type, source.baseAddress! + 1, into: &found, count: count))
                }
                // One rounding of scale · code less than the portable tier has: half an ulp of the larger of the two terms.
                let largest = expected.map { abs($0) }.max()!
                for (a, b) in zip(found, expected) { #expect(abs(a - b) <= 4 * Float.ulpOfOne * largest) }
            }
        }

        @Test(arguments: [1, 8, 15, 16, 100, 4096])
        func `RMSNorm`(count: Int) {
            let x = random(count, seed: 4), weight = random(count, seed: 5)
            var expected = x, found = x
            KernelsPortable.rmsNorm(x, weight: weight, epsilon: 1e-5, into: &expected, count: count)
            KernelsAVX2.rmsNorm(x, weight: weight, epsilon: 1e-5, into: &found, count: count)
            // The scale is 1/√ of a sum of `count` squares, all positive: relative error below count ulps.
            for (a, b) in zip(found, expected) { #expect(abs(a - b) <= Float.ulpOfOne * (Float(count) + 4) * abs(b)) }
        }

        @Test(arguments: [1, 32])
        func `stores halves as the portable tier does`(stride: Int) {
            // Ties, the largest half and beyond, subnormal halves, what rounds to zero, infinity.
            var values: [Float] = [
                0, -0.0, 1, 1 + 0x1p-11, 1 + 3 * 0x1p-11, 65504, 65519.996, 65520, -65520, 1e30, .infinity, -.infinity,
                0x1p-14, 0x1.ffcp-15, 0x1p-24, 0x1p-25, 0x1.8p-25, -0x1p-26, 1e-30, .leastNonzeroMagnitude,
            ]
            values += random(4, seed: 31)
            var expected = [UInt16](repeating: 7, count: stride * values.count), found = expected
            KernelsPortable.storeHalf(values, into: &expected, stride: stride, count: values.count)
            KernelsAVX2.storeHalf(values, into: &found, stride: stride, count: values.count)
            #expect(found == expected)
            KernelsAVX2.storeHalf([Float](repeating: .nan, count: 8), into: &found, stride: stride, count: 8)
            for index in 0..<8 { #expect(Float16(bitPattern: found[index * stride]).isNaN) }
        }

        @Test(arguments: [1, 3, 4, 9], [1, 7, 16])
        func `the second product of low-rank updates`(tokens: Int, rank: Int) {
            let (groups, stride) = (7, 130)
            let h = random(tokens * rank, seed: 21), b = random(groups * rank * LowRankProduct.groupOutputs, seed: 22)
            let before = random(tokens * stride, seed: 23)
            func add(_ kernel: (LowRankProduct) -> Void, _ outputs: Range<Int>) -> [Float] {
                var c = before
                c.withUnsafeMutableBufferPointer {
                    kernel(
                        LowRankProduct(
                            h: h, tokens: tokens, rank: rank, b: b, outputs: outputs,
                            c: $0.baseAddress! + outputs.lowerBound, cStride: stride))
                }
                return c
            }
            let whole = add({ KernelsAVX2.addLowRank($0) }, 0..<112)
            for outputs in [0..<112, 0..<16, 3..<9, 3..<16, 3..<20, 16..<96, 5..<112, 30..<35, 32..<32] {
                let expected = add({ KernelsPortable.addLowRank($0) }, outputs)
                let found = add({ KernelsAVX2.addLowRank($0) }, outputs)
                for token in 0..<tokens {
                    for output in 0..<stride {
                        let index = token * stride + output
                        guard outputs.contains(output) else {
                            #expect(found[index] == before[index] && expected[index] == before[index])
                            continue
                        }
                        // The bits do not depend on the outputs beside it.
                        #expect(found[index] == whole[index])
                        let terms = (0..<rank).map { k in
                            Double(h[token * rank + k]) * Double(b[(output / 16 * rank + k) * 16 + output % 16])
                        }
                        let exact = terms.reduce(Double(before[index]), +)
                        // Each of `rank` products and sums rounds by at most half an ulp of the sum of magnitudes.
                        let magnitude = terms.reduce(abs(Double(before[index]))) { $0 + abs($1) }
                        let tolerance = Double(Float.ulpOfOne) * Double(rank + 1) * magnitude
                        #expect(abs(Double(found[index]) - exact) <= tolerance)
                        #expect(abs(Double(expected[index]) - exact) <= tolerance)
                    }
                }
            }
        }

        @Test func `SwiGLU, from deep in the tails to the middle`() {
            let gate: [Float] = [-1000, -100, -88, -87, -30, -5, -1, -0.1, 0, 1e-6, 0.1, 1, 5, 30, 88, 1000]
            let up = random(gate.count, seed: 6)
            var expected = gate, found = gate
            KernelsPortable.swiGLU(gate, up, into: &expected, count: gate.count)
            KernelsAVX2.swiGLU(gate, up, into: &found, count: gate.count)
            // e^x to 2 ulp and three more roundings; below e^−87 both are next to nothing.
            func expectEqual() {
                for (a, b) in zip(found, expected) { #expect(abs(a - b) <= 8 * Float.ulpOfOne * abs(b) + 1e-34) }
            }
            expectEqual()
            guard KernelsAVX512.isSupported() else { return }
            KernelsAVX512.swiGLU(gate, up, into: &found, count: gate.count)
            expectEqual()
        }

        @Test(arguments: [(64, 64), (8, 40), (72, 8), (128, 128)], [1, 2, 5])
        func `attention over two pages with rows that see different parts`(widths: (Int, Int), rows: Int) {
            let (keyWidth, valueWidth) = widths
            let queries = random(rows * keyWidth, seed: 11, -0.5...0.5)
            let pages = [12, 13].map { random(32 * (keyWidth + valueWidth), seed: $0) }

            func withUnsafePointers(
                _ q: [UnsafePointer<Float>], _ o: [UnsafeMutablePointer<Float>], _ first: [Int32], _ end: [Int32],
                _ page: [Float],
                _ body: (
                    UnsafePointer<UnsafePointer<Float>>, UnsafePointer<UnsafeMutablePointer<Float>>,
                    UnsafePointer<Int32>, UnsafePointer<Int32>, UnsafePointer<Float>
                ) -> Void
            ) { body(q, o, first, end, page) }
            func run(_ kernel: (PageAttention) -> Void) -> [Float] {
                var output = [Float](repeating: 0, count: rows * valueWidth)
                let maxima = UnsafeMutablePointer<Float>.allocate(capacity: 2 * rows + 32 * attendRows)
                defer { maxima.deallocate() }
                let (sums, scratch) = (maxima + rows, maxima + 2 * rows)
                maxima.update(repeating: -.infinity, count: rows)
                sums.update(repeating: 0, count: rows + 32 * attendRows)
                queries.withUnsafeBufferPointer { q in
                    output.withUnsafeMutableBufferPointer { o in
                        let q = (0..<rows).map { q.baseAddress! + $0 * keyWidth }
                        let o = (0..<rows).map { o.baseAddress! + $0 * valueWidth }
                        for (index, page) in pages.enumerated() {
                            // Row r does not see the first r tokens, nor the last 3r of the second page; odd rows see
                            // nothing of the first page.
                            let first = (0..<rows).map { index == 0 ? Int32($0 % 2 == 1 ? 32 : $0) : 0 }
                            let end = (0..<rows).map { index == 0 ? 32 : Int32(32 - 3 * $0) }
                            withUnsafePointers(q, o, first, end, page) { q, o, first, end, page in
                                kernel(
                                    PageAttention(
                                        queries: q, outputs: o, first: first, end: end, rows: rows, page: page,
                                        keyWidth: keyWidth, valueWidth: valueWidth, maxima: maxima, sums: sums,
                                        scratch: scratch))
                            }
                        }
                    }
                }
                return output.indices.map { output[$0] / sums[$0 / valueWidth] }
            }
            let expected = run(KernelsPortable.attendPage)
            let found = run(KernelsAVX2.attendPage)
            // Scores of `keyWidth` products of at most ½ move a weight by that many ulps; values are at most 1.
            let tolerance = Float.ulpOfOne * Float(keyWidth + 64)
            for (a, b) in zip(found, expected) { #expect(abs(a - b) <= tolerance) }
            guard KernelsAVX512.isSupported(), valueWidth % 16 == 0 else { return }
            let wide = run(KernelsAVX512.attendPage)
            for (a, b) in zip(wide, expected) { #expect(abs(a - b) <= tolerance) }
        }
    }
#endif
