import Foundation
import KernelFormats
import KernelsPortable
import TestSupport
import Testing

#if arch(x86_64)
    import CIntrinsics
    import KernelsAVX2
#endif

@Suite struct QuantizeTests {
    /// Σ(x − x̂)² / Σx² that llama.cpp of 2026 makes on normally distributed values, without an importance matrix.
    static let errors: [(TensorType, Double)] = [
        (.F16, 4.4e-8), (.BF16, 2.8e-6), (.Q4_0, 7.446e-3), (.Q4_1, 6.148e-3), (.Q5_0, 1.843e-3), (.Q5_1, 1.442e-3),
        (.Q8_0, 2.882e-5), (.Q2_K, 8.849e-2), (.Q3_K, 2.285e-2), (.Q4_K, 5.143e-3), (.Q5_K, 1.312e-3),
        (.Q6_K, 3.179e-4), (.IQ4_NL, 5.808e-3), (.IQ4_XS, 5.898e-3), (.MXFP4, 1.301e-2),
    ]

    @Test(arguments: [TensorType.Q4_0, .Q4_1, .Q5_0, .Q5_1])
    func `importance that is the same for all values makes the search longer, not the error greater`(type: TensorType) {
        // Without importance, fewer scales are tried.
        let values = normal(4096, seed: 7)
        let plain = weightedError(values, roundTrip(type, values))
        let weighted = weightedError(values, roundTrip(type, values, [Float](repeating: 3, count: values.count)))
        #expect(weighted <= plain)
        #expect(weighted > 0.8 * plain)
    }

    @Test(arguments: errors)
    func `the error is no greater than llama.cpp's`(type: TensorType, error: Double) {
        let values = normal(4096, seed: 1)
        // So few values differ a little from many.
        #expect(weightedError(values, roundTrip(type, values)) < 1.03 * error)
    }

    @Test(arguments: [TensorType.Q4_0, .Q4_1, .Q2_K, .Q3_K, .Q4_K, .Q6_K, .IQ4_XS, .MXFP4])
    func `values of more importance get a smaller error`(type: TensorType) {
        let values = normal(2048, seed: 2)
        let importance = (0..<values.count).map { $0 % 4 == 0 ? Float(50) : 1 }
        let (plain, weighted) = (roundTrip(type, values), roundTrip(type, values, importance))
        #expect(weightedError(values, weighted, importance) < weightedError(values, plain, importance))
    }

    @Test(arguments: TensorType.quantizable)
    func `zeros stay zeros, and values too large to hold are found`(type: TensorType) {
        let zeros = [Float](repeating: 0, count: 256)
        #expect(roundTrip(type, zeros) == zeros)
        let huge = (0..<256).map { Float($0 % 3 - 1) * 3e38 }
        let blocks = quantized(type, huge, nil)
        let nonFinite = blocks.withUnsafeBytes {
            firstNonFiniteBlock(type, $0.baseAddress!, count: 256 / type.blockValues)
        }
        // 32-bit exponents hold them.
        #expect((nonFinite == nil) == [.F32, .BF16, .MXFP4].contains(type))
    }

    /// An importance matrix is a file, whose values are only known to be finite and not negative.
    @Test(arguments: TensorType.quantizable, [Float(0), .leastNonzeroMagnitude, 1e-30, 1e30, .greatestFiniteMagnitude])
    func `importance of any size ends nothing`(type: TensorType, importance: Float) {
        for scale in [Float(1), 1e-38, 1e4, 3e38] {
            let values = normal(512, seed: 3).map { max(-3e38, min(3e38, $0 * scale)) }
            let alternating = values.indices.map { $0 % 3 == 0 ? 1 : importance }
            #expect(roundTrip(type, values, alternating).count == values.count)
        }
    }

    @Test(arguments: TensorType.quantizable)
    func `values that a format holds come back exactly`(type: TensorType) {
        // Codes of one scale: -4...3 are levels of all formats but those with uneven steps.
        var generator = SeededGenerator(seed: 3)
        let range = type == .Q2_K ? -2...1 : -4...3
        var values = (0..<256).map { _ in Float(Int.random(in: range, using: &generator)) / 8 }
        for start in stride(from: 0, to: 256, by: 16) {
            values[start] = Float(range.lowerBound) / 8
            values[start + 1] = Float(range.upperBound) / 8
        }
        let error = weightedError(values, roundTrip(type, values))
        // A block's scale is rounded to a half, and the groups' are multiples of it.
        let limit =
            switch type {
            case .IQ4_NL, .IQ4_XS: 2e-2
            case .Q5_1, .Q5_K: 2e-3  // 31 steps are no multiple of these seven
            case .Q8_0: 1e-4
            default: 1e-5
            }
        #expect(error < limit)
    }

    /// The last block of a row of 32-value blocks is searched alone or with up to seven others.
    @Test(arguments: [1, 2, 7, 8, 9, 15], [TensorType.Q4_0, .Q5_1, .Q8_0, .IQ4_NL, .MXFP4])
    func `a block is the same in rows of all lengths`(blocks: Int, type: TensorType) {
        let values = normal(32 * 16, seed: 6)
        let importance = (0..<values.count).map { 1 + Float($0 % 5) }
        let (all, count) = (quantized(type, values, importance), blocks * type.blockBytes)
        let part = quantized(type, Array(values[..<(32 * blocks)]), importance)
        #expect(part == Array(all[..<count]))
        let plain = quantized(type, Array(values[..<(32 * blocks)]), nil)
        #expect(plain == Array(quantized(type, values, nil)[..<count]))
    }

    #if arch(x86_64)
        private static let blocks = TensorType.quantizable.filter { $0.blockValues > 1 }

        @Test(
            .enabled(if: cpu_has_avx2_fma_f16c() != 0, "this processor has no AVX2"), arguments: blocks, [false, true])
        func `AVX2 gives the same bits`(type: TensorType, isWeighted: Bool) {
            var generator = SeededGenerator(seed: 4)
            // Groups of positive, equal, large, single and tiny values and of zeros too.
            let factors: [(Int) -> Float] = [
                { _ in 1 }, { _ in 1e5 }, { $0 % 16 == 0 ? 1 : 0 }, { _ in 1e-6 }, { _ in 0 }, { _ in 1e36 },
            ]
            let values = normal(8192, seed: 5).enumerated().map { index, x in
                let block = index / 256
                let positive = block % 7 == 6 ? x.magnitude : block % 7 == 5 ? 0.5 : x
                return positive * factors[block % factors.count](index)
            }
            let importance = isWeighted ? values.map { _ in Float.random(in: 0...4, using: &generator) } : nil
            // An odd number of blocks.
            let count = 8192 - (type.blockValues == 32 ? 96 : 256)
            let part = Array(values[..<count])
            let found = quantized(type, part, importance, KernelsAVX2.quantize)
            #expect(found == quantized(type, part, importance))
        }
    #endif

    /// Pass the function of a tier, or nothing for the reference.
    private func quantized(
        _ type: TensorType, _ values: [Float], _ importance: [Float]?,
        _ tier: (TensorType, UnsafePointer<Float>, UnsafePointer<Float>?, UnsafeMutableRawPointer, Int) -> Void =
            KernelsPortable.quantize
    ) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xaa, count: type.bytes(forValues: values.count)!)
        bytes.withUnsafeMutableBytes { bytes in
            guard let importance else { return tier(type, values, nil, bytes.baseAddress!, values.count) }
            importance.withUnsafeBufferPointer { tier(type, values, $0.baseAddress!, bytes.baseAddress!, values.count) }
        }
        return bytes
    }

    private func roundTrip(_ type: TensorType, _ values: [Float], _ importance: [Float]? = nil) -> [Float] {
        let bytes = quantized(type, values, importance)
        var result = [Float](repeating: 0, count: values.count)
        KernelsPortable.dequantize(type, bytes, into: &result, count: values.count)
        return result
    }

    private func weightedError(_ x: [Float], _ y: [Float], _ w: [Float]? = nil) -> Double {
        var (error, power) = (0.0, 0.0)
        for index in x.indices {
            let weight = Double(w?[index] ?? 1)
            error += weight * pow(Double(x[index]) - Double(y[index]), 2)
            power += weight * pow(Double(x[index]), 2)
        }
        return error / power
    }

    /// By Box and Muller.
    private func normal(_ count: Int, seed: UInt64) -> [Float] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in
            let (u, v) = (Double.random(in: 1e-12...1, using: &generator), Double.random(in: 0...1, using: &generator))
            return Float(0.02 * (-2 * log(u)).squareRoot() * cos(2 * .pi * v))
        }
    }
}
