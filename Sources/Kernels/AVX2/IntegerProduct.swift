// An integer matrix product: tiles of quantized activations by panels of unpacked weights.
//
// `vpmaddubsw` multiplies 32 weight codes (unsigned) by 32 activation codes (signed) and adds pairs in 16 bits. `Shape`
// gives the number of such sums that fit 16 bits before they must be widened. With codes of more than six bits not even
// two fit: each is widened at once.

import CIntrinsics
public import KernelFormats

/// Multiplies a tile by panels of 16 weight rows each.
@inline(never)
public func multiplyTile(_ product: TileProduct) {
    let (tile, columns, pairs, parts) = (product.tile, product.columns, product.pairs, product.parts)
    let shape = Shape(product.layout, pairs: pairs)
    for index in 0..<product.panelCount {
        let panel = product.panels + index &* product.panelBytes
        let output = Output(
            c: product.c + index &* IntegerTile.resultFloats, stride: PackedLayout.rows, tokens: product.tokens,
            accumulate: product.accumulate)
        switch (columns, pairs, shape.widens) {
        case (2, false, false): multiplyTwo(tile, panel, parts, shape, output)
        case (4, false, false): multiplyFour(tile, panel, parts, shape, output)
        case (_, false, false): multiplySix(tile, panel, parts, shape, output)
        case (2, true, false): multiplyPair(tile, panel, parts, shape, output)
        case (4, true, false): multiplyTwoPairs(tile, panel, parts, shape, output)
        case (_, true, false): multiplyThreePairs(tile, panel, parts, shape, output)
        case (2, false, true): multiplyTwoWide(tile, panel, parts, shape, output)
        case (4, false, true): multiplyFourWide(tile, panel, parts, shape, output)
        case (_, false, true): multiplySixWide(tile, panel, parts, shape, output)
        case (2, true, true): multiplyPairWide(tile, panel, parts, shape, output)
        case (4, true, true): multiplyTwoPairsWide(tile, panel, parts, shape, output)
        case (_, true, true): multiplyThreePairsWide(tile, panel, parts, shape, output)
        }
    }
}

// Separate functions, since the compiler would otherwise merge the loops.

@inline(never)
private func multiplyTwo(
    _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int, _ shape: Shape, _ output: Output
) {
    multiply(1, false, false, tile, panel, parts, shape, output)
}

@inline(never)
private func multiplyFour(
    _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int, _ shape: Shape, _ output: Output
) {
    multiply(2, false, false, tile, panel, parts, shape, output)
}

@inline(never)
private func multiplySix(
    _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int, _ shape: Shape, _ output: Output
) {
    multiply(3, false, false, tile, panel, parts, shape, output)
}

@inline(never)
private func multiplyPair(
    _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int, _ shape: Shape, _ output: Output
) {
    multiply(1, true, false, tile, panel, parts, shape, output)
}

@inline(never)
private func multiplyTwoPairs(
    _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int, _ shape: Shape, _ output: Output
) {
    multiply(2, true, false, tile, panel, parts, shape, output)
}

@inline(never)
private func multiplyThreePairs(
    _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int, _ shape: Shape, _ output: Output
) {
    multiply(3, true, false, tile, panel, parts, shape, output)
}

@inline(never)
private func multiplyTwoWide(
    _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int, _ shape: Shape, _ output: Output
) {
    multiply(1, false, true, tile, panel, parts, shape, output)
}

@inline(never)
private func multiplyFourWide(
    _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int, _ shape: Shape, _ output: Output
) {
    multiply(2, false, true, tile, panel, parts, shape, output)
}

@inline(never)
private func multiplySixWide(
    _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int, _ shape: Shape, _ output: Output
) {
    multiply(3, false, true, tile, panel, parts, shape, output)
}

@inline(never)
private func multiplyPairWide(
    _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int, _ shape: Shape, _ output: Output
) {
    multiply(1, true, true, tile, panel, parts, shape, output)
}

@inline(never)
private func multiplyTwoPairsWide(
    _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int, _ shape: Shape, _ output: Output
) {
    multiply(2, true, true, tile, panel, parts, shape, output)
}

@inline(never)
private func multiplyThreePairsWide(
    _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int, _ shape: Shape, _ output: Output
) {
    multiply(3, true, true, tile, panel, parts, shape, output)
}

/// How the eight steps of 32 columns are summed: in chains whose sums fit 16 bits, or in 32 bits.
private struct Shape {
    /// Whether each product is widened to 32 bits, since two of them would not fit 16. A segment is then one chain.
    let widens: Bool
    let segments: Int
    let steps: Int
    let chains: Int
    /// log2(chains per segment).
    let chainsOfSegment: Int
    var chainMask: Int { (1 &<< chainsOfSegment) &- 1 }

    @inline(__always)
    init(_ layout: PackedLayout, pairs: Bool) {
        segments = layout.segments
        // 2 · 63 · (31, 63) · (8, 4) < 2¹⁵ for pairs, 2 · 127 · (15, 31, 63) · (8, 4, 2) < 2¹⁵ for single columns.
        switch layout.format {
        case .Q4_0, .Q4_1, .Q4_K, .ternary, .IQ1_S, .IQ3_S: (steps, chains, chainsOfSegment) = (8, 1, 0)
        case .Q5_0, .Q5_1, .Q5_K, .MXFP4: (steps, chains, chainsOfSegment) = pairs ? (8, 1, 0) : (4, 2, 1)
        case .Q6_K, .IQ3_XXS: (steps, chains, chainsOfSegment) = pairs ? (4, 2, 0) : (2, 4, 1)
        case .Q2_K, .Q3_K, .NVFP4, .IQ1_M: (steps, chains, chainsOfSegment) = (4, 2, 0)
        case .Q8_0, .IQ4_NL, .IQ4_XS: (steps, chains, chainsOfSegment) = (8, 1, 0)
        case .IQ2: (steps, chains, chainsOfSegment) = (4, 2, 0)
        }
        switch layout.format {
        case .Q8_0, .IQ4_NL, .IQ4_XS, .IQ2: widens = true
        case .Q4_0, .Q4_1, .Q5_0, .Q5_1, .Q2_K, .Q3_K, .Q4_K, .Q5_K, .Q6_K, .MXFP4, .NVFP4, .ternary, .IQ1_S, .IQ1_M,
            .IQ3_XXS, .IQ3_S:
            widens = false
        }
    }
}

private struct Output {
    let c: UnsafeMutablePointer<Float>
    let stride: Int
    let tokens: Int
    let accumulate: Bool
}

/// Sums of two columns of the tile, each for rows 0..<8 and 8..<16.
private struct Sums {
    var first: (__m256i, __m256i)
    var second: (__m256i, __m256i)

    @inline(__always)
    init() {
        let zero = _mm256_setzero_si256()
        (first, second) = ((zero, zero), (zero, zero))
    }

    /// One step: four columns of the weight matrix.
    @inline(__always)
    mutating func add(_ w0: __m256i, _ w1: __m256i, _ x: UnsafePointer<Int32>, widens: Bool) {
        let (x0, x1) = (_mm256_set1_epi32(x[0]), _mm256_set1_epi32(x[1]))
        first.0 = plus(first.0, _mm256_maddubs_epi16(w0, x0), widens)
        first.1 = plus(first.1, _mm256_maddubs_epi16(w1, x0), widens)
        second.0 = plus(second.0, _mm256_maddubs_epi16(w0, x1), widens)
        second.1 = plus(second.1, _mm256_maddubs_epi16(w1, x1), widens)
    }
}

@inline(__always)
private func plus(_ sum: __m256i, _ products: __m256i, _ widens: Bool) -> __m256i {
    widens ? _mm256_add_epi32(sum, widened(products)) : _mm256_add_epi16(sum, products)
}

/// Adds adjacent 16-bit values in 32 bits.
@inline(__always)
private func widened(_ sums: __m256i) -> __m256i { _mm256_madd_epi16(sums, _mm256_set1_epi16(1)) }

@inline(__always)
private func floats(_ sums: __m256i, widens: Bool) -> __m256 { _mm256_cvtepi32_ps(widens ? sums : widened(sums)) }

/// Converts sums of codes to results: multiplies by the scales of weights and activations, and subtracts the weights'
/// offsets once per segment.
private struct Scales {
    let weights: (__m256, __m256)
    let x: UnsafePointer<Float>
    let offsets: (__m256, __m256)
    let sums: UnsafePointer<Float>

    @inline(__always)
    func add(_ code: (__m256, __m256), _ column: Int, to result: inout (__m256, __m256), endsSegment: Bool) {
        let x = _mm256_set1_ps(x[column])
        result.0 = _mm256_fmadd_ps(code.0, _mm256_mul_ps(weights.0, x), result.0)
        result.1 = _mm256_fmadd_ps(code.1, _mm256_mul_ps(weights.1, x), result.1)
        if endsSegment {
            let sum = _mm256_set1_ps(sums[column])
            result.0 = _mm256_fnmadd_ps(offsets.0, sum, result.0)
            result.1 = _mm256_fnmadd_ps(offsets.1, sum, result.1)
        }
    }
}

/// Results of one or two tokens, 16 rows each.
private struct Results {
    var first: (__m256, __m256)
    var second: (__m256, __m256)

    @inline(__always)
    init(_ output: Output, _ token: Int, pairs: Bool) {
        let zero = _mm256_setzero_ps()
        (first, second) = ((zero, zero), (zero, zero))
        guard output.accumulate else { return }
        let c = output.c + token &* output.stride
        if token < output.tokens { first = (load(c), load(c + 8)) }
        if !pairs, token &+ 1 < output.tokens { second = (load(c + output.stride), load(c + output.stride + 8)) }
    }

    @inline(__always)
    mutating func add(
        _ sums: Sums, _ scales: Scales, _ column: Int, pairs: Bool, widens: Bool, endsSegment: Bool
    ) {
        let a = (floats(sums.first.0, widens: widens), floats(sums.first.1, widens: widens))
        let b = (floats(sums.second.0, widens: widens), floats(sums.second.1, widens: widens))
        if pairs {
            let factor = _mm256_set1_ps(IntegerTile.pairFactor)
            let code = (_mm256_fmadd_ps(a.0, factor, b.0), _mm256_fmadd_ps(a.1, factor, b.1))
            scales.add(code, column, to: &first, endsSegment: endsSegment)
        } else {
            scales.add(a, column, to: &first, endsSegment: endsSegment)
            scales.add(b, column &+ 1, to: &second, endsSegment: endsSegment)
        }
    }

    @inline(__always)
    func write(_ output: Output, _ token: Int, pairs: Bool) {
        let c = output.c + token &* output.stride
        if token < output.tokens {
            _mm256_storeu_ps(c, first.0)
            _mm256_storeu_ps(c + 8, first.1)
        }
        if !pairs, token &+ 1 < output.tokens {
            _mm256_storeu_ps(c + output.stride, second.0)
            _mm256_storeu_ps(c + output.stride + 8, second.1)
        }
    }
}

/// `twos`, a literal like the two arguments after it, is half of the tile's columns.
///
/// The number of steps is not a compile-time constant on purpose: unrolled, the compiler would re-associate the sums
/// and spill.
@inline(__always)
private func multiply(
    _ twos: Int, _ pairs: Bool, _ widens: Bool, _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int,
    _ shape: Shape, _ output: Output
) {
    let columns = 2 &* twos
    let tokensOfTwo = pairs ? 1 : 2
    var r0 = Results(output, 0, pairs: pairs)
    var r1 = Results(output, tokensOfTwo, pairs: pairs)
    var r2 = Results(output, 2 &* tokensOfTwo, pairs: pairs)
    var (block, weights) = (tile, panel)
    for _ in 0..<parts {
        let floats = (block + 32 &* columns).assumingMemoryBound(to: Float.self)
        var x = block.assumingMemoryBound(to: Int32.self)
        var w = weights
        let scales = (weights + 512).assumingMemoryBound(to: Float.self)
        for chain in 0..<shape.chains {
            var s0 = Sums(), s1 = Sums(), s2 = Sums()
            for _ in 0..<shape.steps {
                let w0 = w.loadUnaligned(as: __m256i.self), w1 = (w + 32).loadUnaligned(as: __m256i.self)
                s0.add(w0, w1, x, widens: widens)
                if twos > 1 { s1.add(w0, w1, x + 2, widens: widens) }
                if twos > 2 { s2.add(w0, w1, x + 4, widens: widens) }
                w += 64
                x += columns
            }
            let segment = chain &>> shape.chainsOfSegment
            let scale = scales + 16 &* segment, offset = scale + 16 &* shape.segments
            let ofChain = Scales(
                weights: (load(scale), load(scale + 8)), x: floats, offsets: (load(offset), load(offset + 8)),
                sums: floats + columns &* (shape.segments == 1 ? 1 : 2 &+ segment))
            // The branches differ in a literal only, so that both products of a result stay in one register.
            if (chain &+ 1) & shape.chainMask == 0 {
                r0.add(s0, ofChain, 0, pairs: pairs, widens: widens, endsSegment: true)
                if twos > 1 { r1.add(s1, ofChain, 2, pairs: pairs, widens: widens, endsSegment: true) }
                if twos > 2 { r2.add(s2, ofChain, 4, pairs: pairs, widens: widens, endsSegment: true) }
            } else {
                r0.add(s0, ofChain, 0, pairs: pairs, widens: widens, endsSegment: false)
                if twos > 1 { r1.add(s1, ofChain, 2, pairs: pairs, widens: widens, endsSegment: false) }
                if twos > 2 { r2.add(s2, ofChain, 4, pairs: pairs, widens: widens, endsSegment: false) }
            }
        }
        block += IntegerTile.blockBytes(columns: columns)
        weights += IntegerPanel.blockBytes(segments: shape.segments)
    }
    r0.write(output, 0, pairs: pairs)
    if twos > 1 { r1.write(output, tokensOfTwo, pairs: pairs) }
    if twos > 2 { r2.write(output, 2 &* tokensOfTwo, pairs: pairs) }
}
