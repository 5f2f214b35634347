#if arch(x86_64)
    import CIntrinsics
    import Foundation
    import KernelsAVX2
    import KernelsPortable
    import TestSupport
    import Testing

    /// The kernels of recurrent layers against their portable twins, at sizes that leave every kind of tail.
    @Suite(.enabled(if: cpu_has_avx2_fma_f16c() != 0, "this processor has no AVX2"))
    struct RecurrenceTests {
        private func random(_ count: Int, seed: UInt64, _ range: ClosedRange<Float> = -1...1) -> [Float] {
            var generator = SeededGenerator(seed: seed)
            return (0..<count).map { _ in Float.random(in: range, using: &generator) }
        }

        @Test(arguments: [1, 2, 3, 5, 6, 7, 12, 17, 32], [8, 16, 24, 40, 56, 128])
        func `a small product, plain, transposed and added to what decays`(rows: Int, columns: Int) {
            for depth in [1, 2, 13] {
                let stride = columns + 3
                let a = random(rows * depth, seed: 1), b = random(depth * stride, seed: 2)
                let old = random(rows * stride, seed: 3), factors = random(rows, seed: 4, 0...1)
                for isTransposed in [false, true] {
                    for decayStride in [nil, 0, 1] {
                        func run(_ kernel: (UnsafePointer<Float>?, UnsafeMutablePointer<Float>) -> Void) -> [Float] {
                            var c = old
                            c.withUnsafeMutableBufferPointer { c in
                                factors.withUnsafeBufferPointer {
                                    kernel(decayStride == nil ? nil : $0.baseAddress!, c.baseAddress!)
                                }
                            }
                            return c
                        }
                        let (aRow, aColumn) = isTransposed ? (1, rows) : (depth, 1)
                        let expected = run {
                            KernelsPortable.smallProduct(
                                a, aRow: aRow, aColumn: aColumn, b, bStride: stride, decay: $0,
                                decayStride: decayStride ?? 0, into: $1, cStride: stride, rows: rows, depth: depth,
                                columns: columns)
                        }
                        let found = run {
                            KernelsAVX2.smallProduct(
                                a, aRow: aRow, aColumn: aColumn, b, bStride: stride, decay: $0,
                                decayStride: decayStride ?? 0, into: $1, cStride: stride, rows: rows, depth: depth,
                                columns: columns)
                        }
                        // Sums of depth + 1 terms of at most 1, one rounding less a term in one of the two.
                        let tolerance = Float.ulpOfOne * Float((depth + 1) * (depth + 1))
                        for (x, y) in zip(found, expected) { #expect(abs(x - y) <= tolerance) }
                    }
                }
            }
        }

        @Test(arguments: [0, 1, 5], [8, 24, 64, 128])
        func `rows that decay between two products`(count: Int, width: Int) {
            let rows = random(count * width, seed: 5), decay = random(width, seed: 6, 0...1)
            let x = random(width, seed: 7), y = random(width, seed: 8)
            var (expectedRows, foundRows) = (rows, rows)
            var expected = [Float](repeating: 0, count: 2 * count + 2), found = expected
            expected.withUnsafeMutableBufferPointer { out in
                KernelsPortable.decayRows(
                    &expectedRows, count: count, width: width, by: decay, before: x, into: out.baseAddress!, after: y,
                    into: out.baseAddress! + count + 1)
            }
            found.withUnsafeMutableBufferPointer { out in
                KernelsAVX2.decayRows(
                    &foundRows, count: count, width: width, by: decay, before: x, into: out.baseAddress!, after: y,
                    into: out.baseAddress! + count + 1)
            }
            #expect(foundRows == expectedRows)
            // Sums of `width` products of at most 1, in another order.
            for (a, b) in zip(found, expected) { #expect(abs(a - b) <= Float.ulpOfOne * Float(width * width) / 4) }
        }

        @Test(arguments: [1, 3, 4], [8, 40])
        func `a causal convolution, with and without bias and SiLU`(taps: Int, channels: Int) {
            let inputs = (0..<taps).map { random(channels, seed: 10 + UInt64($0), -3...3) }
            let weights = random(taps * channels, seed: 20), bias = random(channels, seed: 21)
            for silu in [false, true] {
                for isBiased in [false, true] {
                    var expected = [Float](repeating: 0, count: channels), found = expected
                    bias.withUnsafeBufferPointer { bias in
                        let bias = isBiased ? bias.baseAddress! : nil
                        withPointers(inputs) { inputs in
                            KernelsPortable.convolve(
                                inputs, weights, bias: bias, taps: taps, channels: channels, silu: silu, into: &expected
                            )
                            KernelsAVX2.convolve(
                                inputs, weights, bias: bias, taps: taps, channels: channels, silu: silu, into: &found)
                        }
                    }
                    // Sums of at most five terms up to 3; SiLU adds 2 ulp of e^x and two roundings.
                    for (a, b) in zip(found, expected) { #expect(abs(a - b) <= 100 * Float.ulpOfOne) }
                }
            }
        }

        private func withPointers(_ rows: [[Float]], _ body: (UnsafePointer<UnsafePointer<Float>>) -> Void) {
            let flat = rows.flatMap { $0 }
            flat.withUnsafeBufferPointer { flat in
                body(rows.indices.map { flat.baseAddress! + $0 * rows[0].count })
            }
        }

        @Test(arguments: [1, 5], [1, 16])
        func `the selective scan, and the state that it leaves`(tokens: Int, states: Int) {
            let channels = 24, stride = channels + 1, selectStride = states + 2
            let x = random(tokens * stride, seed: 30), delta = random(tokens * stride, seed: 31, 0...2)
            let b = random(tokens * selectStride, seed: 32), c = random(tokens * selectStride, seed: 33)
            let a = random(states * channels, seed: 34, -4...0), d = random(channels, seed: 35)
            let state = random(states * channels, seed: 36)
            var (expectedState, foundState) = (state, state)
            var expected = [Float](repeating: 0, count: tokens * stride), found = expected
            KernelsPortable.selectiveScan(
                x, delta: delta, stride: stride, b: b, c: c, selectStride: selectStride, a: a, d: d,
                state: &expectedState, stateStride: channels, tokens: tokens, channels: channels, states: states,
                into: &expected)
            KernelsAVX2.selectiveScan(
                x, delta: delta, stride: stride, b: b, c: c, selectStride: selectStride, a: a, d: d,
                state: &foundState, stateStride: channels, tokens: tokens, channels: channels, states: states,
                into: &found)
            // A state of at most 2 a token grows by five roundings a token, an output sums `states` of them.
            let tolerance = Float.ulpOfOne * Float(20 * tokens * tokens)
            for (a, b) in zip(foundState, expectedState) { #expect(abs(a - b) <= tolerance) }
            for (a, b) in zip(found, expected) { #expect(abs(a - b) <= tolerance * Float(states * states)) }
        }

        @Test func `sigmoid, softplus and the exponential, from tail to tail`() {
            let x: [Float] = [
                -1000, -100, -88, -86, -30, -20, -5, -1, -0.3, -1e-3, -1e-7, 0, 1e-7, 1e-3, 0.3, 1, 5, 15, 20, 30, 87,
                88,
                100, 1000,
            ]
            func both(
                _ portable: (UnsafePointer<Float>, UnsafeMutablePointer<Float>, Int) -> Void,
                _ avx2: (UnsafePointer<Float>, UnsafeMutablePointer<Float>, Int) -> Void
            ) -> [(Float, Float)] {
                var expected = x, found = x
                portable(x, &expected, x.count)
                avx2(x, &found, x.count)
                return Array(zip(found, expected))
            }
            for (a, b) in both(
                { KernelsPortable.sigmoid($0, into: $1, count: $2) }, { KernelsAVX2.sigmoid($0, into: $1, count: $2) })
            { #expect(abs(a - b) <= 6 * Float.ulpOfOne * b + 1e-37) }
            for (a, b) in both(
                { KernelsPortable.softplus($0, into: $1, count: $2) }, { KernelsAVX2.softplus($0, into: $1, count: $2) }
            ) { #expect(abs(a - b) <= 8 * Float.ulpOfOne * b + 1e-37) }
            // Beyond 88 the kernel stays where it is there; decays are at most 1.
            let pairs = both(
                { KernelsPortable.exponential($0, into: $1, count: $2) },
                { KernelsAVX2.exponential($0, into: $1, count: $2) })
            for (index, (a, b)) in pairs.enumerated() where x[index] <= 88 {
                #expect(abs(a - b) <= 4 * Float.ulpOfOne * b + 1e-37)
            }
        }
    }
#endif
