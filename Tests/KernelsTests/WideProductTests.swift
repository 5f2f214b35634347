#if arch(x86_64)
    import KernelFormats
    import KernelsPortable
    import TestSupport
    import Testing

    /// The integer products of AVX-512 and AVX-VNNI, against the same arithmetic in plain Swift, bit for bit, and against the file's
    /// weights turned into floats and multiplied in double precision.
    @Suite(.enabled(if: !WideTier.available.isEmpty, "this processor has no VNNI"))
    struct WideProductTests {
        private static let types = ofTiers(TensorType.allCases.filter { PackedLayout($0) != nil })

        /// Each of them for each tier that this processor has.
        private static func ofTiers<Case>(_ cases: [Case]) -> [(WideTier, Case)] {
            WideTier.available.flatMap { tier in cases.map { (tier, $0) } }
        }

        /// Columns of the matrix: two slices, and for blocks of 32 or 64 part of a third.
        private static func columns(_ type: TensorType) -> Int { type.blockValues == 256 ? 512 : 576 }

        // MARK: Rounding

        @Test(arguments: WideTier.available, [(1, false), (2, true), (5, false), (6, true)])
        func `rounds as the reference does`(tier: WideTier, place: (column: Int, pair: Bool)) {
            let (column, pair) = place
            var generator = SeededGenerator(seed: 9)
            for magnitude: Float in [1, 1e-30, 1e30, 3e38, 700 * Float.leastNonzeroMagnitude, 0] {
                var values = (0..<576).map { _ in magnitude * Float.random(in: -1...1, using: &generator) }
                // Parts of other magnitudes, one of zeros, and values on the border between two codes.
                for index in 32..<64 { values[index] *= 1e-3 }
                for index in 64..<96 { values[index] *= 1e-7 }
                for index in 96..<128 { values[index] = 0 }
                for index in 128..<160 { values[index] = magnitude * (Float(index - 144) / 32) }
                let shape = WideReference.Shape(columns: 8, pairs: pair)
                var expected = WideReference.Tile(shape, count: values.count)
                expected.round(values, column: column - 1)
                var found = expected.bytes.map { _ in UInt8(0) }
                let scale = tier.roundToken(
                    values, values.count, pair, &found, WideTile.sliceBytes * 8, 8, column - 1, values)
                #expect(scale == expected.scales[column - 1])
                #expect(found == expected.bytes)
                // Half a step per value, where a step is at most an eighth more than the largest code needs, of a pair twice.
                let token = expected.values(column: column - 1, count: values.count)
                let floor = Double(values.map { abs($0) }.max()!) * 0x1p-16
                for part in 0..<18 {
                    let range = part * 32..<part * 32 + 32
                    let largest = max(floor, Double(values[range].map { abs($0) }.max()!))
                    let step = largest * (pair ? 2 / 16_300 : 1.125 / 127.45)
                    for index in range { #expect(abs(token[index] - Double(values[index])) <= 0.501 * step + 1e-44) }
                }
            }
        }

        @Test(arguments: WideTier.available, [false, true])
        func `values that are not finite are not lost`(tier: WideTier, pair: Bool) {
            for bad in [Float.nan, -.nan, .infinity, -.infinity] {
                for place in [0, 15, 16, 63] {
                    var values = [Float](repeating: 1, count: 64)
                    values[place] = bad
                    var tile = [UInt8](repeating: 0, count: WideTile.sliceBytes * 2)
                    let scale = tier.roundToken(values, 64, pair, &tile, 0, 2, 0, values)
                    #expect(scale.isNaN)
                }
            }
        }

        // MARK: Weights

        @Test(arguments: types)
        func `a panel holds the file's weights`(tier: WideTier, type: TensorType) {
            let columns = Self.columns(type)
            let weights = WideReference.Weights(tier, type, columns: columns)
            let panel = weights.panel()
            for (row, values) in weights.rows.enumerated() {
                let largest = values.map { abs($0) }.max()!
                for column in 0..<columns {
                    // A product and a difference, rounded once each more than in the portable tier.
                    let found = panel.weight(row, column)
                    #expect(abs(found - values[column]) <= 64 * Float.ulpOfOne * largest)
                    let (part, segment) = (column / 32, panel.segments == 1 ? 0 : column % 32 / 16)
                    let scale = panel.scale(row, part, segment)
                    for multiple in 1..<8 {
                        #expect(
                            panel.scale(row, part, segment, multiple: multiple) == scale * Float(8 + multiple) / 8)
                    }
                }
            }
        }

        // MARK: Products

        private static let shapes = [(2, false), (4, false), (6, false), (2, true), (4, true), (6, true)]

        @Test(arguments: types, shapes)
        func `multiplies tiles by panels`(
            tierAndType: (WideTier, TensorType), shape: (columns: Int, pairs: Bool)
        ) {
            let (tier, type) = tierAndType
            let columns = Self.columns(type)
            let weights = WideReference.Weights(tier, type, columns: columns)
            let shape = WideReference.Shape(columns: shape.columns, pairs: shape.pairs)
            let panel = weights.panel()
            // The last place of the tile is not used.
            let places = shape.pairs ? shape.columns / 2 : shape.columns
            let tokens = max(1, places - 1)
            let tile = WideReference.Tile(shape, tokens: tokens, count: columns, seed: 5)
            for (tiles, panels, start) in [(1, 1, Float(0)), (1, 2, 1), (3, 3, 0), (2, 4, 1)] {
                var c = [Float](repeating: start == 0 ? 7 : start, count: tiles * panels * IntegerTile.resultFloats)
                weights.multiplyTiles(tile, count: tiles, panels: panels, accumulate: start != 0, &c)
                for index in c.indices {
                    let (token, row) = (index % IntegerTile.resultFloats / 16, index % 16)
                    guard token < tokens else {
                        if token >= places {
                            #expect(c[index] == (start == 0 ? 7 : start), "written beside the result")
                        }
                        continue
                    }
                    let expected = WideReference.product(tile, token, panel, row, plus: start)
                    #expect(c[index] == expected)
                    let (exact, tolerance) = weights.product(tile, token, row, panel)
                    let scale = Double(tile.scales[tile.shape.column(token)])
                    #expect(abs(Double(c[index] - start) * scale - exact) <= tolerance)
                }
            }
        }

        @Test(arguments: WideTier.available, [false, true])
        func `the largest sums keep their bits`(tier: WideTier, pairs: Bool) {
            // Codes of -128, and a scale that is a power of two.
            let weights = WideReference.Weights(tier, .Q8_0, columns: 256, filledWith: 0x80)
            let shape = WideReference.Shape(columns: pairs ? 4 : 2, pairs: pairs)
            let tile = WideReference.Tile(
                shape, tokens: [Array(repeating: 1, count: 256), Array(repeating: -1, count: 256)])
            var c = [Float](repeating: 0, count: IntegerTile.resultFloats)
            weights.multiplyTiles(tile, count: 1, panels: 1, accumulate: false, &c)
            let panel = weights.panel()
            for index in 0..<32 {
                #expect(abs(tile.code(0, 0, shape.column(index / 16))) > (pairs ? 8_000 : 112))
                #expect(c[index] == WideReference.product(tile, index / 16, panel, index % 16, plus: 0))
            }
        }

        @Test(arguments: types)
        func `a few tokens by packed weights are what they are in tiles, alone or together`(
            tier: WideTier, type: TensorType
        ) {
            let columns = Self.columns(type)
            let weights = WideReference.Weights(tier, type, columns: columns)
            let panel = weights.panel()
            for tokens in 1...8 {
                let shape = WideReference.Shape(columns: WideTile.streamedColumns(tokens), pairs: true)
                let tile = WideReference.Tile(shape, tokens: tokens, count: columns, seed: 6)
                for groups in [1, 2, 3, 4] {
                    let stride = 16 * groups + 3
                    var c = [Float](repeating: 7, count: tokens * stride)
                    weights.multiplyTokens(tile, tokens: tokens, groups: groups, &c, stride: stride)
                    for token in 0..<tokens {
                        for index in 0..<stride {
                            let found = c[token * stride + index]
                            guard index < 16 * groups else {
                                #expect(found == 7, "written beside the result")
                                continue
                            }
                            // Not a bit may differ: what a model answers must not depend on who else asks.
                            let expected = WideReference.product(tile, token, panel, index % 16, plus: 0)
                            #expect(found == expected * WideReference.Weights.tokenScale(token))
                        }
                    }
                }
            }
        }

        @Test(arguments: WideTier.available, [32, 256, 288, 576])
        func `split weights are the same weights`(tier: WideTier, columns: Int) {
            let weights = WideReference.Weights(tier, .Q8_0, columns: columns)
            #expect(weights.splitPanelsAreSame())
            for tokens in 1...WideTile.streamedTokens {
                let shape = WideReference.Shape(columns: WideTile.streamedColumns(tokens), pairs: true)
                let tile = WideReference.Tile(shape, tokens: tokens, count: columns, seed: UInt64(tokens))
                for groups in [1, 2, 3] {
                    let stride = 16 * groups + 3
                    var (whole, split) = ([Float](repeating: 7, count: tokens * stride), [Float]())
                    split = whole
                    weights.multiplyTokens(tile, tokens: tokens, groups: groups, &whole, stride: stride)
                    weights.multiplySplit(tile, tokens: tokens, groups: groups, &split, stride: stride)
                    #expect(split == whole)
                }
            }
        }

        /// The leading part of a code has its six upper bits: `code & 252`.
        @Test(arguments: WideTier.available)
        func `bounds are products with the leading part, less what is given`(tier: WideTier) {
            let columns = 288
            let weights = WideReference.Weights(tier, .Q8_0, columns: columns, filledWith: 0x37)
            let scale = Double(Float16(bitPattern: 0x3737))
            for tokens in 1...WideTile.streamedTokens {
                let shape = WideReference.Shape(columns: WideTile.streamedColumns(tokens), pairs: true)
                let tile = WideReference.Tile(shape, tokens: tokens, count: columns, seed: UInt64(tokens))
                let bounds = (0..<columns / 32 * shape.columns).map { Float($0 % 7) - 3 }
                var c = [Float](repeating: 7, count: tokens * 48)
                weights.multiplySplit(tile, tokens: tokens, groups: 3, &c, stride: 48, bounds: bounds)
                for token in 0..<tokens {
                    let column = shape.column(token)
                    // Activations as the tile has them, without its token's scale.
                    let down = Double(tile.scales[column])
                    let sum = tile.values(column: column, count: columns).reduce(0) { $0 + $1 / down }
                    let given = (0..<columns / 32).reduce(0) { $0 + Double(bounds[$1 * shape.columns + column + 1]) }
                    let expected = scale * (Double((0x37 + 128) & 252) * sum - given)
                    let found = Double(c[token * 48]) / Double(WideReference.Weights.tokenScale(token))
                    #expect(abs(found - expected) < 1e-4 * (1 + abs(expected)))
                    #expect(c[token * 48..<token * 48 + 48].allSatisfy { $0 == c[token * 48] })
                }
            }
        }

        @Test(arguments: ofTiers([TensorType.Q4_0, .Q8_0, .Q2_K, .Q4_K, .Q6_K, .MXFP4]))
        func `rows with scales of zero are zero`(tier: WideTier, type: TensorType) {
            let columns = Self.columns(type)
            let weights = WideReference.Weights(tier, type, columns: columns, filledWith: 0)
            let tile = WideReference.Tile(
                WideReference.Shape(columns: 6, pairs: true), tokens: 3, count: columns, seed: 7)
            var c = [Float](repeating: 0, count: IntegerTile.resultFloats)
            weights.multiplyTiles(tile, count: 1, panels: 1, accumulate: false, &c)
            #expect(c[0..<48].allSatisfy { $0 == 0 })
            var few = [Float](repeating: 1, count: 16)
            let one = WideReference.Tile(
                WideReference.Shape(columns: 2, pairs: true), tokens: 1, count: columns, seed: 7)
            weights.multiplyTokens(one, tokens: 1, groups: 1, &few, stride: 16)
            #expect(few.allSatisfy { $0 == 0 })
        }
    }
#endif
