import KernelFormats
import KernelsPortable
import TestSupport
import Testing

#if arch(x86_64)
    import CIntrinsics
    import KernelsAVX2
    import KernelsAVX512
#endif

/// Products with F32, F16 and BF16 in groups of 16 rows.
@Suite struct PackedFloatTests {
    private static let types: [TensorType] = [.F32, .F16, .BF16]

    private static func random(_ count: Int, seed: UInt64) -> [Float] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in Float.random(in: -1...1, using: &generator) }
    }

    /// Rows in the file's format, one byte beyond any alignment, and the same packed.
    private struct Weights {
        let (type, rows, columns): (TensorType, Int, Int)
        var floats: [Float]
        var packed: [UInt8]

        init(_ type: TensorType, rows: Int, columns: Int) {
            (self.type, self.rows, self.columns) = (type, rows, columns)
            let file = [0] + RandomWeights.bytes(type, rows * columns)
            var (floats, packed) = (
                [Float](repeating: .nan, count: rows * columns), [UInt8](repeating: 0, count: file.count)
            )
            file.withUnsafeBytes { file in
                KernelsPortable.dequantize(type, file.baseAddress! + 1, into: &floats, count: floats.count)
                packed.withUnsafeMutableBytes { packed in
                    let group = PackedFloats.rows * columns * type.blockBytes
                    for index in 0..<rows / PackedFloats.rows {
                        packFloats(
                            type, file.baseAddress! + 1 + index * group, rowBytes: columns * type.blockBytes,
                            columns: columns, into: packed.baseAddress! + index * group)
                    }
                }
            }
            (self.floats, self.packed) = (floats, packed)
        }

        /// Results `[tokens][rows + 3]`, whose last three of a row must stay.
        func multiply(
            _ x: [Float], tokens: Int, slices: [Range<Int>], _ kernel: (PackedFloatProduct) -> Void
        ) -> [Float] {
            var c = [Float](repeating: 0.5, count: tokens * (rows + 3))
            for slice in slices {
                var tile = [Float](repeating: .nan, count: slice.count * tokens)
                x.withUnsafeBufferPointer {
                    transpose(
                        $0.baseAddress! + slice.lowerBound, stride: columns, rows: tokens, columns: slice.count,
                        into: &tile, targetStride: tokens)
                }
                packed.withUnsafeBytes { packed in
                    tile.withUnsafeBufferPointer { tile in
                        c.withUnsafeMutableBufferPointer { c in
                            kernel(
                                PackedFloatProduct(
                                    tile: tile.baseAddress!, tokens: tokens, type: type,
                                    weights: packed.baseAddress! + slice.lowerBound * PackedFloats.rows
                                        * type.blockBytes,
                                    groupBytes: PackedFloats.rows * columns * type.blockBytes,
                                    groups: rows / PackedFloats.rows, columns: slice.count, c: c.baseAddress!,
                                    cStride: rows + 3, accumulate: slice.lowerBound > 0))
                        }
                    }
                }
            }
            return c
        }
    }

    @Test(arguments: types, [(16, 1), (48, 37), (32, 264)])
    func `a packed product is the product of the file's weights`(type: TensorType, _ shape: (rows: Int, columns: Int)) {
        let weights = Weights(type, rows: shape.rows, columns: shape.columns)
        let x = Self.random(3 * shape.columns, seed: 5)
        let found = weights.multiply(x, tokens: 3, slices: [0..<shape.columns]) {
            KernelsPortable.multiplyPackedFloats($0)
        }
        for token in 0..<3 {
            for row in 0..<shape.rows + 3 {
                let result = Double(found[token * (shape.rows + 3) + row])
                guard row < shape.rows else {
                    #expect(result == 0.5)
                    continue
                }
                let terms = (0..<shape.columns).map {
                    Double(x[token * shape.columns + $0]) * Double(weights.floats[row * shape.columns + $0])
                }
                // Each of the sums rounds by at most half an ulp of the sum of magnitudes.
                let tolerance =
                    Double(Float.ulpOfOne) / 2 * Double(shape.columns) * terms.reduce(0) { $0 + abs($1) }
                #expect(abs(result - terms.reduce(0, +)) <= tolerance)
            }
        }
    }

    #if arch(x86_64)
        @Test(.enabled(if: cpu_has_avx2_fma_f16c() != 0, "this processor has no AVX2"), arguments: types, shapes)
        func `AVX2's packed product has the same bits for any number of tokens`(
            type: TensorType, _ shape: (rows: Int, columns: Int)
        ) {
            expectSameBits(type, shape, KernelsAVX2.multiplyPackedFloats)
        }

        @Test(
            .enabled(if: KernelsAVX512.isSupported(), "this processor has no AVX-512 with VNNI"), arguments: types,
            shapes)
        func `AVX-512's packed product has the same bits for any number of tokens`(
            type: TensorType, _ shape: (rows: Int, columns: Int)
        ) {
            expectSameBits(type, shape, KernelsAVX512.multiplyPackedFloats)
        }

        private static let shapes = [(16, 1), (48, 37), (64, 264)]

        private func expectSameBits(
            _ type: TensorType, _ shape: (rows: Int, columns: Int), _ kernel: (PackedFloatProduct) -> Void
        ) {
            let weights = Weights(type, rows: shape.rows, columns: shape.columns)
            let x = Self.random(FloatTile.tokens * shape.columns, seed: 6)
            for tokens in 1...FloatTile.tokens {
                let expected = weights.multiply(x, tokens: tokens, slices: [0..<shape.columns]) {
                    KernelsPortable.multiplyPackedFloats($0)
                }
                let border = shape.columns / 3
                for slices in [[0..<shape.columns], [0..<border, border..<shape.columns].filter { !$0.isEmpty }] {
                    let found = weights.multiply(x, tokens: tokens, slices: slices, kernel)
                    #expect(found.map(\.bitPattern) == expected.map(\.bitPattern), "\(tokens) tokens")
                }
            }
        }

        /// Models whose weights are not repacked mix AVX2's kernel for one token with AVX-512's for several.
        @Test(.enabled(if: KernelsAVX512.isSupported(), "this processor has no AVX-512 with VNNI"))
        func `AVX-512's product of unpacked floats has the bits of AVX2's`() {
            let (tokens, rows, count) = (9, 15, 264)
            let (a, w) = (Self.random(tokens * count, seed: 7), Self.random(rows * count, seed: 8))
            let results = [KernelsAVX2.multiplyFloats, KernelsAVX512.multiplyFloats].map { kernel in
                var c = [Float](repeating: .nan, count: tokens * rows)
                a.withUnsafeBufferPointer { a in
                    w.withUnsafeBufferPointer { w in
                        c.withUnsafeMutableBufferPointer { c in
                            kernel(
                                FloatProduct(
                                    a: a.baseAddress!, aStride: count, tokens: tokens, w: w.baseAddress!,
                                    wStride: count, rows: rows, count: count, c: c.baseAddress!, cStride: rows,
                                    accumulate: false))
                        }
                    }
                }
                return c.map(\.bitPattern)
            }
            #expect(results[0] == results[1])
        }
    #endif

    @Test func `a transposition of any size`() {
        for (rows, columns) in [(1, 1), (4, 4), (5, 9), (12, 3), (3, 16)] {
            let x = Self.random(rows * (columns + 2), seed: 9)
            var found = [Float](repeating: -7, count: columns * (rows + 1))
            transpose(x, stride: columns + 2, rows: rows, columns: columns, into: &found, targetStride: rows + 1)
            for column in 0..<columns {
                for row in 0..<rows { #expect(found[column * (rows + 1) + row] == x[row * (columns + 2) + column]) }
                #expect(found[column * (rows + 1) + rows] == -7)
            }
        }
    }
}
