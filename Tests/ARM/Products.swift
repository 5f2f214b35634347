// Matrix products, and the conversion of weights to floats.

import Compute
import KernelFormats
import KernelsPortable

private let ulp = Double(Float.ulpOfOne)

/// The weights of a row as the portable tier reads them.
private func floats(_ type: TensorType, _ bytes: [UInt8], from offset: Int, count: Int) -> [Float] {
    var values = [Float](repeating: 0, count: count)
    bytes.withUnsafeBytes {
        KernelsPortable.dequantize(type, $0.baseAddress! + offset, into: &values, count: count)
    }
    return values
}

func checkDequantization(_ kernels: KernelSet) {
    subject = "weights as floats"
    for type in TensorType.allCases {
        for blocks in [1, 3] {
            // A whole number of blocks and of 32 values; misaligned by a byte.
            let count = blocks * max(32, type.blockValues)
            let bytes = [0] + RandomWeights.bytes(type, count)
            let expected = floats(type, bytes, from: 1, count: count)
            var found = [Float](repeating: 0, count: count)
            bytes.withUnsafeBytes { kernels.dequantize(type, $0.baseAddress! + 1, &found, count) }
            // One rounding of scale · code less than the portable tier has: half an ulp of the larger of the two terms.
            let largest = expected.reduce(0) { $1.isFinite ? max($0, abs($1)) : $0 }
            check(found, expected, "type \(type.rawValue), \(count) values") { _ in 4 * Float.ulpOfOne * largest }
        }
    }
}

// MARK: Floats

private func multiply(
    _ kernels: KernelSet, _ a: [Float], _ aStride: Int, _ tokens: Int, _ w: [Float], _ wStride: Int, _ rows: Int,
    _ count: Int, _ c: inout [Float], _ cStride: Int, _ accumulate: Bool, firstToken: Int = 0, firstRow: Int = 0
) {
    a.withUnsafeBufferPointer { a in
        w.withUnsafeBufferPointer { w in
            c.withUnsafeMutableBufferPointer { c in
                kernels.multiplyFloats(
                    FloatProduct(
                        a: a.baseAddress! + firstToken * aStride, aStride: aStride, tokens: tokens,
                        w: w.baseAddress! + firstRow * wStride, wStride: wStride, rows: rows, count: count,
                        c: c.baseAddress!, cStride: cStride, accumulate: accumulate))
            }
        }
    }
}

func checkFloatProducts(_ kernels: KernelSet) {
    subject = "products of floats"
    for count in [8, 40, 256] {
        let (aStride, wStride, cStride) = (count + 3, count + 5, 20)
        let a = random(9 * aStride, seed: 1), w = random(14 * wStride, seed: 2)
        for tokens in 1...9 {
            for rows in [1, 2, 3, 4, 7, 14] {
                var c = [Float](repeating: 0.5, count: 9 * cStride)
                multiply(kernels, a, aStride, tokens, w, wStride, rows, count, &c, cStride, false)
                multiply(kernels, a, aStride, tokens, w, wStride, rows, count, &c, cStride, true)
                for token in 0..<9 {
                    for row in 0..<cStride {
                        let found = Double(c[token * cStride + row])
                        guard token < tokens, row < rows else {
                            check(found == 0.5, "written beside the result")
                            continue
                        }
                        var (sum, magnitude) = (0.0, 0.0)
                        for k in 0..<count {
                            let term = Double(a[token * aStride + k]) * Double(w[row * wStride + k])
                            sum += term
                            magnitude += abs(term)
                        }
                        // Each of `count` products and sums rounds by at most half an ulp of the sum of magnitudes.
                        check(
                            abs(found - 2 * sum) <= ulp * Double(2 * count) * magnitude,
                            "\(tokens) tokens, \(rows) rows, \(count) columns, at \(token), \(row)")
                    }
                }
            }
        }
    }
    let (count, tokens, rows) = (264, 11, 14)
    let a = random(tokens * count, seed: 3), w = random(rows * count, seed: 4)
    var together = [Float](repeating: 0, count: tokens * rows)
    multiply(kernels, a, count, tokens, w, count, rows, count, &together, rows, false)
    for token in 0..<tokens {
        for row in 0..<rows {
            var alone: [Float] = [0]
            multiply(kernels, a, count, 1, w, count, 1, count, &alone, 1, false, firstToken: token, firstRow: row)
            checkBits(alone, [together[token * rows + row]], "alone and among others, at \(token), \(row)")
        }
    }
}

func checkHalfProducts(_ kernels: KernelSet) {
    guard let multiplyHalves = kernels.multiplyHalves else { return }
    subject = "a token by 16-bit floats"
    for type in [TensorType.F16, .BF16] {
        for (rows, columns, depth) in [(1, 8, 8), (4, 264, 64), (7, 96, 96), (14, 520, 512)] {
            // Misaligned by a byte.
            let bytes = [0] + RandomWeights.bytes(type, rows * columns)
            let w = floats(type, bytes, from: 1, count: rows * columns), a = random(columns, seed: 7)
            var expected = [Float](repeating: 0, count: rows), found = expected
            for first in stride(from: 0, to: columns, by: depth) {
                let count = min(depth, columns - first)
                multiply(
                    kernels, Array(a[first...]), columns, 1, Array(w[first...]), columns, rows, count, &expected, rows,
                    first > 0)
            }
            bytes.withUnsafeBytes { bytes in
                a.withUnsafeBufferPointer { a in
                    found.withUnsafeMutableBufferPointer { found in
                        multiplyHalves(
                            HalfProduct(
                                a: a.baseAddress!, w: bytes.baseAddress! + 1, isBFloat16: type == .BF16, rows: rows,
                                columns: columns, depth: depth, c: found.baseAddress!))
                    }
                }
            }
            checkBits(found, expected, "type \(type.rawValue), \(rows) rows, \(columns) columns")
        }
    }
}

func checkBFloatProducts(_ kernels: KernelSet) {
    guard let multiply = kernels.multiplyBFloats else { return }
    subject = "floats by bfloat16 weights"
    for (rows, columns) in [(1, 8), (4, 40), (7, 264), (14, 512)] {
        // Misaligned by a byte; weights of a row are followed by those of 16 more columns.
        let width = columns + 16
        let bytes = [0] + RandomWeights.bytes(.BF16, rows * width)
        let w = floats(.BF16, bytes, from: 1, count: rows * width)
        let a = random(9 * width, seed: 60, -3...3)
        func run(_ token: Int, _ tokens: Int, accumulate: Bool) -> [Float] {
            var c = [Float](repeating: 0.5, count: tokens * (rows + 1))
            var scratch = [Float](repeating: .nan, count: (tokens + 1) * columns)
            bytes.withUnsafeBytes { bytes in
                a.withUnsafeBufferPointer { a in
                    c.withUnsafeMutableBufferPointer { c in
                        scratch.withUnsafeMutableBytes { scratch in
                            multiply(
                                BFloatProduct(
                                    a: a.baseAddress! + token * width, aStride: width, tokens: tokens,
                                    w: bytes.baseAddress! + 1, wStride: 2 * width, rows: rows, columns: columns,
                                    c: c.baseAddress!, cStride: rows + 1, accumulate: accumulate,
                                    scratch: scratch.baseAddress!))
                        }
                    }
                }
            }
            return c
        }
        for tokens in 1...9 {
            for accumulate in [false, true] {
                let found = run(0, tokens, accumulate: accumulate)
                var (errors, squares) = (0.0, 0.0)
                for token in 0..<tokens {
                    check(found[token * (rows + 1) + rows] == 0.5, "written beside the result")
                    let alone = run(token, 1, accumulate: accumulate)
                    for row in 0..<rows {
                        var (sum, magnitude) = (accumulate ? 0.5 : 0, accumulate ? 0.5 : 0)
                        for k in 0..<columns {
                            let term = Double(a[token * width + k]) * Double(w[row * width + k])
                            sum += term
                            magnitude += abs(term)
                        }
                        let value = Double(found[token * (rows + 1) + row])
                        // Parts of activations are off by 2⁻¹⁸ of them; each sum rounds by at most an ulp.
                        check(
                            abs(value - sum) <= (0x1p-18 + ulp * Double(columns + 2)) * magnitude,
                            "\(rows) rows, \(columns) columns, \(tokens) tokens, at \(token), \(row)")
                        errors += (value - sum) * (value - sum)
                        squares += sum * sum
                        checkBits(
                            [found[token * (rows + 1) + row]], [alone[row]],
                            "alone and among others, at \(token), \(row)")
                    }
                }
                // Errors of 2⁻¹⁸ and of some ulps, of either sign; without the second parts it would be 1e-6.
                check(errors <= 1e-10 * squares, "mean error, \(rows) rows, \(columns) columns, \(tokens) tokens")
            }
        }
    }
}

// MARK: Integers

/// A group of 16 rows, packed, and what they are as floats.
private struct Group {
    let layout: PackedLayout
    let packed: [UInt8]
    let rows: [[Float]]

    init(_ layout: PackedLayout, columns: Int) {
        self.layout = layout
        let type = layout.type
        let rowBytes = type.bytes(forValues: columns)!
        let bytes = RandomWeights.bytes(type, columns * PackedLayout.rows)
        rows = (0..<PackedLayout.rows).map { floats(type, bytes, from: $0 * rowBytes, count: columns) }
        var packed = [UInt8](repeating: 0xee, count: columns / type.blockValues * layout.blockBytes)
        pack(layout, bytes, rowBytes: rowBytes, columns: columns, into: &packed)
        self.packed = packed
    }

    func panel(_ kernels: ProductKernels, columns: Int) -> [UInt8] {
        let parts = columns / PackedLayout.columns
        var panel = [UInt8](repeating: 0, count: parts * IntegerPanel.blockBytes(segments: layout.segments))
        kernels.unpackPanel(layout, packed, nil, parts / layout.parts, &panel, false)
        return panel
    }
}

/// Random activations, and the tile that they make.
private struct Tile {
    let columns: Int
    let pairs: Bool
    let activations: [[Float]]
    let bytes: [UInt8]

    init(_ kernels: ProductKernels, columns: Int, pairs: Bool, tokens: Int, count: Int) {
        (self.columns, self.pairs) = (columns, pairs)
        activations = (0..<tokens).map { random(count, seed: 50 + UInt64($0), -3...3) }
        var bytes = [UInt8](repeating: 0, count: count / 32 * IntegerTile.blockBytes(columns: columns))
        for (token, values) in activations.enumerated() {
            _ = kernels.roundToken(values, count, pairs, &bytes, columns, pairs ? 2 * token : token)
        }
        self.bytes = bytes
    }

    /// The product in double precision, and how far rounding may take one in floats from it.
    func product(_ token: Int, _ weights: [Float], plus start: Double) -> (exact: Double, tolerance: Double) {
        var (exact, magnitude, roundings) = (start, abs(start), 0.0)
        let values = activations[token]
        for first in stride(from: 0, to: values.count, by: 32) {
            let largest = Double(values[first..<first + 32].reduce(0) { max($0, abs($1)) })
            // Each activation is off by at most half a step.
            let step = largest / Double(pairs ? 63 * 126 : 127)
            for column in first..<first + 32 {
                let weight = Double(weights[column])
                exact += weight * Double(values[column])
                magnitude += abs(weight) * largest
                roundings += abs(weight) * step / 2
            }
        }
        // Offsets of up to 43 steps of a code are taken away from sums as large; each part's sum is rounded.
        return (exact, roundings + 128 * ulp * magnitude)
    }
}

private func multiply(
    _ kernels: ProductKernels, _ layout: PackedLayout, _ tile: Tile, _ panels: [UInt8], _ panelCount: Int, count: Int,
    _ c: inout [Float], accumulate: Bool
) {
    tile.bytes.withUnsafeBytes { bytes in
        panels.withUnsafeBytes { panels in
            c.withUnsafeMutableBufferPointer { c in
                kernels.multiplyTile(
                    TileProduct(
                        layout: layout, tile: bytes.baseAddress!, tileStride: 0, columns: tile.columns,
                        pairs: tile.pairs, panels: panels.baseAddress!, panelBytes: panels.count / panelCount,
                        panelCount: panelCount,
                        parts: count / 32, c: c.baseAddress!, tokens: tile.activations.count, accumulate: accumulate))
            }
        }
    }
}

func checkIntegerProducts(_ set: KernelSet, like other: KernelSet?) {
    guard let kernels = set.products else { return }
    for type in TensorType.allCases {
        guard let layout = PackedLayout(type) else {
            check(!set.packedFormats.contains(type), "a format that cannot be packed")
            continue
        }
        subject = "type \(type.rawValue)"
        check(set.packedFormats.contains(type), "not packed")
        let count = 3 * max(type.blockValues, 32)
        let group = Group(layout, columns: count)
        let panel = group.panel(kernels, columns: count)
        for (columns, pairs) in [(2, false), (4, false), (6, false), (2, true), (4, true), (6, true)] {
            if kernels.needsPairs(layout.format) && !pairs { continue }
            let tokens = max(1, (pairs ? columns / 2 : columns) - 1)
            let tile = Tile(kernels, columns: columns, pairs: pairs, tokens: tokens, count: count)
            for (panels, accumulate) in [(1, false), (2, true), (3, false)] {
                let results = panels * IntegerTile.resultFloats
                var c = [Float](repeating: 1, count: results)
                let all = (0..<panels).flatMap { _ in panel }
                multiply(kernels, layout, tile, all, panels, count: count, &c, accumulate: accumulate)
                for index in 0..<results {
                    let (token, row) = (index % IntegerTile.resultFloats / 16, index % 16)
                    let what = "\(columns) columns, pairs \(pairs), \(panels) panels, token \(token), row \(row)"
                    if token < tokens {
                        let (exact, tolerance) = tile.product(token, group.rows[row], plus: accumulate ? 1 : 0)
                        check(abs(Double(c[index]) - exact) <= tolerance, what)
                    } else {
                        check(c[index] == 1, "written beside the result: " + what)
                    }
                }
                if let other = other?.products {
                    var expected = [Float](repeating: 1, count: results)
                    let all = (0..<panels).flatMap { _ in group.panel(other, columns: count) }
                    multiply(other, layout, tile, all, panels, count: count, &expected, accumulate: accumulate)
                    checkBits(c, expected, "the tier before, \(columns) columns, pairs \(pairs), \(panels) panels")
                }
            }
        }
        // Not a bit may differ: what a model answers must not depend on who else asks.
        let one = Tile(kernels, columns: 2, pairs: true, tokens: 1, count: count)
        let three = Tile(kernels, columns: 6, pairs: true, tokens: 3, count: count)
        var alone = [Float](repeating: 0, count: 16), among = [Float](repeating: 0, count: IntegerTile.resultFloats)
        one.bytes.withUnsafeBytes { tile in
            group.packed.withUnsafeBytes { weights in
                alone.withUnsafeMutableBufferPointer {
                    kernels.multiplyTokens(
                        PackedProduct(
                            layout: layout, tile: tile.baseAddress!, tokens: 1, scales: nil,
                            weights: weights.baseAddress!, groups: 1, blocks: count / type.blockValues,
                            c: $0.baseAddress!, cStride: 0))
                }
            }
        }
        multiply(kernels, layout, three, panel, 1, count: count, &among, accumulate: false)
        checkBits(alone, Array(among[0..<16]), "one token, alone and among others")
    }
    subject = "values that are not finite"
    for bad in [Float.nan, .infinity, -.infinity] {
        for (place, pair) in [(0, false), (7, true), (8, false), (31, true)] {
            var values = [Float](repeating: 1, count: 32)
            values[place] = bad
            var tile = [UInt8](repeating: 0, count: IntegerTile.blockBytes(columns: 2))
            _ = kernels.roundToken(values, 32, pair, &tile, 2, 0)
            let scale = tile.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 64, as: Float.self) }
            check(scale.isNaN, "place \(place)")
        }
    }
}
