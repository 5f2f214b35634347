// Norms, activations, softmax, and the kernels of recurrent layers, against the portable tier.

import Compute
import KernelFormats
import KernelsPortable

private let ulp = Float.ulpOfOne

func checkRows(_ kernels: KernelSet) {
    subject = "norms"
    for count in [1, 7, 8, 15, 16, 100, 4096] {
        let x = random(count, seed: 4), weight = random(count, seed: 5)
        for isRMS in [true, false] {
            var (expected, found) = (x, x)
            (isRMS ? KernelSet.portable.rmsNorm : KernelSet.portable.layerNorm)(x, weight, 1e-5, &expected, count)
            (isRMS ? kernels.rmsNorm : kernels.layerNorm)(x, weight, 1e-5, &found, count)
            // A sum of `count` squares, all positive: its relative error is below `count` ulps. LayerNorm's mean is off
            // by `count` ulps of the largest value.
            check(found, expected, "count \(count)") {
                ulp * Float(count + 4) * (abs($0) + (isRMS ? 0 : 4))
            }
        }
    }
    subject = "activations"
    let gates: [Float] = [-1000, -100, -88, -87, -30, -5, -1, -0.1, 0, 1e-6, 0.1, 1, 5, 30, 88, 1000]
    let up = random(gates.count, seed: 6)
    let activations: [Activation] = [
        .silu, .gelu, .exactGELU, .quickGELU, .relu, .squaredReLU, .gptOSS, .siluOfLimited(limit: 7),
    ]
    for (index, activation) in activations.enumerated() {
        for count in [16, 13] {
            var (expected, found) = (gates, gates)
            KernelSet.portable.gate(gates, up, activation, &expected, count)
            kernels.gate(gates, up, activation, &found, count)
            // e^x to 2 ulp and three more roundings. The tanh form of GELU has an error of ulps of 1 in the portable tier;
            // below e^−87 both are next to nothing.
            check(found, expected, "gate \(index), \(count) values") { 16 * ulp * max(abs($0), 1) + 1e-34 }
            KernelSet.portable.activate(gates, activation, &expected, count)
            kernels.activate(gates, activation, &found, count)
            check(found, expected, "activation \(index), \(count) values") { 16 * ulp * max(abs($0), 1) + 1e-34 }
        }
    }
    subject = "softmax"
    for count in [1, 5, 8, 40, 333] {
        var expected = random(count, seed: 9, -30...30)
        if count > 8 { expected[3] = -.infinity }
        var found = expected
        KernelSet.portable.softmax(&expected, count)
        kernels.softmax(&found, count)
        // Exponentials of differences: 2 ulp each, 32 for the difference itself at most, and a sum of `count`. The kernel
        // gives 0 below e^−87.
        check(found, expected, "\(count) values") { ulp * Float(count + 64) * abs($0) + 1e-37 }
        var odd = [Float](repeating: 1, count: 16)
        odd[5] = .nan
        kernels.softmax(&odd, 16)
        check(odd.allSatisfy { $0.isNaN }, "a NaN is lost")
    }
    checkElementwise(kernels.recurrent)
    checkSmallProducts(kernels.recurrent)
    checkDecay(kernels.recurrent)
    checkConvolution(kernels.recurrent)
    checkScan(kernels.recurrent)
}

private func checkElementwise(_ kernels: RecurrentKernels) {
    subject = "sigmoid, softplus, exponential"
    let x: [Float] = [
        -1000, -100, -88, -86, -30, -20, -5, -1, -0.3, -1e-3, -1e-7, 0, 1e-7, 1e-3, 0.3, 1, 5, 15, 20, 30, 87, 88, 100,
        .nan,
    ]
    let reference = KernelSet.portable.recurrent
    for count in [x.count, x.count - 1] {
        for (index, (kernel, portable)) in [
            (kernels.sigmoid, reference.sigmoid), (kernels.softplus, reference.softplus),
            (kernels.exponential, reference.exponential),
        ].enumerated() {
            var (expected, found) = (x, x)
            portable(x, &expected, count)
            kernel(x, &found, count)
            // Beyond 88 the kernel stays where it is there; decays are at most 1.
            if index == 2 { (expected[22], found[22]) = (0, 0) }
            check(found, expected, "function \(index)") { 8 * ulp * abs($0) + 1e-37 }
        }
    }
}

private func checkSmallProducts(_ kernels: RecurrentKernels) {
    subject = "small products"
    for rows in [1, 2, 3, 5, 6, 7, 12, 17] {
        for columns in [8, 16, 24, 40, 56, 128, 13] {
            for depth in [1, 2, 13] {
                let stride = columns + 3
                let a = random(rows * depth, seed: 1), b = random(depth * stride, seed: 2)
                let old = random(rows * stride, seed: 3), factors = random(rows, seed: 4, 0...1)
                for (isTransposed, decayStride) in [(false, -1), (true, 0), (false, 1), (true, 1)] {
                    let (aRow, aColumn) = isTransposed ? (1, rows) : (depth, 1)
                    func run(_ kernels: RecurrentKernels) -> [Float] {
                        func run(
                            _ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, _ decay: UnsafePointer<Float>,
                            _ c: UnsafeMutablePointer<Float>
                        ) {
                            kernels.smallProduct(
                                SmallProduct(
                                    a: a, aRow: aRow, aColumn: aColumn, b: b, bStride: stride,
                                    decay: decayStride < 0 ? nil : decay, decayStride: max(0, decayStride), c: c,
                                    cStride: stride, rows: rows, depth: depth, columns: columns))
                        }
                        var c = old
                        run(a, b, factors, &c)
                        return c
                    }
                    // Sums of depth + 1 terms of at most 1, one rounding less a term in one of the two.
                    check(run(kernels), run(KernelSet.portable.recurrent), "\(rows) x \(columns) x \(depth)") { _ in
                        ulp * Float((depth + 1) * (depth + 1))
                    }
                }
            }
        }
    }
}

private func checkDecay(_ kernels: RecurrentKernels) {
    subject = "rows that decay"
    for (count, width) in [(0, 8), (1, 24), (5, 64), (5, 128), (3, 13)] {
        let rows = random(count * width, seed: 5), decay = random(width, seed: 6, 0...1)
        let x = random(width, seed: 7), y = random(width, seed: 8)
        func run(_ kernels: RecurrentKernels) -> (rows: [Float], products: [Float]) {
            func run(
                _ rows: UnsafeMutablePointer<Float>, _ decay: UnsafePointer<Float>, _ x: UnsafePointer<Float>,
                _ before: UnsafeMutablePointer<Float>, _ y: UnsafePointer<Float>, _ after: UnsafeMutablePointer<Float>
            ) {
                kernels.decayRows(
                    RowDecay(
                        rows: rows, count: count, width: width, decay: decay, x: x, before: before, y: y, after: after))
            }
            var rows = rows, before = [Float](repeating: 0, count: count + 1), after = before
            run(&rows, decay, x, &before, y, &after)
            return (rows, before + after)
        }
        let (found, expected) = (run(kernels), run(KernelSet.portable.recurrent))
        checkBits(found.rows, expected.rows, "\(count) x \(width)")
        // Sums of `width` products of at most 1, in another order.
        check(found.products, expected.products, "\(count) x \(width)") { _ in ulp * Float(width * width) / 4 }
    }
}

private func checkConvolution(_ kernels: RecurrentKernels) {
    subject = "causal convolutions"
    for (taps, channels) in [(1, 8), (3, 40), (4, 40), (4, 11)] {
        let inputs = random(taps * channels, seed: 10, -3...3)
        let weights = random(taps * channels, seed: 20), bias = random(channels, seed: 21)
        for (silu, isBiased) in [(false, false), (true, false), (false, true), (true, true)] {
            func run(_ kernels: RecurrentKernels) -> [Float] {
                func run(
                    _ inputs: UnsafePointer<UnsafePointer<Float>>, _ weights: UnsafePointer<Float>,
                    _ bias: UnsafePointer<Float>, _ y: UnsafeMutablePointer<Float>
                ) {
                    kernels.convolve(
                        Convolution(
                            inputs: inputs, weights: weights, bias: isBiased ? bias : nil, taps: taps,
                            channels: channels, silu: silu, y: y))
                }
                var y = [Float](repeating: 0, count: channels)
                inputs.withUnsafeBufferPointer { inputs in
                    run((0..<taps).map { inputs.baseAddress! + $0 * channels }, weights, bias, &y)
                }
                return y
            }
            // Sums of at most five terms up to 3; SiLU adds 2 ulp of e^x and two roundings.
            check(run(kernels), run(KernelSet.portable.recurrent), "\(taps) taps, \(channels) channels") { _ in
                100 * ulp
            }
        }
    }
}

private func checkScan(_ kernels: RecurrentKernels) {
    subject = "selective scans"
    for (tokens, states, channels) in [(1, 1, 24), (5, 16, 24), (5, 1, 24), (3, 4, 9)] {
        let stride = channels + 1, selectStride = states + 2
        let x = random(tokens * stride, seed: 30), delta = random(tokens * stride, seed: 31, 0...2)
        let b = random(tokens * selectStride, seed: 32), c = random(tokens * selectStride, seed: 33)
        let a = random(states * channels, seed: 34, -4...0), d = random(channels, seed: 35)
        let state = random(states * channels, seed: 36)
        func run(_ kernels: RecurrentKernels) -> (state: [Float], y: [Float]) {
            func run(
                _ x: UnsafePointer<Float>, _ delta: UnsafePointer<Float>, _ b: UnsafePointer<Float>,
                _ c: UnsafePointer<Float>, _ a: UnsafePointer<Float>, _ d: UnsafePointer<Float>,
                _ h: UnsafeMutablePointer<Float>, _ y: UnsafeMutablePointer<Float>
            ) {
                kernels.selectiveScan(
                    SelectiveScan(
                        x: x, delta: delta, stride: stride, b: b, c: c, selectStride: selectStride, a: a, d: d, h: h,
                        stateStride: channels, tokens: tokens, channels: channels, states: states, y: y))
            }
            var state = state, y = [Float](repeating: 0, count: tokens * stride)
            run(x, delta, b, c, a, d, &state, &y)
            return (state, y)
        }
        let (found, expected) = (run(kernels), run(KernelSet.portable.recurrent))
        // A state of at most 2 a token grows by five roundings a token, an output sums `states` of them.
        let tolerance = ulp * Float(20 * tokens * tokens)
        check(found.state, expected.state, "the state after \(tokens) tokens") { _ in tolerance }
        check(found.y, expected.y, "\(tokens) tokens, \(states) states") { _ in tolerance * Float(states * states) }
    }
}
