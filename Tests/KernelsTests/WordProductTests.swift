#if arch(x86_64)
    import CIntrinsics
    import KernelFormats
    import KernelsAVX2
    import KernelsAVX512
    import KernelsAVXVNNI
    import KernelsPortable
    import TestSupport
    import Testing

    /// Products of 16-bit integers for weights in F16 and BF16, against the same in double precision.
    @Suite(.enabled(if: cpu_has_avx2_fma_f16c() != 0, "this processor has no AVX2"))
    struct WordProductTests {
        private static let types: [TensorType] = [.F16, .BF16]

        /// Tiles of tokens, in which unused places have other numbers, and panels of weights.
        private struct Operands {
            let tier: X86Tier
            let columns: Int
            let tileCount: Int
            /// A slice of all tiles.
            var slices: [[UInt8]]
            var scales: [Float] = []
            var panels: [[UInt8]]

            /// - Parameters:
            ///   - x: The tokens' activations.
            ///   - weights: Rows, a multiple of 16.
            ///   - place: Of the first token.
            init(_ tier: X86Tier, _ x: [[Float]], _ weights: [[Float]], _ type: TensorType, place: Int = 0) {
                self.tier = tier
                columns = x[0].count
                let count = (columns + WordTile.sliceColumns - 1) / WordTile.sliceColumns
                tileCount = (place + x.count + WordTile.tokens - 1) / WordTile.tokens
                let sliceStride = tileCount * WordTile.sliceBytes
                var memory = SeededGenerator.bytes(count * sliceStride, seed: 4)
                for (index, token) in x.enumerated() {
                    let (tile, column) = (place + index).quotientAndRemainder(dividingBy: WordTile.tokens)
                    let target = tile * WordTile.sliceBytes
                    scales.append(
                        memory.withUnsafeMutableBytes {
                            tier.roundWords(
                                token, $0.baseAddress! + target, sliceStride: sliceStride, token: column)
                        })
                }
                slices = (0..<count).map { Array(memory[$0 * sliceStride..<($0 + 1) * sliceStride]) }
                panels = []
                for first in stride(from: 0, to: columns, by: WordTile.sliceColumns) {
                    var panels = [UInt8](repeating: 0xaa, count: weights.count / 16 * WordPanel.sliceBytes)
                    let range = first..<min(columns, first + WordTile.sliceColumns)
                    for group in 0..<weights.count / 16 {
                        let rows = weights[group * 16..<group * 16 + 16].map { Self.encode($0[range], type) }
                        let file = rows.flatMap { $0 }
                        var packed = file
                        packFloats(type, file, rowBytes: 2 * range.count, columns: range.count, into: &packed)
                        panels.withUnsafeMutableBytes {
                            tier.unpackWords(
                                type, packed, columns: range.count, into: $0.baseAddress! + group * WordPanel.sliceBytes
                            )
                        }
                    }
                    self.panels.append(panels)
                }
            }

            private static func encode(_ values: ArraySlice<Float>, _ type: TensorType) -> [UInt8] {
                values.flatMap { value in
                    let bits = type == .F16 ? Float16(value).bitPattern : UInt16(value.bitPattern >> 16)
                    return [UInt8(truncatingIfNeeded: bits), UInt8(bits >> 8)]
                }
            }

            /// Results `[places][rows]`, without the tokens' scales.
            func multiply() -> [[Float]] {
                let panelCount = panels[0].count / WordPanel.sliceBytes
                var c = [Float](repeating: .nan, count: tileCount * panelCount * WordTile.tokens * 16)
                for (index, slice) in slices.enumerated() {
                    tier.multiplyWords(
                        WordProduct(
                            tiles: slice, tileCount: tileCount, panels: panels[index], panelCount: panelCount,
                            parts: min(WordTile.sliceParts, (columns + 31) / 32 - index * WordTile.sliceParts), c: &c,
                            accumulate: index > 0))
                }
                return (0..<tileCount * WordTile.tokens).map { place in
                    let (tile, token) = place.quotientAndRemainder(dividingBy: WordTile.tokens)
                    return (0..<panelCount * 16).map {
                        c[((tile * panelCount + $0 / 16) * WordTile.tokens + token) * 16 + $0 % 16]
                    }
                }
            }
        }

        private static func random(_ count: Int, _ columns: Int, _ type: TensorType?, seed: UInt64) -> [[Float]] {
            var generator = SeededGenerator(seed: seed)
            return (0..<count).map { _ in
                (0..<columns).map { column in
                    // Magnitudes that differ within a part, and between parts.
                    let value = Float.random(in: -1...1, using: &generator) * (column % 7 == 0 ? 3 : 0.4)
                    return rounded(value * (column / 32 % 3 == 1 ? 0x1p-5 : 1), type)
                }
            }
        }

        private static func rounded(_ value: Float, _ type: TensorType?) -> Float {
            switch type {
            case .F16: Float(Float16(value))
            case .BF16: Float(bitPattern: value.bitPattern & 0xffff_0000)
            default: value
            }
        }

        /// A step of 32 numbers; of activations a power of two, and at least 2^-31 of a power of two above the largest.
        private static func step(_ numbers: ArraySlice<Float>) -> Double {
            let squares = numbers.reduce(0) { $0 + Double($1) * Double($1) }
            return max(squares.squareRoot() / 46_337, numbers.reduce(0) { max($0, Double(abs($1))) } / 32_767)
        }

        /// The exact product, and how far a result may be from it.
        private static func product(_ x: [Float], _ w: [Float]) -> (exact: Double, tolerance: Double) {
            var (exact, tolerance) = (0.0, 0.0)
            let floor = x.reduce(0) { max($0, Double(abs($1))) } * 0x1p-30
            for first in stride(from: 0, to: x.count, by: 32) {
                let range = first..<min(first + 32, x.count)
                // Half a step for each number, a thousandth of it for rounding what is rounded.
                let (forX, forW) = (1.002 * max(step(x[range]), floor), 0.501 * step(w[range]))
                for column in range {
                    exact += Double(x[column]) * Double(w[column])
                    tolerance += Double(abs(x[column])) * forW + (Double(abs(w[column])) + forW) * forX
                    // The scale and the sums of floats.
                    tolerance += Double(abs(x[column] * w[column])) * Double(x.count / 32 + 3) * 0x1p-24
                }
            }
            return (exact, tolerance)
        }

        @Test(arguments: X86Tier.available, [(16, 32), (16, 2), (48, 300), (32, 768)])
        func `a product is that of the file's weights`(tier: X86Tier, _ shape: (rows: Int, columns: Int)) {
            for type in Self.types { expectProduct(tier, type, shape) }
        }

        private func expectProduct(_ tier: X86Tier, _ type: TensorType, _ shape: (rows: Int, columns: Int)) {
            let weights = Self.random(shape.rows, shape.columns, type, seed: 1)
            let x = Self.random(2 * WordTile.tokens + 1, shape.columns, nil, seed: 2)
            let operands = Operands(tier, x, weights, type)
            let found = operands.multiply()
            var (error, square) = (0.0, 0.0)
            for (token, values) in x.enumerated() {
                for (row, weights) in weights.enumerated() {
                    let (exact, tolerance) = Self.product(values, weights)
                    let result = Double(found[token][row]) * Double(operands.scales[token])
                    #expect(abs(result - exact) <= tolerance, "token \(token), row \(row)")
                    error += (result - exact) * (result - exact)
                    square += exact * exact
                }
            }
            #expect(error / square < 2e-8)
        }

        @Test(arguments: X86Tier.available) func `a token's bits do not depend on its place or on other tokens`(
            tier: X86Tier
        ) {
            let weights = Self.random(32, 324, .F16, seed: 3)
            let x = Self.random(2 * WordTile.tokens, 324, nil, seed: 4)
            let all = Operands(tier, x, weights, .F16)
            let expected = all.multiply()
            for token in x.indices {
                let place = x.count - 1 - token
                let alone = Operands(tier, [x[token]], weights, .F16, place: place)
                #expect(alone.scales[0] == all.scales[token])
                #expect(alone.multiply()[place].map(\.bitPattern) == expected[token].map(\.bitPattern))
            }
        }

        /// The largest sums that 32 bits have to hold: weights that are a multiple of the activations.
        @Test(arguments: X86Tier.available, types)
        func `sums do not overflow`(tier: X86Tier, type: TensorType) {
            var generator = SeededGenerator(seed: 5)
            let shapes: [(Int) -> Float] = [
                { _ in 1 }, { $0 % 2 == 0 ? 1 : -1 }, { $0 % 32 == 7 ? 1 : 0 }, { $0 % 16 == 3 ? 1 : 0 },
                { $0 % 32 < 3 ? -1 : 0x1p-9 }, { _ in 0 },
            ]
            let random = (0..<64).map { _ in Self.rounded(Float.random(in: -1...1, using: &generator), type) }
            for values in shapes.map({ shape in (0..<64).map(shape) }) + [random] {
                for sign: Float in [1, -1] {
                    let operands = Operands(
                        tier, [values.map { sign * $0 }], [[Float]](repeating: values, count: 16), type)
                    let (exact, tolerance) = Self.product(values.map { sign * $0 }, values)
                    for result in operands.multiply()[0] {
                        #expect(abs(Double(result * operands.scales[0]) - exact) <= tolerance)
                    }
                }
            }
        }

        /// Squares of these are infinite, or too small for a float.
        @Test(arguments: X86Tier.available, [0x1p100, 0x1p-40, 0x1p-58, 0x1p-100] as [Float])
        func `weights of any magnitude`(tier: X86Tier, magnitude: Float) {
            let weights = Self.random(16, 64, .BF16, seed: 6).map { $0.map { $0 * magnitude } }
            let x = Self.random(1, 64, nil, seed: 7)
            let operands = Operands(tier, x, weights, .BF16)
            let found = operands.multiply()[0]
            for (row, weights) in weights.enumerated() {
                let (exact, tolerance) = Self.product(x[0], weights)
                let least = 64 * Double(WordPanel.smallestScale)
                #expect(abs(Double(found[row] * operands.scales[0]) - exact) <= max(tolerance, least))
            }
        }

        @Test(arguments: X86Tier.available, [0, 1e-30, 1e30, 3e38, Float(bitPattern: 700)])
        func `activations of any magnitude`(tier: X86Tier, magnitude: Float) {
            let weights = Self.random(16, 64, .F16, seed: 8).map { $0.map { $0 * 0x1p-3 } }
            let x = Self.random(1, 64, nil, seed: 9).map { $0.map { $0 / 3 * magnitude } }
            let operands = Operands(tier, x, weights, .F16)
            let found = operands.multiply()[0]
            for (row, weights) in weights.enumerated() {
                let (exact, tolerance) = Self.product(x[0], weights)
                // Results may be less than normal floats.
                #expect(abs(Double(found[row]) * Double(operands.scales[0]) - exact) <= tolerance + 0x1p-140)
            }
        }

        @Test(arguments: X86Tier.available) func `values that are not finite are not lost`(tier: X86Tier) {
            for bad in [Float.nan, -.nan, .infinity, -.infinity] {
                for place in [0, 15, 16, 63] {
                    var values = [Float](repeating: 1, count: 64)
                    values[place] = bad
                    var tile = [UInt8](repeating: 0, count: WordTile.sliceBytes)
                    #expect(tier.roundWords(values, &tile, sliceStride: 0, token: 2).isNaN)
                }
            }
        }

        @Test func `results are scaled`() {
            let results = (0..<200).map { Float($0) }
            var c = [Float](repeating: -1, count: 40)
            KernelsAVX2.scaleResults(results, stride: 96, groups: 2, by: 0.5, into: &c)
            for index in c.indices {
                let expected = index < 16 ? Float(index) / 2 : index < 32 ? Float(80 + index) / 2 : -1
                #expect(c[index] == expected)
            }
        }
    }

    extension X86Tier {
        fileprivate func roundWords(
            _ values: [Float], _ slices: UnsafeMutableRawPointer, sliceStride: Int, token: Int
        ) -> Float {
            let round = self == .avx512 ? KernelsAVX512.roundWords : KernelsAVX2.roundWords
            return round(values, values.count, slices, sliceStride, token)
        }

        fileprivate func unpackWords(
            _ type: TensorType, _ weights: [UInt8], columns: Int, into panel: UnsafeMutableRawPointer
        ) {
            let unpack = self == .avx512 ? KernelsAVX512.unpackWords : KernelsAVX2.unpackWords
            unpack(type, weights, columns, panel)
        }

        fileprivate func multiplyWords(_ product: WordProduct) {
            switch self {
            case .avx2: KernelsAVX2.multiplyWords(product)
            case .avxVNNI: KernelsAVXVNNI.multiplyWords(product)
            case .avx512: KernelsAVX512.multiplyWords(product)
            }
        }
    }
#endif
