#if arch(x86_64)
    import KernelFormats
    import KernelsAVX512
    import KernelsAVXVNNI
    import KernelsPortable
    import TestSupport

    /// The tiers that multiply `WideTile`s.
    enum WideTier: CaseIterable {
        case avxVNNI, avx512

        static let available =
            (KernelsAVXVNNI.isSupported() ? [avxVNNI] : []) + (KernelsAVX512.isSupported() ? [avx512] : [])

        var roundToken:
            (
                UnsafePointer<Float>, _ count: Int, _ pair: Bool, UnsafeMutableRawPointer, _ sliceStride: Int,
                _ columns: Int, _ column: Int, _ next: UnsafePointer<Float>
            ) -> Float
        {
            switch self {
            case .avxVNNI: KernelsAVXVNNI.roundToken
            case .avx512: KernelsAVX512.roundToken
            }
        }

        var unpackPanel:
            (PackedLayout, UnsafeRawPointer, _ trailing: UnsafeRawPointer?, Int, UnsafeMutableRawPointer) -> Void
        {
            switch self {
            case .avxVNNI: KernelsAVXVNNI.unpackPanel
            case .avx512: KernelsAVX512.unpackPanel
            }
        }

        var multiplyTiles: (WideProduct) -> Void {
            switch self {
            case .avxVNNI: KernelsAVXVNNI.multiplyTiles
            case .avx512: KernelsAVX512.multiplyTiles
            }
        }

        var multiplyTokens: (PackedProduct) -> Void {
            switch self {
            case .avxVNNI: KernelsAVXVNNI.multiplyTokens
            case .avx512: KernelsAVX512.multiplyTokens
            }
        }
    }

    /// The arithmetic of their products in plain Swift.
    enum WideReference {
        struct Shape {
            let columns: Int
            let pairs: Bool
            func column(_ token: Int) -> Int { pairs ? 2 * token : token }
        }

        // MARK: Activations

        /// Slices of a tile, contiguous.
        struct Tile {
            let shape: Shape
            private(set) var bytes: [UInt8]
            /// By column.
            private(set) var scales: [Float]
            /// By token.
            private(set) var activations: [[Float]] = []

            init(_ shape: Shape, count: Int) {
                self.shape = shape
                bytes = Array(repeating: 0, count: (count + 255) / 256 * WideTile.sliceBytes * shape.columns)
                scales = Array(repeating: 0, count: shape.columns)
            }

            init(_ shape: Shape, tokens: [[Float]]) {
                self.init(shape, count: tokens[0].count)
                activations = tokens
                for (token, values) in tokens.enumerated() { round(values, column: shape.column(token)) }
            }

            /// Random tokens of different magnitudes.
            init(_ shape: Shape, tokens: Int, count: Int, seed: UInt64) {
                self.init(shape, count: count)
                var generator = SeededGenerator(seed: seed)
                for token in 0..<tokens {
                    let values = (0..<count).map { _ in Float.random(in: -3...3, using: &generator) * Float(token + 1) }
                    activations.append(values)
                    round(values, column: shape.column(token))
                }
            }

            /// The place of a number in its slice's field.
            private func place(_ field: Int, _ part: Int, _ column: Int, row: Int = 0) -> Int {
                let slice = part / 8 * WideTile.sliceBytes * shape.columns
                return slice + field * shape.columns + 4 * ((row * 8 + part % 8) * shape.columns + column)
            }

            private mutating func store(_ value: Int32, at place: Int) {
                withUnsafeBytes(of: value) { bytes.replaceSubrange(place..<place + 4, with: $0) }
            }

            func int(_ field: Int, _ part: Int, _ column: Int, row: Int = 0) -> Int32 {
                bytes.withUnsafeBytes {
                    $0.loadUnaligned(fromByteOffset: place(field, part, column, row: row), as: Int32.self)
                }
            }

            func factor(_ part: Int, _ column: Int) -> Float {
                Float(bitPattern: UInt32(bitPattern: int(WideTile.factors, part, column)))
            }

            /// A code of a column.
            private func codePlace(_ part: Int, _ index: Int, _ column: Int) -> Int {
                part / 8 * WideTile.sliceBytes * shape.columns
                    + (part % 8) * 32 * shape.columns + (index / 4 * shape.columns + column) * 4 + index % 4
            }

            /// A token's code, of the pair if it has two columns.
            func code(_ part: Int, _ index: Int, _ column: Int) -> Int {
                let first = Int(Int8(bitPattern: bytes[codePlace(part, index, column)]))
                guard shape.pairs else { return first }
                return 128 * first + Int(Int8(bitPattern: bytes[codePlace(part, index, column + 1)]))
            }

            func values(column: Int, count: Int) -> [Double] {
                (0..<count).map {
                    Double(code($0 / 32, $0 % 32, column)) * Double(factor($0 / 32, column)) * Double(scales[column])
                }
            }

            mutating func round(_ values: [Float], column: Int) {
                let largest = values.map { abs($0) }.max()!
                // A power of two not below half of the largest value, where there are such.
                let exponent = min(max(Int32(bitPattern: largest.bitPattern >> 23), 1), 253)
                scales[column] = Float(bitPattern: UInt32(exponent) << 23)
                let down = Float(bitPattern: UInt32(254 - exponent) << 23)
                let columns = shape.pairs ? [column, column + 1] : [column]
                var sums: [Float] = []
                for part in 0..<values.count / 32 {
                    let block = values[32 * part..<32 * part + 32].map { $0 * down }
                    let magnitude = max(0x1p-16, block.map { abs($0) }.max()!)
                    let needed = magnitude / (shape.pairs ? WideTile.largestOfPair : WideTile.largestCode)
                    let (multiple, exponent) = Self.roundedUp(needed, powers: shape.pairs)
                    let factor = Float(8 + multiple) * Self.power(exponent - 3)
                    let inverse = 1 / factor
                    let codes = block.map { Int32(($0 * inverse).rounded(.toNearestOrEven)) }
                    for (index, code) in codes.enumerated() {
                        if shape.pairs {
                            let first = (code + 64) >> 7
                            bytes[codePlace(part, index, column)] = UInt8(truncatingIfNeeded: first)
                            bytes[codePlace(part, index, column + 1)] = UInt8(truncatingIfNeeded: code - 128 * first)
                        } else {
                            bytes[codePlace(part, index, column)] = UInt8(truncatingIfNeeded: code)
                        }
                    }
                    for column in columns {
                        let shift: Int32 = shape.pairs && column == columns[0] ? 30 : 23
                        store(
                            Int32(bitPattern: (1.5 * Self.power(exponent + shift)).bitPattern),
                            at: place(WideTile.bases, part, column))
                        store(64 * multiple, at: place(WideTile.multiples, part, column))
                        store(Int32(bitPattern: factor.bitPattern), at: place(WideTile.factors, part, column))
                    }
                    let halves = (codes[..<16].reduce(0, +), codes[16...].reduce(0, +))
                    for (row, sum) in [halves.0, halves.1].enumerated() {
                        let first = shape.pairs ? (sum + 64) >> 7 : 0
                        if shape.pairs { store(first, at: place(WideTile.sums, part, column, row: row)) }
                        store(sum - 128 * first, at: place(WideTile.sums, part, columns.last!, row: row))
                    }
                    sums.append(Float(halves.0 + halves.1) * factor)
                    if sums.count == 8 {
                        for column in columns { storeSums(sums, slice: part / 8, column) }
                        sums = []
                    }
                }
            }

            private mutating func storeSums(_ sums: [Float], slice: Int, _ column: Int) {
                let largest = sums.map { abs($0) }.max()!
                let exponent = largest == 0 ? -100 : max(-100, Int32(largest.exponent) - 13)
                for (part, sum) in sums.enumerated() {
                    let code = Int16((sum / Self.power(exponent)).rounded(.toNearestOrEven))
                    let base = slice * WideTile.sliceBytes * shape.columns + WideTile.partSums * shape.columns
                    let place = base + (part / 2 * shape.columns + column) * 4 + part % 2 * 2
                    withUnsafeBytes(of: code) { bytes.replaceSubrange(place..<place + 2, with: $0) }
                }
                store(exponent << 23, at: place(WideTile.sumExponents, slice * 8, column))
            }

            /// A part's sum in units of the slice's step.
            func partSum(_ part: Int, _ column: Int) -> (code: Int16, step: Float) {
                let base = part / 8 * WideTile.sliceBytes * shape.columns + WideTile.partSums * shape.columns
                let place = base + (part % 8 / 2 * shape.columns + column) * 4 + part % 2 * 2
                let code = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: Int16.self) }
                return (code, Self.power(int(WideTile.sumExponents, part / 8 * 8, column) >> 23))
            }

            private static func power(_ exponent: Int32) -> Float {
                Float(sign: .plus, exponent: Int(exponent), significand: 1)
            }

            /// e and a of the smallest number `(1 + e/8) · 2^a` that is not below `needed`.
            ///
            /// - Parameter powers: Whether e is 0.
            private static func roundedUp(_ needed: Float, powers: Bool) -> (multiple: Int32, exponent: Int32) {
                if powers { return (0, Int32(needed.exponent) + (needed.significand > 1 ? 1 : 0)) }
                let multiple = Int32((needed.significand * 8).rounded(.up)) - 8
                return (multiple % 8, Int32(needed.exponent) + multiple / 8)
            }
        }

        // MARK: Weights

        /// A group of 16 rows, packed, and what they are as floats.
        struct Weights {
            let tier: WideTier
            let layout: PackedLayout
            let columns: Int
            let packed: [UInt8]
            let rows: [[Float]]
            /// The rows as in the file.
            private let file: [UInt8]

            /// - Parameter byte: All bytes of the file.
            init(_ tier: WideTier, _ type: TensorType, columns: Int, filledWith byte: UInt8? = nil) {
                self.tier = tier
                layout = PackedLayout(type)!
                self.columns = columns
                let rowBytes = type.bytes(forValues: columns)!
                let random = RandomWeights.bytes(type, columns * PackedLayout.rows)
                let bytes = byte.map { byte in random.map { _ in byte } } ?? random
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
                file = bytes
            }

            private var blocksOfSlice: Int { 256 / layout.type.blockValues }

            /// The panels of all slices.
            func panel() -> Panel {
                var slices: [[UInt8]] = []
                let blocks = columns / layout.type.blockValues
                for block in stride(from: 0, to: blocks, by: blocksOfSlice) {
                    var panel = [UInt8](repeating: 0, count: WidePanel.sliceBytes)
                    packed.withUnsafeBytes {
                        tier.unpackPanel(
                            layout, $0.baseAddress! + block * layout.blockBytes, nil,
                            min(blocksOfSlice, blocks - block), &panel)
                    }
                    slices.append(panel)
                }
                return Panel(slices: slices, layout: layout)
            }

            /// All slices of so many equal tiles by so many panels of the same weights.
            func multiplyTiles(_ tile: Tile, count: Int, panels: Int, accumulate: Bool, _ c: inout [Float]) {
                let sliceBytes = WideTile.sliceBytes * tile.shape.columns
                for (slice, panel) in panel().slices.enumerated() {
                    let panels = (panel: Array(repeating: panel, count: panels).flatMap { $0 }, count: panels)
                    let bytes = tile.bytes[slice * sliceBytes..<(slice + 1) * sliceBytes]
                    let tiles = Array(repeating: bytes, count: count).flatMap { $0 }
                    tiles.withUnsafeBytes { tiles in
                        panels.panel.withUnsafeBytes { all in
                            c.withUnsafeMutableBufferPointer { c in
                                tier.multiplyTiles(
                                    WideProduct(
                                        layout: layout, tiles: tiles.baseAddress!, tileCount: count,
                                        columns: tile.shape.columns, pairs: tile.shape.pairs,
                                        panels: all.baseAddress!, panelCount: panels.count,
                                        parts: min(8, columns / 32 - 8 * slice), c: c.baseAddress!,
                                        accumulate: accumulate || slice > 0))
                            }
                        }
                    }
                }
            }

            /// What `multiplyTokens` multiplies results by.
            static func tokenScale(_ token: Int) -> Float { Float(1 << token) }

            /// Tokens by so many groups of the same weights.
            func multiplyTokens(_ tile: Tile, tokens: Int, groups: Int, _ c: inout [Float], stride: Int) {
                let all = Array(repeating: packed, count: groups).flatMap { $0 }
                let scales = (0..<tokens).map(Self.tokenScale)
                tile.bytes.withUnsafeBytes { bytes in
                    all.withUnsafeBytes { all in
                        c.withUnsafeMutableBufferPointer { c in
                            tier.multiplyTokens(
                                PackedProduct(
                                    layout: layout, tile: bytes.baseAddress!, tokens: tokens, scales: scales,
                                    weights: all.baseAddress!, groups: groups,
                                    blocks: columns / layout.type.blockValues, c: c.baseAddress!, cStride: stride))
                        }
                    }
                }
            }

            /// The same weights split, of Q8_0, which must have the same results; or bounds of them.
            func multiplySplit(
                _ tile: Tile, tokens: Int, groups: Int, _ c: inout [Float], stride: Int, bounds: [Float]? = nil
            ) {
                let layout = PackedLayout.leadingQ8_0
                let (leading, trailing) = split(groups)
                let scales = (0..<tokens).map(Self.tokenScale)
                tile.bytes.withUnsafeBytes { bytes in
                    leading.withUnsafeBytes { leading in
                        trailing.withUnsafeBytes { trailing in
                            c.withUnsafeMutableBufferPointer { c in
                                func run(_ bounds: UnsafePointer<Float>?) {
                                    tier.multiplyTokens(
                                        PackedProduct(
                                            layout: layout, tile: bytes.baseAddress!, tokens: tokens, scales: scales,
                                            weights: leading.baseAddress!, groups: groups, blocks: columns / 32,
                                            c: c.baseAddress!, cStride: stride, trailing: trailing.baseAddress!,
                                            bounds: bounds))
                                }
                                guard let bounds else { return run(nil) }
                                bounds.withUnsafeBufferPointer { run($0.baseAddress) }
                            }
                        }
                    }
                }
            }

            /// The leading and the trailing parts of equal groups.
            private func split(_ groups: Int) -> (leading: [UInt8], trailing: [UInt8]) {
                let layout = PackedLayout.leadingQ8_0
                var leading = [UInt8](repeating: 0xee, count: columns / 32 * layout.blockBytes)
                var trailing = [UInt8](repeating: 0xee, count: columns / 32 * PackedLayout.trailingBytes)
                packSplit(
                    file, rowBytes: layout.type.bytes(forValues: columns)!, columns: columns, into: &leading,
                    trailing: &trailing)
                return (
                    Array(repeating: leading, count: groups).flatMap { $0 },
                    Array(repeating: trailing, count: groups).flatMap { $0 }
                )
            }

            /// Whether the panels of the split weights are the same.
            func splitPanelsAreSame() -> Bool {
                let layout = PackedLayout.leadingQ8_0
                let (leading, trailing) = split(1)
                return panel().slices.enumerated().allSatisfy { index, slice in
                    var panel = [UInt8](repeating: 0, count: WidePanel.sliceBytes)
                    leading.withUnsafeBytes { leading in
                        trailing.withUnsafeBytes { trailing in
                            tier.unpackPanel(
                                layout, leading.baseAddress! + 8 * index * layout.blockBytes,
                                trailing.baseAddress! + 8 * index * PackedLayout.trailingBytes,
                                min(8, columns / 32 - 8 * index), &panel)
                        }
                    }
                    return panel == slice
                }
            }

            /// The product in double precision, and how far rounding may take one in floats from it.
            func product(
                _ tile: Tile, _ token: Int, _ row: Int, _ panel: Panel
            ) -> (exact: Double, tolerance: Double) {
                let values = tile.activations[token], column = tile.shape.column(token)
                let floor = Double(values.map { abs($0) }.max()!) * 0x1p-16
                var (exact, tolerance, magnitude) = (0.0, 0.0, 0.0)
                for part in 0..<columns / 32 {
                    let range = 32 * part..<32 * part + 32
                    let largest = max(floor, Double(values[range].map { abs($0) }.max()!))
                    // Each activation is off by at most half a step, at most an eighth larger than needed, of a pair twice.
                    let step = largest * (tile.shape.pairs ? 2 / 16_300 : 1.125 / 127.45)
                    for index in range {
                        let weight = Double(rows[row][index])
                        exact += weight * Double(values[index])
                        tolerance += abs(weight) * step / 2
                        magnitude += abs(weight) * largest
                    }
                    // Minimums meet a sum that is off by half of its step.
                    if let minimum = panel.minimum(row, part) {
                        let step = tile.partSum(part, column).step * tile.scales[column]
                        tolerance += Double(minimum) * Double(step) / 2
                    }
                }
                // Offsets are taken away from sums as large; each part's sum is rounded.
                return (exact, tolerance + 128 * Double(Float.ulpOfOne) * magnitude)
            }
        }

        /// What is unpacked, by slice.
        struct Panel {
            let slices: [[UInt8]]
            let layout: PackedLayout

            enum Kind { case plain, offsets, minimums }
            var kind: Kind {
                switch layout.format {
                case .Q4_1, .Q5_1, .IQ1_S, .Q2_K: .offsets
                case .Q4_K, .Q5_K: .minimums
                default: .plain
                }
            }
            var segments: Int {
                switch layout.format {
                case .Q2_K, .Q3_K, .Q6_K, .NVFP4, .IQ1_M, .IQ2: 2
                default: 1
                }
            }
            var center: Int {
                switch layout.format {
                case .Q4_0: 8
                case .Q5_0: 16
                case .Q8_0, .IQ4_NL, .IQ4_XS: 128
                case .Q3_K: 4
                case .Q6_K: 32
                case .MXFP4, .NVFP4: 12
                case .ternary: 1
                case .IQ1_M: 9
                case .IQ2: 43
                case .IQ3_XXS: 31
                case .IQ3_S: 15
                default: 0
                }
            }
            private var partBytes: Int { 512 + segments * (8 * 64 + (kind == .offsets ? 64 : 0)) }

            private func float(_ part: Int, _ place: Int) -> Float {
                slices[part / 8].withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: Float.self) }
            }

            func code(_ row: Int, _ part: Int, _ index: Int) -> Int {
                Int(slices[part / 8][part % 8 * partBytes + index / 4 * 64 + row * 4 + index % 4]) - center
            }
            /// The scale, multiplied by 1 + `multiple` / 8.
            func scale(_ row: Int, _ part: Int, _ segment: Int, multiple: Int = 0) -> Float {
                float(part, part % 8 * partBytes + 512 + 64 * (8 * segment + multiple) + 4 * row)
            }
            func offset(_ row: Int, _ part: Int, _ segment: Int) -> Float? {
                kind != .offsets
                    ? nil : float(part, part % 8 * partBytes + 512 + 64 * (8 * segments + segment) + 4 * row)
            }
            func minimumCode(_ row: Int, _ part: Int) -> Int16 {
                slices[part / 8].withUnsafeBytes {
                    $0.loadUnaligned(
                        fromByteOffset: 8 * partBytes + part % 8 / 2 * 64 + 4 * row + part % 2 * 2, as: Int16.self)
                }
            }
            func minimumScale(_ row: Int, _ part: Int) -> Float { float(part, 8 * partBytes + 256 + 4 * row) }
            func minimum(_ row: Int, _ part: Int) -> Float? {
                kind != .minimums ? nil : minimumScale(row, part) * Float(minimumCode(row, part))
            }

            func weight(_ row: Int, _ column: Int) -> Float {
                let (part, index) = (column / 32, column % 32)
                let segment = segments == 1 ? 0 : index / 16
                return scale(row, part, segment) * Float(code(row, part, index))
                    - (offset(row, part, segment) ?? minimum(row, part) ?? 0)
            }
        }

        // MARK: Products

        /// A result without the token's scale, in the order of the kernels.
        static func product(_ tile: Tile, _ token: Int, _ panel: Panel, _ row: Int, plus start: Float) -> Float {
            let column = tile.shape.column(token)
            var result = start
            let parts = tile.activations[token].count / 32
            for part in 0..<parts {
                let factor = tile.factor(part, column)
                for segment in 0..<panel.segments {
                    let width = 32 / panel.segments
                    var (sum, codes) = (0, 0)
                    for index in segment * width..<(segment + 1) * width {
                        sum += tile.code(part, index, column) * panel.code(row, part, index)
                        codes += tile.code(part, index, column)
                    }
                    result.addProduct(Float(sum), panel.scale(row, part, segment) * factor)
                    if let offset = panel.offset(row, part, segment) {
                        result.addProduct(-offset, Float(codes) * factor)
                    }
                }
                guard panel.kind == .minimums, part % 8 == 7 else { continue }
                var sum = 0
                for part in part - 7...part {
                    sum += Int(tile.partSum(part, column).code) * Int(panel.minimumCode(row, part))
                }
                let step = tile.partSum(part, column).step
                result.addProduct(-Float(sum), panel.minimumScale(row, part) * step)
            }
            return result
        }
    }
#endif
