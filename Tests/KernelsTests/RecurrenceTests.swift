#if arch(x86_64)
    import CIntrinsics
    import Foundation
    import KernelFormats
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
                        let (aRow, aColumn) = isTransposed ? (1, rows) : (depth, 1)
                        func run(_ kernel: (SmallProduct) -> Void) -> [Float] {
                            func run(
                                _ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, _ decay: UnsafePointer<Float>,
                                _ c: UnsafeMutablePointer<Float>
                            ) {
                                kernel(
                                    SmallProduct(
                                        a: a, aRow: aRow, aColumn: aColumn, b: b, bStride: stride,
                                        decay: decayStride == nil ? nil : decay, decayStride: decayStride ?? 0, c: c,
                                        cStride: stride, rows: rows, depth: depth, columns: columns))
                            }
                            var c = old
                            run(a, b, factors, &c)
                            return c
                        }
                        let (expected, found) = (run(KernelsPortable.smallProduct), run(KernelsAVX2.smallProduct))
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
            func run(_ kernel: (RowDecay) -> Void) -> (rows: [Float], products: [Float]) {
                func run(
                    _ rows: UnsafeMutablePointer<Float>, _ decay: UnsafePointer<Float>, _ x: UnsafePointer<Float>,
                    _ y: UnsafePointer<Float>, _ products: UnsafeMutablePointer<Float>
                ) {
                    kernel(
                        RowDecay(
                            rows: rows, count: count, width: width, decay: decay, x: x, before: products, y: y,
                            after: products + count + 1))
                }
                var decayed = rows, products = [Float](repeating: 0, count: 2 * count + 2)
                run(&decayed, decay, x, y, &products)
                return (decayed, products)
            }
            let ((expectedRows, expected), (foundRows, found)) = (
                run(KernelsPortable.decayRows), run(KernelsAVX2.decayRows)
            )
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
                    func run(_ kernel: (Convolution) -> Void) -> [Float] {
                        func run(
                            _ inputs: UnsafePointer<UnsafePointer<Float>>, _ weights: UnsafePointer<Float>,
                            _ bias: UnsafePointer<Float>, _ y: UnsafeMutablePointer<Float>
                        ) {
                            kernel(
                                Convolution(
                                    inputs: inputs, weights: weights, bias: isBiased ? bias : nil, taps: taps,
                                    channels: channels, silu: silu, y: y))
                        }
                        var y = [Float](repeating: 0, count: channels)
                        withPointers(inputs) { run($0, weights, bias, &y) }
                        return y
                    }
                    let (expected, found) = (run(KernelsPortable.convolve), run(KernelsAVX2.convolve))
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
            func run(_ kernel: (SelectiveScan) -> Void) -> (state: [Float], y: [Float]) {
                func run(
                    _ x: UnsafePointer<Float>, _ delta: UnsafePointer<Float>, _ b: UnsafePointer<Float>,
                    _ c: UnsafePointer<Float>, _ a: UnsafePointer<Float>, _ d: UnsafePointer<Float>,
                    _ h: UnsafeMutablePointer<Float>, _ y: UnsafeMutablePointer<Float>
                ) {
                    kernel(
                        SelectiveScan(
                            x: x, delta: delta, stride: stride, b: b, c: c, selectStride: selectStride, a: a, d: d,
                            h: h,
                            stateStride: channels, tokens: tokens, channels: channels, states: states, y: y))
                }
                var state = state, y = [Float](repeating: 0, count: tokens * stride)
                run(x, delta, b, c, a, d, &state, &y)
                return (state, y)
            }
            let ((expectedState, expected), (foundState, found)) = (
                run(KernelsPortable.selectiveScan), run(KernelsAVX2.selectiveScan)
            )
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
                KernelsPortable.sigmoid, KernelsAVX2.sigmoid)
            { #expect(abs(a - b) <= 6 * Float.ulpOfOne * b + 1e-37) }
            for (a, b) in both(
                KernelsPortable.softplus, KernelsAVX2.softplus)
            { #expect(abs(a - b) <= 8 * Float.ulpOfOne * b + 1e-37) }
            // Beyond 88 the kernel stays where it is there; decays are at most 1.
            let pairs = both(
                KernelsPortable.exponential, KernelsAVX2.exponential)
            for (index, (a, b)) in pairs.enumerated() where x[index] <= 88 {
                #expect(abs(a - b) <= 4 * Float.ulpOfOne * b + 1e-37)
            }
        }
    }
#endif
