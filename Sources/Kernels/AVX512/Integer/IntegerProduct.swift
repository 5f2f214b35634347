// An integer matrix product: tiles of quantized activations by panels of unpacked weights.
//
// `vpdpbusd` multiplies 64 weight codes (unsigned bytes) by 64 activation codes (signed) and adds groups of four to
// 32-bit sums: two per cycle with a latency of four, so at least eight independent sums are needed. Two panels by six
// columns are twelve. With AVX-VNNI, where a register is two of 256 bits, one panel by six columns are as many.
//
// All multiplications share two units, so there are few others: the sums start with what the center of the codes amounts
// to, a factor of activations takes one subtraction (see `WideTile`), and the minimums of K formats are integers, four
// products for 256 columns.
//
// One call multiplies all tiles: between two calls the units would wait until the results of the first are written.

import CIntrinsics
public import KernelFormats

/// Multiplies a slice of tiles, or the first parts of it, by panels of 16 weight rows each.
@inline(never)
public func multiplyTiles(_ product: WideProduct) {
    switch product.layout.format {
    case .Q4_1, .Q5_1, .IQ1_S: multiply(WithOffsets.self, product)
    case .Q2_K: multiply(WithTwoOffsets.self, product)
    case .Q4_K, .Q5_K: multiply(WithMinimums.self, product)
    case .Q3_K, .Q6_K, .NVFP4, .IQ1_M, .IQ2: multiply(WithTwoScales.self, product)
    case .Q4_0, .Q5_0, .Q8_0, .IQ4_NL, .IQ4_XS, .MXFP4, .ternary, .IQ3_XXS, .IQ3_S: multiply(WithScale.self, product)
    }
}

/// What panels of some formats have in common.
private protocol PanelKind {
    static var segments: Int { get }
    static var offsets: Offsets { get }
}
private enum WithScale: PanelKind {
    @inline(__always) static var segments: Int { 1 }
    @inline(__always) static var offsets: Offsets { .none }
}
private enum WithTwoScales: PanelKind {
    @inline(__always) static var segments: Int { 2 }
    @inline(__always) static var offsets: Offsets { .none }
}
private enum WithOffsets: PanelKind {
    @inline(__always) static var segments: Int { 1 }
    @inline(__always) static var offsets: Offsets { .ofSegments }
}
private enum WithTwoOffsets: PanelKind {
    @inline(__always) static var segments: Int { 2 }
    @inline(__always) static var offsets: Offsets { .ofSegments }
}
private enum WithMinimums: PanelKind {
    @inline(__always) static var segments: Int { 1 }
    @inline(__always) static var offsets: Offsets { .ofParts }
}

@inline(__always)
private func multiply<Kind: PanelKind>(_: Kind.Type, _ product: WideProduct) {
    switch (product.columns, product.pairs) {
    case (2, false): multiplyTwo(Kind.self, product)
    case (4, false): multiplyFour(Kind.self, product)
    case (_, false): multiplySix(Kind.self, product)
    case (2, true): multiplyPair(Kind.self, product)
    case (4, true): multiplyTwoPairs(Kind.self, product)
    case (_, true): multiplyThreePairs(Kind.self, product)
    }
}

// Separate functions, since the compiler would otherwise merge the loops.

@inline(never)
private func multiplyTwo<Kind: PanelKind>(_: Kind.Type, _ product: WideProduct) {
    multiply(Kind.self, 1, false, product)
}

@inline(never)
private func multiplyFour<Kind: PanelKind>(_: Kind.Type, _ product: WideProduct) {
    multiply(Kind.self, 2, false, product)
}

@inline(never)
private func multiplySix<Kind: PanelKind>(_: Kind.Type, _ product: WideProduct) {
    multiply(Kind.self, 3, false, product)
}

@inline(never)
private func multiplyPair<Kind: PanelKind>(_: Kind.Type, _ product: WideProduct) {
    multiply(Kind.self, 1, true, product)
}

@inline(never)
private func multiplyTwoPairs<Kind: PanelKind>(_: Kind.Type, _ product: WideProduct) {
    multiply(Kind.self, 2, true, product)
}

@inline(never)
private func multiplyThreePairs<Kind: PanelKind>(_: Kind.Type, _ product: WideProduct) {
    multiply(Kind.self, 3, true, product)
}

/// One value for each of the two panels.
private typealias Panels<Value> = (Value, Value)

/// Integer sums of two columns of the tile, each started at the bits of the column's base (see `WideTile`).
private struct Sums {
    var first: Panels<__m512i>
    var second: Panels<__m512i>

    /// - Parameter starts: Of the first of the two columns.
    @inline(__always)
    init(_ starts: UnsafePointer<Int32>) {
        let (a, b) = (_mm512_set1_epi32(starts[0]), _mm512_set1_epi32(starts[1]))
        (first, second) = ((a, a), (b, b))
    }

    /// One step: four columns of the weight matrix.
    @inline(__always)
    mutating func add(_ w: Panels<__m512i>, _ x: UnsafePointer<Int32>) {
        // Twelve sums and the weights leave few of 16 registers: activations are loaded just before they are multiplied.
        if !fitsTwoGroups { loads_stay_behind() }
        let x0 = _mm512_set1_epi32(x[0])
        first.0 = _mm512_dpbusd_epi32(first.0, w.0, x0)
        first.1 = _mm512_dpbusd_epi32(first.1, w.1, x0)
        if !fitsTwoGroups { loads_stay_behind() }
        let x1 = _mm512_set1_epi32(x[1])
        second.0 = _mm512_dpbusd_epi32(second.0, w.0, x1)
        second.1 = _mm512_dpbusd_epi32(second.1, w.1, x1)
    }
}

/// Converts the sums of a segment to results.
private struct Scales {
    /// The multiples of the panels' scales.
    let weights: Panels<UnsafeRawPointer>
    /// `nil`: the format has no offsets of segments.
    let offsets: Panels<__m512>?
    /// By column: the places of multiples, and the sums of activations. A pair takes the first multiple.
    let multiples: UnsafePointer<UInt32>?
    let sums: UnsafePointer<Float>?

    /// - Parameter last: The column of the sums of activations.
    @inline(__always)
    func add(_ values: Panels<__m512>, _ column: Int, last: Int, to result: inout Panels<__m512>) {
        let place = multiples.map { Int(truncatingIfNeeded: $0[column]) } ?? 0
        result.0 = _mm512_fmadd_ps(values.0, floats16(weights.0 + place), result.0)
        result.1 = _mm512_fmadd_ps(values.1, floats16(weights.1 + place), result.1)
        if let offsets, let sums {
            let sum = _mm512_set1_ps(sums[last])
            result.0 = _mm512_fnmadd_ps(offsets.0, sum, result.0)
            result.1 = _mm512_fnmadd_ps(offsets.1, sum, result.1)
        }
    }
}

/// The minimums of 256 columns.
private struct Minimums {
    let first: UnsafeRawPointer
    let second: UnsafeRawPointer
    /// The part sums and their exponents, of the first column.
    let partSums: UnsafeRawPointer
    let exponents: UnsafeRawPointer
    let columns: Int

    @inline(__always)
    func subtract(_ column: Int, from result: inout Panels<__m512>) {
        var sums = (_mm512_setzero_si512(), _mm512_setzero_si512())
        for pair in 0..<4 {
            let x = broadcast(partSums + 4 &* (pair &* columns &+ column))
            sums.0 = add_products_of_words(sums.0, load64(first + 64 &* pair), x)
            sums.1 = add_products_of_words(sums.1, load64(second + 64 &* pair), x)
        }
        let exponent = broadcast(exponents + 4 &* column)
        let scales = (_mm512_add_epi32(load64(first + 256), exponent), _mm512_add_epi32(load64(second + 256), exponent))
        result.0 = _mm512_fnmadd_ps(_mm512_cvtepi32_ps(sums.0), _mm512_castsi512_ps(scales.0), result.0)
        result.1 = _mm512_fnmadd_ps(_mm512_cvtepi32_ps(sums.1), _mm512_castsi512_ps(scales.1), result.1)
    }
}

/// Results of one or two tokens.
private struct Results {
    private var first: Panels<__m512>
    private var second: Panels<__m512>

    /// - Parameter c: Those of the first token, for both panels.
    @inline(__always)
    init(_ c: Panels<UnsafeMutablePointer<Float>>, mask: __mmask16) {
        first = (_mm512_maskz_loadu_ps(mask, c.0), _mm512_maskz_loadu_ps(mask, c.1))
        second = (
            _mm512_maskz_loadu_ps(mask, c.0 + PackedLayout.rows), _mm512_maskz_loadu_ps(mask, c.1 + PackedLayout.rows)
        )
    }

    @inline(__always)
    mutating func add(_ sums: Sums, bases: UnsafePointer<Float>, _ scales: Scales, _ column: Int, pairs: Bool) {
        let (base, next) = (bases[column], bases[column &+ 1])
        let a = (float(sums.first.0, without: base), float(sums.first.1, without: base))
        let b = (float(sums.second.0, without: next), float(sums.second.1, without: next))
        if pairs {
            let joined = (_mm512_add_ps(a.0, b.0), _mm512_add_ps(a.1, b.1))
            scales.add(joined, column, last: column &+ 1, to: &first)
        } else {
            scales.add(a, column, last: column, to: &first)
            scales.add(b, column &+ 1, last: column &+ 1, to: &second)
        }
    }

    @inline(__always)
    mutating func subtract(_ minimums: Minimums, _ column: Int, pairs: Bool) {
        minimums.subtract(column, from: &first)
        if !pairs { minimums.subtract(column &+ 1, from: &second) }
    }

    @inline(__always)
    func write(_ c: Panels<UnsafeMutablePointer<Float>>, pairs: Bool) {
        _mm512_storeu_ps(c.0, first.0)
        if fitsTwoGroups { _mm512_storeu_ps(c.1, first.1) }
        guard !pairs else { return }
        _mm512_storeu_ps(c.0 + PackedLayout.rows, second.0)
        if fitsTwoGroups { _mm512_storeu_ps(c.1 + PackedLayout.rows, second.1) }
    }
}

/// Lines to prefetch per 32 columns: of six columns of a slice, and of six results of two panels.
private let linesAhead = (tile: 6, results: 2)

/// `twos`, a literal, is half of the tiles' columns.
@inline(__always)
private func multiply<Kind: PanelKind>(_: Kind.Type, _ twos: Int, _ pairs: Bool, _ product: WideProduct) {
    // They need none of these numbers, and zeroing their memory takes time.
    if Kind.offsets == .ofParts { return multiply(Kind.self, twos, pairs, product, nil) }
    var memory = SliceNumbers.Memory()
    multiply(Kind.self, twos, pairs, product, SliceNumbers(in: &memory, columns: 2 &* twos))
}

/// - Parameter numbers: `nil` for formats with offsets of parts, which need none.
@inline(__always)
private func multiply<Kind: PanelKind>(
    _: Kind.Type, _ twos: Int, _ pairs: Bool, _ product: WideProduct, _ numbers: SliceNumbers?
) {
    let (count, center) = (product.panelCount, product.layout.format.center)
    // 0 where results begin with 0.
    let mask: __mmask16 = product.accumulate ? 0xffff : 0
    let panelsAtOnce = fitsTwoGroups ? 2 : 1
    var (tile, c, destination) = (product.tiles, product.c, product.destination)
    let tokens = pairs ? twos : 2 &* twos
    for _ in 0..<product.tileCount {
        numbers?.fill(from: tile, segments: Kind.segments, center: center, Kind.offsets, pairs: pairs)
        if let first = destination.first {
            prefetch_to_write(first, tokens, destination.stride, count)
            destination = destination.advanced(by: tokens)
        }
        // Of the next tile, prefetched along the way.
        var nextTile = tile + WideTile.sliceBytes &* 2 &* twos
        var nextResults = UnsafeRawPointer(c + count &* IntegerTile.resultFloats)
        var panel = product.panels
        for index in stride(from: 0, to: count, by: panelsAtOnce) {
            // An odd last panel is multiplied twice.
            let hasSecond = fitsTwoGroups && index &+ 1 < count
            let panels = (panel, hasSecond ? panel + WidePanel.sliceBytes : panel)
            multiply(
                Kind.self, twos, pairs, tile, numbers, panels, parts: product.parts,
                (c, hasSecond ? c + IntegerTile.resultFloats : c), mask, nextTile, nextResults)
            nextTile += 64 &* linesAhead.tile &* product.parts
            nextResults += 64 &* linesAhead.results &* product.parts
            panel += panelsAtOnce &* WidePanel.sliceBytes
            c += (hasSecond ? 2 : 1) &* IntegerTile.resultFloats
        }
        tile += WideTile.sliceBytes &* 2 &* twos
    }
}

/// Multiplies a slice of a tile by two panels.
@inline(__always)
private func multiply<Kind: PanelKind>(
    _: Kind.Type, _ twos: Int, _ pairs: Bool, _ tile: UnsafeRawPointer, _ numbers: SliceNumbers?,
    _ panels: Panels<UnsafeRawPointer>, parts: Int, _ c: Panels<UnsafeMutablePointer<Float>>, _ mask: __mmask16,
    _ nextTile: UnsafeRawPointer, _ nextResults: UnsafeRawPointer
) {
    let columns = 2 &* twos
    let hasOffsets = Kind.offsets == .ofSegments
    let partBytes = panelPartBytes(segments: Kind.segments, hasOffsets: hasOffsets)
    let steps = 8 / Kind.segments
    let floatsOfTwo = (pairs ? 1 : 2) &* PackedLayout.rows
    let c1 = (c.0 + floatsOfTwo, c.1 + floatsOfTwo), c2 = (c1.0 + floatsOfTwo, c1.1 + floatsOfTwo)
    var r0 = Results(c, mask: mask), r1 = Results(c1, mask: mask), r2 = Results(c2, mask: mask)
    var (first, second) = panels
    var (nextTile, nextResults) = (nextTile, nextResults)
    var x = tile.assumingMemoryBound(to: Int32.self)
    var place = tile
    for part in 0..<parts {
        for line in 0..<linesAhead.tile { prefetch(nextTile + 64 &* line) }
        for line in 0..<linesAhead.results { prefetch(nextResults + 64 &* line) }
        nextTile += 64 &* linesAhead.tile
        nextResults += 64 &* linesAhead.results
        let bases = (place + WideTile.bases &* columns).assumingMemoryBound(to: Float.self)
        let multiples = (place + WideTile.multiples &* columns).assumingMemoryBound(to: UInt32.self)
        place += 4 &* columns
        for segment in 0..<Kind.segments {
            var starts = UnsafeRawPointer(bases).assumingMemoryBound(to: Int32.self)
            if Kind.offsets == .none, let numbers { starts = numbers.starts(segment, part) }
            var s0 = Sums(starts), s1 = Sums(starts + 2), s2 = Sums(starts + 4)
            @inline(__always)
            func add(_ step: Int) {
                let offset = 64 &* (segment &* steps &+ step)
                let w = (load64(first + offset), load64(second + offset))
                s0.add(w, x)
                if twos > 1 { s1.add(w, x + 2) }
                if twos > 2 { s2.add(w, x + 4) }
                x += columns
            }
            // Not a loop: the compiler would not unroll it.
            add(0)
            add(1)
            add(2)
            add(3)
            if steps == 8 {
                add(4)
                add(5)
                add(6)
                add(7)
            }
            let scale = panelScales(segment), offset = panelOffsets(segment, segments: Kind.segments)
            let scales = Scales(
                weights: (first + scale, second + scale),
                offsets: hasOffsets ? (floats16(first + offset), floats16(second + offset)) : nil,
                multiples: pairs ? nil : multiples, sums: numbers?.sums(segment, part))
            r0.add(s0, bases: bases, scales, 0, pairs: pairs)
            if twos > 1 { r1.add(s1, bases: bases, scales, 2, pairs: pairs) }
            if twos > 2 { r2.add(s2, bases: bases, scales, 4, pairs: pairs) }
        }
        first += partBytes
        second += partBytes
    }
    if Kind.offsets == .ofParts {
        let minimums = Minimums(
            first: first, second: second, partSums: tile + WideTile.partSums &* columns,
            exponents: tile + WideTile.sumExponents &* columns, columns: columns)
        r0.subtract(minimums, 0, pairs: pairs)
        if twos > 1 { r1.subtract(minimums, 2, pairs: pairs) }
        if twos > 2 { r2.subtract(minimums, 4, pairs: pairs) }
    }
    r0.write(c, pairs: pairs)
    if twos > 1 { r1.write(c1, pairs: pairs) }
    if twos > 2 { r2.write(c2, pairs: pairs) }
}
