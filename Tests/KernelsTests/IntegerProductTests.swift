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
        /// The kernels of a tier that this processor runs.
        struct Tier: CustomTestStringConvertible, Sendable {
            let name: String
            let formats: [TensorType]
            let needsPairs: @Sendable (PackedLayout.Format) -> Bool
            /// The most tokens of a tile for `multiplyTokens`.
            let rowTokens: Int
            let unpackPanel: @Sendable (PackedLayout, UnsafeRawPointer, Int, UnsafeMutableRawPointer, Bool) -> Void
            let multiplyTile: @Sendable (TileProduct) -> Void
            let multiplyTokens: @Sendable (PackedProduct) -> Void
            var testDescription: String { name }

            func panelBlockBytes(_ layout: PackedLayout, pairs: Bool) -> Int {
                pairs
                    ? PairPanel.blockBytes(segments: layout.segments)
                    : IntegerPanel.blockBytes(segments: layout.segments)
            }

            static let all: [Tier] = {
                let packed = TensorType.allCases.filter { PackedLayout($0) != nil }
                let avx2 = Tier(
                    name: "AVX2", formats: packed, needsPairs: { KernelsAVX2.needsPairs($0) },
                    rowTokens: KernelsAVX2.rowTokens,
                    unpackPanel: { KernelsAVX2.unpackPanel($0, $1, count: $2, into: $3, words: $4) },
                    multiplyTile: { KernelsAVX2.multiplyTile($0) },
                    multiplyTokens: { KernelsAVX2.multiplyTokens($0) })
                return [avx2]
            }()
        }

        /// A format on a tier.
        struct Case: CustomTestStringConvertible, Sendable {
            let tier: Tier
            let type: TensorType
            var testDescription: String { "\(type) \(tier.name)" }
            static let all = Tier.all.flatMap { tier in tier.formats.map { Case(tier: tier, type: $0) } }
        }

        /// A group of 16 rows, packed, and what they are as floats.
        private struct Group {
            let layout: PackedLayout
            let packed: [UInt8]
            let rows: [[Float]]
            /// As in a file.
            let bytes: [UInt8]

            init(_ type: TensorType, columns: Int) {
                layout = PackedLayout(type)!
                let rowBytes = type.bytes(forValues: columns)!
                let bytes = RandomWeights.bytes(type, columns * PackedLayout.rows)
                self.bytes = bytes
                rows = (0..<PackedLayout.rows).map { row in
                    var values = [Float](repeating: 0, count: columns)
                    bytes.withUnsafeBytes {
                        KernelsPortable.dequantize(
                            type, $0.baseAddress! + row * rowBytes, into: &values, count: columns)
                    }
                    return values
                }
                var packed = [UInt8](repeating: 0xee, count: columns / type.blockValues * layout.blockBytes)
                pack(layout, bytes, rowBytes: rowBytes, columns: columns, into: &packed)
                self.packed = packed
            }
        }

        /// The panel of a group, as its layout says.
        private func panel(_ group: Group, _ tier: Tier, pairs: Bool, columns: Int) -> [UInt8] {
            let parts = columns / PackedLayout.columns
            var panel = [UInt8](repeating: 0, count: parts * tier.panelBlockBytes(group.layout, pairs: pairs))
            tier.unpackPanel(group.layout, group.packed, parts / group.layout.parts, &panel, pairs)
            return panel
        }

        @Test(arguments: Case.all)
        func `a packed block holds the same weights, in as much room or in little more`(test: Case) {
            let type = test.type
            let columns = 2 * max(type.blockValues, 32)
            let group = Group(type, columns: columns)
            // Bytes of 256 weights where points of a grid and digits of base 3 have become codes.
            let unpacked: Int? =
                switch type {
                case .TQ1_0: 66
                case .IQ1_S: 70
                case .IQ1_M, .IQ2_XXS, .IQ2_XS, .IQ2_S: 106
                case .IQ3_XXS, .IQ3_S: 134
                default: nil
                }
            let bytes = unpacked.map { columns * PackedLayout.rows / 256 * $0 }
            #expect(group.packed.count == bytes ?? type.bytes(forValues: columns * PackedLayout.rows))
            for pairs in [false, true] where pairs || !test.tier.needsPairs(group.layout.format) {
                checkPanel(
                    panel(group, test.tier, pairs: pairs, columns: columns), of: group, test.tier, pairs, columns)
            }
        }

        private func checkPanel(_ panel: [UInt8], of group: Group, _ tier: Tier, _ pairs: Bool, _ columns: Int) {
            let segments = group.layout.segments
            let blockBytes = tier.panelBlockBytes(group.layout, pairs: pairs)
            let format = group.layout.format
            let center = pairs ? 0 : Int(format.byteCodes?.center ?? 0)
            let hasOffsets = pairs || format.byteCodes?.hasOffsets ?? true
            for (row, values) in group.rows.enumerated() {
                let largest = values.map { abs($0) }.max()!
                for column in 0..<columns {
                    let (block, inPart) = (column / 32 * blockBytes, column % 32)
                    let place =
                        pairs
                        ? inPart / 4 * 128 + inPart % 2 * 64 + row * 4 + inPart % 4 / 2 * 2
                        : inPart / 4 * 64 + row * 4 + inPart % 4
                    let code =
                        pairs
                        ? Int(panel[block + place]) + Int(panel[block + place + 1]) << 8 : Int(panel[block + place])
                    let segment = segments == 1 ? 0 : inPart / 16
                    let found = panel.withUnsafeBytes { bytes in
                        let floats = (bytes.baseAddress! + block + (pairs ? 1024 : 512))
                            .assumingMemoryBound(to: Float.self)
                        let offset = hasOffsets ? floats[16 * (segments + segment) + row] : 0
                        return floats[16 * segment + row] * Float(code - center) - offset
                    }
                    // A product and a difference, rounded once each more than in the portable tier.
                    #expect(abs(found - values[column]) <= 64 * Float.ulpOfOne * largest)
                }
            }
        }

        /// Random activations, and the tile that they make.
        private struct Tile {
            let columns: Int
            let pairs: Bool
            let activations: [[Float]]
            let bytes: [UInt8]
            /// By token, what results are multiplied by.
            let scales: [Float]

            /// A tile of tokens of 8 bits.
            init(columns: Int, activations: [[Float]], bytes: [UInt8], scales: [Float]) {
                (self.columns, pairs, self.activations) = (columns, false, activations)
                (self.bytes, self.scales) = (bytes, scales)
            }

            init(_ tier: Tier, columns: Int, pairs: Bool, tokens: Int, count: Int) {
                var generator = SeededGenerator(seed: 5)
                // Parts of 32 with large, small and no values side by side.
                let magnitudes: [Float] = [3, 0.01, 70, 0, 1e-4]
                let activations = (0..<tokens).map { token in
                    (0..<count).map { column in
                        let magnitude = magnitudes[(column / 32 + token) % magnitudes.count]
                        return Float.random(in: -1...1, using: &generator) * magnitude
                    }
                }
                self.init(columns: columns, pairs: pairs, activations)
            }

            init(columns: Int, pairs: Bool, _ activations: [[Float]]) {
                (self.columns, self.pairs, self.activations) = (columns, pairs, activations)
                let count = activations[0].count
                let ofOne = pairs && columns == 2 ? IntegerTile.bytesOfOneToken : 0
                var bytes = [UInt8](
                    repeating: 0, count: count / 32 * (IntegerTile.blockBytes(columns: columns) + ofOne))
                scales = activations.enumerated().map { token, values in
                    roundToken(
                        values, count: count, pair: pairs, into: &bytes, columns: columns,
                        column: pairs ? 2 * token : token)
                }
                self.bytes = bytes
            }

            /// The product in double precision, and how far rounding may take one in floats from it.
            func product(_ token: Int, _ weights: [Float], plus start: Double) -> (exact: Double, tolerance: Double) {
                var (exact, magnitude, roundings) = (start, abs(start), 0.0)
                let values = activations[token]
                // A part's step is a multiple of this, rounded up, where a token has 8 bits.
                let unit = pairs ? 0 : Double(values.map { abs($0) }.max()!) / 127 / 16_384
                for first in stride(from: 0, to: values.count, by: 32) {
                    let range = first..<first + 32
                    let largest = Double(values[range].map { abs($0) }.max()!)
                    // Each activation is off by at most half a step.
                    let step = largest / Double(pairs ? 63 * 126 : 127) + unit
                    for column in range {
                        let weight = Double(weights[column])
                        exact += weight * Double(values[column])
                        magnitude += abs(weight) * largest
                        roundings += abs(weight) * step / 2
                    }
                }
                // Offsets of up to 128 steps of a code are taken away from sums as large; each part's sum is rounded.
                return (exact, roundings + 128 * Double(Float.ulpOfOne) * magnitude)
            }
        }

        @Test(arguments: Case.all, [(2, false), (4, false), (6, false), (2, true), (4, true), (6, true)])
        func `multiplies rounded activations`(test: Case, shape: (columns: Int, pairs: Bool)) {
            guard shape.pairs || !test.tier.needsPairs(PackedLayout(test.type)!.format) else { return }
            let count = 3 * max(test.type.blockValues, 32)
            // Tiles of words are for twice as many tokens.
            let columns = shape.pairs ? 2 * shape.columns : shape.columns
            let tileTokens = shape.pairs ? columns / 2 : columns
            let group = Group(test.type, columns: count)
            let panel = panel(group, test.tier, pairs: shape.pairs, columns: count)
            let tile = Tile(
                test.tier, columns: columns, pairs: shape.pairs, tokens: max(1, tileTokens - 1), count: count)
            for (panels, accumulate) in [(1, false), (2, true), (3, false)] {
                let results = panels * IntegerTile.resultFloats
                var c = [Float](repeating: 1, count: results)
                multiply(
                    test, group, tile, [[UInt8]](repeating: panel, count: panels).flatMap { $0 }, panels,
                    count, &c, accumulate: accumulate)
                for index in 0..<results {
                    let (token, row) = (index % IntegerTile.resultFloats / 16, index % 16)
                    if token < tile.activations.count {
                        let scale = Double(tile.scales[token])
                        let (exact, tolerance) = tile.product(token, group.rows[row], plus: accumulate ? scale : 0)
                        #expect(abs(scale * Double(c[index]) - exact) <= tolerance)
                    } else if token >= tileTokens {
                        #expect(c[index] == 1)
                    }
                }
            }
        }

        @Test(arguments: Case.all)
        func `sums of the largest codes fit 16 bits`(test: Case) throws {
            let type = test.type
            let count = max(type.blockValues, 32)
            let group = Group(type, columns: count)
            guard let center = group.layout.format.byteCodes?.center else { return }
            var panel = panel(group, test.tier, pairs: false, columns: count)
            let blockBytes = test.tier.panelBlockBytes(group.layout, pairs: false)
            let codes = panel.indices.filter { $0 % blockBytes < 512 }
            // What random weights have.
            let found = codes.map { panel[$0] }
            for code in [try #require(found.min()), try #require(found.max())] {
                // All scales are 1, and all offsets 0.
                for part in 0..<count / 32 {
                    panel.withUnsafeMutableBytes { bytes in
                        let block = bytes.baseAddress! + part * blockBytes
                        block.initializeMemory(as: UInt8.self, repeating: code, count: 512)
                        let floats = (block + 512).assumingMemoryBound(to: Float.self)
                        floats.update(repeating: 1, count: 16 * group.layout.segments)
                        (floats + 16 * group.layout.segments).update(repeating: 0, count: 16 * group.layout.segments)
                    }
                }
                for sign in [Float(1), -1] {
                    var bytes = [UInt8](repeating: 0, count: count / 32 * IntegerTile.blockBytes(columns: 2))
                    let values = [Float](repeating: sign, count: count)
                    let scale = roundToken(values, count: count, pair: false, into: &bytes, columns: 2, column: 0)
                    let tile = Tile(columns: 2, activations: [values], bytes: bytes, scales: [scale])
                    var c = [Float](repeating: 0, count: IntegerTile.resultFloats)
                    multiply(test, group, tile, panel, 1, count, &c, accumulate: false)
                    let exact = sign * Float(count * (Int(code) - Int(center)))
                    #expect(c[..<16].allSatisfy { abs(scale * $0 - exact) <= 1e-6 * abs(exact) })
                }
            }
        }

        /// - Parameter count: Columns of the matrix.
        private func multiply(
            _ test: Case, _ group: Group, _ tile: Tile, _ panels: [UInt8], _ panelCount: Int, _ count: Int,
            _ c: inout [Float], accumulate: Bool
        ) {
            let panelBytes = panels.count / panelCount
            tile.bytes.withUnsafeBytes { bytes in
                panels.withUnsafeBytes { panels in
                    c.withUnsafeMutableBufferPointer { c in
                        // In slices, as the engine does.
                        for first in stride(from: 0, to: count / 32, by: 8) {
                            test.tier.multiplyTile(
                                TileProduct(
                                    layout: group.layout,
                                    tile: bytes.baseAddress! + first * IntegerTile.blockBytes(columns: tile.columns),
                                    tileStride: tile.bytes.count, columns: tile.columns, pairs: tile.pairs,
                                    panels: panels.baseAddress! + first * panelBytes / (count / 32),
                                    panelBytes: panelBytes, panelCount: panelCount, parts: min(8, count / 32 - first),
                                    c: c.baseAddress!, tokens: tile.activations.count,
                                    accumulate: accumulate || first > 0))
                        }
                    }
                }
            }
        }

        /// The products of the first tokens of `Tile`, straight from packed weights: 16 results each.
        private func products(_ test: Case, _ group: Group, tokens: Int, count: Int) -> [Float] {
            let tile = Tile(test.tier, columns: 2 * tokens, pairs: true, tokens: tokens, count: count)
            var results = [Float](repeating: 1, count: 20 * tokens)
            multiplyTokens(test.tier, group.layout, tile, tokens, group.packed, count: count, &results)
            for token in 0..<tokens { #expect(results[20 * token + 16..<20 * token + 20].allSatisfy { $0 == 1 }) }
            return (0..<tokens).flatMap { results[20 * $0..<20 * $0 + 16] }
        }

        /// - Parameter c: Receives the results of tokens, 20 floats apart.
        private func multiplyTokens(
            _ tier: Tier, _ layout: PackedLayout, _ tile: Tile, _ tokens: Int, _ weights: [UInt8],
            trailing: [UInt8]? = nil, bounds: [Float]? = nil, count: Int, _ c: inout [Float]
        ) {
            tile.bytes.withUnsafeBytes { tile in
                weights.withUnsafeBytes { weights in
                    (trailing ?? []).withUnsafeBytes { rest in
                        (bounds ?? []).withUnsafeBufferPointer { limits in
                            c.withUnsafeMutableBufferPointer { c in
                                tier.multiplyTokens(
                                    PackedProduct(
                                        layout: layout, tile: tile.baseAddress!, tokens: tokens, scales: nil,
                                        weights: weights.baseAddress!, groups: 1,
                                        blocks: count / layout.type.blockValues, c: c.baseAddress!, cStride: 20,
                                        trailing: trailing == nil ? nil : rest.baseAddress,
                                        bounds: bounds == nil ? nil : limits.baseAddress))
                            }
                        }
                    }
                }
            }
        }

        /// The product of a row of Q8_0, without the two lowest bits of each code plus 128.
        private func leadingProduct(_ file: [UInt8], _ row: Int, _ x: [Float]) -> (exact: Double, tolerance: Double) {
            var (exact, tolerance) = (0.0, 0.0)
            for block in 0..<x.count / 32 {
                let first = (row * x.count / 32 + block) * 34
                let scale = Double(Float16(bitPattern: UInt16(file[first]) | UInt16(file[first + 1]) << 8))
                let values = x[32 * block..<32 * block + 32].map { Double($0) }
                let largest = values.map { abs($0) }.max()!
                for (index, value) in values.enumerated() {
                    let weight = scale * Double((Int(Int8(bitPattern: file[first + 2 + index])) + 128) & ~3)
                    exact += weight * value
                    // Half a step of 14 bits, and the rounding of sums.
                    tolerance += abs(weight) * largest * (0.5 / 8000 + 0x1p-20)
                }
            }
            return (exact, tolerance)
        }

        @Test(arguments: Tier.all, [32, 96, 288])
        func `split weights are the same weights`(tier: Tier, count: Int) {
            let group = Group(.Q8_0, columns: count)
            let layout = PackedLayout.leadingQ8_0
            var leading = [UInt8](repeating: 0xee, count: count / 32 * layout.blockBytes)
            var trailing = [UInt8](repeating: 0xee, count: count / 32 * PackedLayout.trailingBytes)
            packSplit(group.bytes, rowBytes: count / 32 * 34, columns: count, into: &leading, trailing: &trailing)
            for tokens in 1...tier.rowTokens {
                let tile = Tile(tier, columns: 2 * tokens, pairs: true, tokens: tokens, count: count)
                var (whole, split) = ([Float](repeating: 7, count: 20 * tokens), [Float]())
                split = whole
                multiplyTokens(tier, group.layout, tile, tokens, group.packed, count: count, &whole)
                multiplyTokens(tier, layout, tile, tokens, leading, trailing: trailing, count: count, &split)
                #expect(split == whole)
                // With zero as the bounds, what the leading part alone gives.
                var leadingOnly = [Float](repeating: 7, count: 20 * tokens)
                let zero = [Float](repeating: 0, count: count / 32 * 2 * tokens)
                multiplyTokens(tier, layout, tile, tokens, leading, bounds: zero, count: count, &leadingOnly)
                for token in 0..<tokens {
                    for row in 0..<16 {
                        let (exact, tolerance) = leadingProduct(group.bytes, row, tile.activations[token])
                        #expect(abs(Double(leadingOnly[20 * token + row]) - exact) <= tolerance)
                    }
                }
            }
            let wholePanel = panel(group, tier, pairs: true, columns: count)
            var splitPanel = [UInt8](repeating: 0, count: wholePanel.count)
            leading.withUnsafeBytes { leading in
                trailing.withUnsafeBytes {
                    KernelsAVX2.unpackPanel(
                        layout, leading.baseAddress!, trailing: $0.baseAddress!, count: count / 32, into: &splitPanel,
                        words: true)
                }
            }
            #expect(splitPanel == wholePanel)
        }

        @Test(arguments: Case.all)
        func `multiplies a token as it is multiplied among others`(test: Case) {
            let count = 3 * max(test.type.blockValues, 32)
            let group = Group(test.type, columns: count)
            let tokens = 6
            let tile = Tile(test.tier, columns: 2 * tokens, pairs: true, tokens: tokens, count: count)
            var among = [Float](repeating: 0, count: IntegerTile.resultFloats)
            multiply(
                test, group, tile, panel(group, test.tier, pairs: true, columns: count), 1, count, &among,
                accumulate: false)
            // Not a bit may differ: what a model answers must not depend on who else asks.
            for few in 1...test.tier.rowTokens {
                #expect(products(test, group, tokens: few, count: count) == Array(among[0..<16 * few]))
            }
        }

        /// Bytes for one token, words for two.
        @Test(arguments: Case.all)
        func `sums of one token with the largest codes are those of tokens in words`(test: Case) {
            let count = max(test.type.blockValues, 32)
            let group = Group(test.type, columns: count)
            let layout = group.layout
            // The lower bits of codes are in planes of their own. The largest code of a table has not only ones.
            let lowerBytes = layout.planeBytes < 256 ? 128 : 256
            let patterns: [UInt8] = [0x00, 0x55, 0x77, 0x88, 0xaa, 0xff]
            for (lower, upper) in patterns.flatMap({ lower in [UInt8(0x00), 0xff].map { (lower, $0) } }) {
                var packed = group.packed
                for index in packed.indices {
                    let offset = index % layout.blockBytes - layout.scaleBytes
                    guard offset >= 0 else { continue }
                    packed[index] = offset % layout.planeBytes < lowerBytes ? lower : upper
                }
                for sign in [Float(1), -1] {
                    let values = [Float](repeating: sign, count: count)
                    let results = [1, 2].map { tokens in
                        let tile = Tile(columns: 2 * tokens, pairs: true, [[Float]](repeating: values, count: tokens))
                        var results = [Float](repeating: 1, count: 20 * tokens)
                        multiplyTokens(test.tier, layout, tile, tokens, packed, count: count, &results)
                        return Array(results[..<16])
                    }
                    #expect(results[0] == results[1])
                }
            }
        }

        @Test(arguments: [false, true])
        func `values that are not finite are not lost`(pair: Bool) {
            for bad in [Float.nan, .infinity, -.infinity] {
                for place in [0, 7, 8, 31] {
                    var values = [Float](repeating: 1, count: 32)
                    values[place] = bad
                    var tile = [UInt8](
                        repeating: 0, count: IntegerTile.blockBytes(columns: 2) + IntegerTile.bytesOfOneToken)
                    let scale = roundToken(values, count: 32, pair: pair, into: &tile, columns: 2, column: 0)
                    // In the tile for 14 bits.
                    let ofPart = tile.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 64, as: Float.self) }
                    #expect(pair ? scale == 1 && ofPart.isNaN : scale.isNaN)
                }
            }
        }
    }
#endif
