#if arch(x86_64)
    import CIntrinsics
    import KernelFormats
    import KernelsAVX2
    import KernelsPortable
    import TestSupport
    import Testing

    /// Packing, rounding and multiplying whole numbers, against the file's weights turned into floats and multiplied in
    /// double precision.
    @Suite(.enabled(if: cpu_has_avx2_fma_f16c() != 0, "this processor has no AVX2"))
    struct IntegerProductTests {
        private static let formats = TensorType.allCases.filter { unpacksPanels(of: $0) }

        /// A group of 16 rows, packed, and what they are as floats.
        private struct Group {
            let layout: PackedLayout
            let packed: [UInt8]
            let rows: [[Float]]

            init(_ type: TensorType, columns: Int) {
                layout = PackedLayout(type)!
                let rowBytes = type.bytes(forValues: columns)!
                let bytes = RandomWeights.bytes(type, columns * PackedLayout.rows)
                rows = (0..<PackedLayout.rows).map { row in
                    var values = [Float](repeating: 0, count: columns)
                    bytes.withUnsafeBytes {
                        KernelsPortable.dequantize(type, $0.baseAddress! + row * rowBytes, into: &values, count: columns)
                    }
                    return values
                }
                var packed = [UInt8](repeating: 0xee, count: bytes.count)
                pack(layout, bytes, rowBytes: rowBytes, columns: columns, into: &packed)
                self.packed = packed
            }
        }

        /// The panel of a group, as its layout says; blocks of up to 256 columns.
        private func panel(_ group: Group, columns: Int) -> [UInt8] {
            let parts = columns / PackedLayout.columns
            let size = parts * IntegerPanel.blockBytes(segments: panelSegments(of: group.layout.type))
            var panel = [UInt8](repeating: 0, count: size)
            unpackPanel(group.layout, group.packed, count: parts / group.layout.parts, into: &panel)
            return panel
        }

        @Test(arguments: formats)
        func `a packed block takes no more room, and holds the same weights`(type: TensorType) {
            let columns = 2 * max(type.blockValues, 32)
            let group = Group(type, columns: columns)
            #expect(group.packed.count == type.bytes(forValues: columns * PackedLayout.rows))
            let panel = panel(group, columns: columns)
            let segments = panelSegments(of: type)
            for (row, values) in group.rows.enumerated() {
                let largest = values.map { abs($0) }.max()!
                for column in 0..<columns {
                    let (part, inPart) = (column / 32, column % 32)
                    let block = part * IntegerPanel.blockBytes(segments: segments)
                    let code = panel[block + inPart / 4 * 64 + row * 4 + inPart % 4]
                    let segment = segments == 1 ? 0 : inPart / 16
                    let found = panel.withUnsafeBytes { bytes in
                        let floats = (bytes.baseAddress! + block + 512).assumingMemoryBound(to: Float.self)
                        return floats[16 * segment + row] * Float(code) - floats[16 * (segments + segment) + row]
                    }
                    // A product and a difference, rounded once each more than in the portable tier.
                    #expect(abs(found - values[column]) <= 64 * Float.ulpOfOne * largest)
                }
            }
        }

        @Test(arguments: formats, [(2, false), (4, false), (6, false), (2, true), (4, true), (6, true)])
        func `multiplies rounded activations`(type: TensorType, shape: (columns: Int, pairs: Bool)) {
            let columns = 3 * max(type.blockValues, 32)
            let (parts, tileTokens) = (columns / 32, shape.pairs ? shape.columns / 2 : shape.columns)
            let group = Group(type, columns: columns)
            let panel = panel(group, columns: columns)
            let tokens = max(1, tileTokens - 1)
            var tile = [UInt8](repeating: 0, count: parts * IntegerTile.blockBytes(columns: shape.columns))
            var generator = SeededGenerator(seed: 5)
            let activations = (0..<tokens).map { _ in
                (0..<columns).map { _ in Float.random(in: -3...3, using: &generator) }
            }
            for (token, values) in activations.enumerated() {
                roundToken(
                    values, count: columns, pair: shape.pairs, into: &tile, columns: shape.columns,
                    column: shape.pairs ? 2 * token : token)
            }
            let stride = 19
            for accumulate in [false, true] {
                var c = [Float](repeating: 1, count: tileTokens * stride)
                multiplyTile(
                    type, tile, columns: shape.columns, pairs: shape.pairs, panel, parts: parts, into: &c,
                    stride: stride, tokens: tokens, accumulate: accumulate)
                for (token, values) in activations.enumerated() {
                    for (row, weights) in group.rows.enumerated() {
                        var (exact, magnitude, roundings) = (accumulate ? 1.0 : 0.0, 1.0, 0.0)
                        for part in 0..<parts {
                            let range = 32 * part..<32 * part + 32
                            let largest = values[range].map { abs($0) }.max()!
                            // Each activation is off by at most half a step.
                            let step = Double(largest) / (shape.pairs ? 7938 : 127)
                            for column in range {
                                exact += Double(weights[column]) * Double(values[column])
                                magnitude += abs(Double(weights[column])) * Double(largest)
                                roundings += abs(Double(weights[column])) * step / 2
                            }
                        }
                        // Offsets of up to 32 steps of a code are taken away from sums as large; float sums round each part.
                        let tolerance = roundings + 64 * Double(Float.ulpOfOne) * magnitude
                        #expect(abs(Double(c[token * stride + row]) - exact) <= tolerance)
                    }
                }
                // Neither what lies between the rows nor the tokens that are not there.
                for index in c.indices where index % stride >= 16 || index / stride >= tokens { #expect(c[index] == 1) }
            }
        }

        @Test(arguments: [false, true])
        func `values that are not finite are not lost`(pair: Bool) {
            for bad in [Float.nan, .infinity, -.infinity] {
                for place in [0, 7, 8, 31] {
                    var values = [Float](repeating: 1, count: 32)
                    values[place] = bad
                    var tile = [UInt8](repeating: 0, count: IntegerTile.blockBytes(columns: 2))
                    roundToken(values, count: 32, pair: pair, into: &tile, columns: 2, column: 0)
                    let scale = tile.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 64, as: Float.self) }
                    #expect(scale.isNaN)
                }
            }
        }
    }
#endif
