// A matrix product of activations in 8 bits: tiles of activations by panels of unpacked weights.
//
// `vpmaddubsw` multiplies 32 weight codes (unsigned) by 32 activation codes (signed) and adds pairs in 16 bits. Sums of a
// segment start with `-center · Σ activations`, so that in the end they fit 16 bits. On the way they may wrap around, which
// does not change the end. `vpmaddwd`, which widens them, also multiplies them by the factor of the activations.
//
// With twelve sums, two weights, an activation and a product all registers are in use; results are added to in memory.
// Formats of which not even two products fit 16 bits need activations in words, see PairProduct.swift.

import CIntrinsics
public import KernelFormats

extension PackedLayout.Format {
    /// The center of the codes, which the start of a sum subtracts, and whether weights have offsets beside it; `nil`: codes
    /// have to be in words.
    public var byteCodes: (center: Int16, hasOffsets: Bool)? {
        // Without their center, codes are at most 16 in magnitude, 32 if 16 columns are added to a sum, or 43 if eight are. A sum
        // has two lanes: 127 · 16 · 16, 127 · 8 · 32 and 127 · 4 · 43 fit 16 bits, and the factor times both lanes fits 32.
        switch self {
        case .Q8_0, .IQ4_NL, .IQ4_XS: nil
        case .Q4_1, .Q2_K, .Q4_K, .IQ1_S: (0, true)
        case .Q5_1, .Q5_K: (16, true)
        default: (Int16(truncatingIfNeeded: center), false)
        }
    }

    /// log2 of the sums per segment.
    fileprivate var log2SumsOfSegment: Int { self == .IQ2 ? 1 : 0 }
}

/// Multiplies a tile by panels of 16 weight rows each.
@inline(never)
public func multiplyTile(_ product: TileProduct) {
    if let first = product.destination.first {
        prefetch_to_write(first, product.tokens, product.destination.stride, product.panelCount)
    }
    if product.pairs { return multiplyPairs(product) }
    withUnsafeTemporaryAllocation(byteCount: TileNumbers.bytes, alignment: 16) { memory in
        guard let base = memory.baseAddress else { return }
        let numbers = TileNumbers(base: base)
        numbers.fill(from: product)
        switch (product.columns, product.layout.format.byteCodes?.hasOffsets ?? false) {
        case (2, false): multiplyTwo(product, numbers)
        case (4, false): multiplyFour(product, numbers)
        case (_, false): multiplySix(product, numbers)
        case (2, true): multiplyTwoWithOffsets(product, numbers)
        case (4, true): multiplyFourWithOffsets(product, numbers)
        case (_, true): multiplySixWithOffsets(product, numbers)
        }
    }
}

/// What all panels need to know of a tile, `[parts][sums][columns]`: as pairs of 16-bit integers, what sums start with,
/// and what the activations sum up to, in units of the token's scale.
private struct TileNumbers {
    let base: UnsafeMutableRawPointer

    /// Bytes for eight parts of two sums of six columns, and for what is stored beyond the last one. Four sums take both halves.
    private static var halfBytes: Int { 4 &* 8 &* 2 &* IntegerTile.columns &+ 32 }
    static var bytes: Int { 2 &* halfBytes }

    var starts: UnsafePointer<Int32> { UnsafePointer(base.assumingMemoryBound(to: Int32.self)) }
    /// Only in formats with offsets.
    var sums: UnsafePointer<Float> { UnsafePointer((base + Self.halfBytes).assumingMemoryBound(to: Float.self)) }

    @inline(__always)
    func fill(from product: TileProduct) {
        let (columns, segments) = (product.columns, product.layout.segments)
        let minusCenter = _mm256_set1_epi16(0 &- (product.layout.format.byteCodes?.center ?? 0))
        let hasOffsets = product.layout.format.byteCodes?.hasOffsets ?? false
        let ofColumns = _mm256_cmpgt_epi32(
            _mm256_set1_epi32(Int32(truncatingIfNeeded: columns)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
        @inline(__always)
        func load(_ p: UnsafeRawPointer) -> __m256i {
            _mm256_maskload_epi32(p.assumingMemoryBound(to: Int32.self), ofColumns)
        }
        @inline(__always)
        func sumOfSteps(_ codes: UnsafeRawPointer) -> __m256i {
            let one = _mm256_set1_epi8(1)
            return _mm256_add_epi16(
                _mm256_maddubs_epi16(one, load(codes)), _mm256_maddubs_epi16(one, load(codes + 4 &* columns)))
        }
        var (block, target) = (product.tile, base)
        for _ in 0..<product.parts {
            let factors = block + 32 &* columns
            // Of all 32, or of both halves.
            var sums = factors + 4 &* columns &* segments
            for sum in 0..<segments &<< product.layout.format.log2SumsOfSegment {
                // A tile has no sums of quarters.
                let codes = product.layout.format == .IQ2 ? sumOfSteps(block + 8 &* columns &* sum) : load(sums)
                target.storeBytes(of: _mm256_mullo_epi16(codes, minusCenter), as: __m256i.self)
                if hasOffsets {
                    let whole = _mm256_cvtepi32_ps(_mm256_madd_epi16(codes, load(factors)))
                    (target + Self.halfBytes).storeBytes(of: whole, as: __m256.self)
                }
                sums += 4 &* columns
                target += 4 &* columns
            }
            block += IntegerTile.blockBytes(columns: columns)
        }
    }
}

// Separate functions, since the compiler would otherwise merge the loops.

@inline(never)
private func multiplyTwo(_ product: TileProduct, _ numbers: TileNumbers) { multiply(1, false, product, numbers) }

@inline(never)
private func multiplyFour(_ product: TileProduct, _ numbers: TileNumbers) { multiply(2, false, product, numbers) }

@inline(never)
private func multiplySix(_ product: TileProduct, _ numbers: TileNumbers) { multiply(3, false, product, numbers) }

@inline(never)
private func multiplyTwoWithOffsets(_ product: TileProduct, _ numbers: TileNumbers) {
    multiply(1, true, product, numbers)
}

@inline(never)
private func multiplyFourWithOffsets(_ product: TileProduct, _ numbers: TileNumbers) {
    multiply(2, true, product, numbers)
}

@inline(never)
private func multiplySixWithOffsets(_ product: TileProduct, _ numbers: TileNumbers) {
    multiply(3, true, product, numbers)
}

/// Sums of two columns of the tile, each for rows 0..<8 and 8..<16.
private struct Sums {
    private var first: (__m256i, __m256i)
    private var second: (__m256i, __m256i)

    /// - Parameter starts: Of the first of the two columns.
    @inline(__always)
    init(_ starts: UnsafePointer<Int32>) {
        let (a, b) = (_mm256_set1_epi32(starts[0]), _mm256_set1_epi32(starts[1]))
        (first, second) = ((a, a), (b, b))
    }

    /// One step: four columns of the weight matrix.
    @inline(__always)
    mutating func add(_ w0: __m256i, _ w1: __m256i, _ x: UnsafePointer<Int32>) {
        let (x0, x1) = (_mm256_set1_epi32(x[0]), _mm256_set1_epi32(x[1]))
        first.0 = in_order(_mm256_add_epi16(first.0, _mm256_maddubs_epi16(w0, x0)))
        first.1 = in_order(_mm256_add_epi16(first.1, _mm256_maddubs_epi16(w1, x0)))
        second.0 = in_order(_mm256_add_epi16(second.0, _mm256_maddubs_epi16(w0, x1)))
        second.1 = in_order(_mm256_add_epi16(second.1, _mm256_maddubs_epi16(w1, x1)))
    }

    /// Adds the results of both columns.
    @inline(__always)
    func add(_ scales: Scales, _ column: Int, to c: UnsafeMutablePointer<Float>) {
        scales.add(first, column, to: c + column &* PackedLayout.rows)
        scales.add(second, column &+ 1, to: c + (column &+ 1) &* PackedLayout.rows)
    }
}

/// Converts the sums of a segment to results.
private struct Scales {
    let weights: (__m256, __m256)
    /// By column; see `IntegerTile`.
    let factors: UnsafePointer<Int32>
    /// `nil`: the format has no offsets. The offsets of both halves of the rows, and what activations sum up to.
    let offsets: (of: (__m256, __m256), sums: UnsafePointer<Float>)?

    @inline(__always)
    func add(_ sums: (__m256i, __m256i), _ column: Int, to c: UnsafeMutablePointer<Float>) {
        let factor = _mm256_set1_epi32(factors[column])
        let a = _mm256_cvtepi32_ps(_mm256_madd_epi16(sums.0, factor))
        let b = _mm256_cvtepi32_ps(_mm256_madd_epi16(sums.1, factor))
        var results = (_mm256_fmadd_ps(a, weights.0, load(c)), _mm256_fmadd_ps(b, weights.1, load(c + 8)))
        if let offsets {
            let sum = _mm256_set1_ps(offsets.sums[column])
            results.0 = _mm256_fnmadd_ps(offsets.of.0, sum, results.0)
            results.1 = _mm256_fnmadd_ps(offsets.of.1, sum, results.1)
        }
        _mm256_storeu_ps(c, results.0)
        _mm256_storeu_ps(c + 8, results.1)
    }
}

/// - Parameters, literals:
///   - twos: Half of the tile's columns.
///   - hasOffsets: Whether the format has offsets.
@inline(__always)
private func multiply(_ twos: Int, _ hasOffsets: Bool, _ product: TileProduct, _ numbers: TileNumbers) {
    let columns = 2 &* twos
    let segments = product.layout.segments, log2SumsOfSegment = product.layout.format.log2SumsOfSegment
    let sumsOfPart = segments &<< log2SumsOfSegment
    let pairsOfSteps = 4 / sumsOfPart
    var (panel, c) = (product.panels, product.c)
    // The same slice of the next tile, and its results, are prefetched along the way.
    var (nextTile, nextResults) = (
        product.tile + product.tileStride,
        UnsafeRawPointer(product.c + product.panelCount &* IntegerTile.resultFloats)
    )
    for _ in 0..<product.panelCount {
        if !product.accumulate { c.update(repeating: 0, count: columns &* PackedLayout.rows) }
        var (block, weights) = (product.tile, panel)
        var (starts, sums) = (numbers.starts, numbers.sums)
        for _ in 0..<product.parts {
            prefetch(nextTile)
            prefetch(nextTile + 64)
            prefetch(nextResults)
            nextTile += 128
            nextResults += 64
            var (x, w) = (block.assumingMemoryBound(to: Int32.self), weights)
            let scales = (weights + 512).assumingMemoryBound(to: Float.self)
            for sum in 0..<sumsOfPart {
                var s0 = Sums(starts), s1 = Sums(starts + 2), s2 = Sums(starts + 4)
                @inline(__always)
                func add(_ step: Int) {
                    let w0 = (w + 64 &* step).loadUnaligned(as: __m256i.self)
                    let w1 = (w + (64 &* step &+ 32)).loadUnaligned(as: __m256i.self)
                    let x = x + columns &* step
                    s0.add(w0, w1, x)
                    if twos > 1 { s1.add(w0, w1, x + 2) }
                    if twos > 2 { s2.add(w0, w1, x + 4) }
                }
                for _ in 0..<pairsOfSteps {
                    add(0)
                    add(1)
                    w += 128
                    x += 2 &* columns
                }
                let scale = scales + 16 &* (sum &>> log2SumsOfSegment), offset = scale + 16 &* segments
                let ofSegment = Scales(
                    weights: (load(scale), load(scale + 8)),
                    factors: (block + 32 &* columns).assumingMemoryBound(to: Int32.self),
                    offsets: hasOffsets ? (of: (load(offset), load(offset + 8)), sums: sums) : nil)
                s0.add(ofSegment, 0, to: c)
                if twos > 1 { s1.add(ofSegment, 2, to: c) }
                if twos > 2 { s2.add(ofSegment, 4, to: c) }
                starts += columns
                sums += columns
            }
            block += IntegerTile.blockBytes(columns: columns)
            weights += IntegerPanel.blockBytes(segments: segments)
        }
        panel += product.panelBytes
        c += IntegerTile.resultFloats
    }
}
