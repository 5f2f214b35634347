// A matrix product of activations in 8 bits: tiles of activations by panels of unpacked weights.
//
// `vpmaddubsw` multiplies 32 weight codes (unsigned) by 32 activation codes (signed) and adds pairs in 16 bits. `Shape`
// gives the number of such sums that fit 16 bits before they must be widened. Formats of which not even two fit need
// activations in words, see PairProduct.swift.

import CIntrinsics
public import KernelFormats

/// Multiplies a tile by panels of 16 weight rows each.
@inline(never)
public func multiplyTile(_ product: TileProduct) {
    if product.pairs { return multiplyPairs(product) }
    let (tile, parts, shape) = (product.tile, product.parts, Shape(product.layout))
    for index in 0..<product.panelCount {
        let panel = product.panels + index &* product.panelBytes
        let output = Output(
            c: product.c + index &* IntegerTile.resultFloats, stride: PackedLayout.rows, tokens: product.tokens,
            accumulate: product.accumulate)
        switch product.columns {
        case 2: multiplyTwo(tile, panel, parts, shape, output)
        case 4: multiplyFour(tile, panel, parts, shape, output)
        default: multiplySix(tile, panel, parts, shape, output)
        }
    }
}

// Separate functions, since the compiler would otherwise merge the loops.

@inline(never)
private func multiplyTwo(
    _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int, _ shape: Shape, _ output: Output
) {
    multiply(1, tile, panel, parts, shape, output)
}

@inline(never)
private func multiplyFour(
    _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int, _ shape: Shape, _ output: Output
) {
    multiply(2, tile, panel, parts, shape, output)
}

@inline(never)
private func multiplySix(
    _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int, _ shape: Shape, _ output: Output
) {
    multiply(3, tile, panel, parts, shape, output)
}

/// How the eight steps of 32 columns are summed: in chains whose sums fit 16 bits.
private struct Shape {
    let segments: Int
    let steps: Int
    let chains: Int
    /// log2(chains per segment).
    let chainsOfSegment: Int
    var chainMask: Int { (1 &<< chainsOfSegment) &- 1 }

    @inline(__always)
    init(_ layout: PackedLayout) {
        segments = layout.segments
        (steps, chains, chainsOfSegment) = layout.format.chains ?? (0, 0, 0)
    }
}

extension PackedLayout.Format {
    /// Steps per sum of 16 bits, such sums per 32 columns, and log2 of those per segment; `nil`: the products of two steps do not
    /// fit, and codes have to be in words.
    var chains: (steps: Int, count: Int, ofSegment: Int)? {
        // 2 · 127 · (15, 31, 63) · (8, 4, 2) < 2¹⁵.
        switch self {
        case .Q4_0, .Q4_1, .Q4_K, .ternary, .IQ1_S, .IQ3_S: (8, 1, 0)
        case .Q5_0, .Q5_1, .Q5_K, .MXFP4: (4, 2, 1)
        case .Q6_K, .IQ3_XXS: (2, 4, 1)
        case .Q2_K, .Q3_K, .NVFP4, .IQ1_M: (4, 2, 0)
        case .Q8_0, .IQ4_NL, .IQ4_XS, .IQ2: nil
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
    mutating func add(_ w0: __m256i, _ w1: __m256i, _ x: UnsafePointer<Int32>) {
        let (x0, x1) = (_mm256_set1_epi32(x[0]), _mm256_set1_epi32(x[1]))
        first.0 = _mm256_add_epi16(first.0, _mm256_maddubs_epi16(w0, x0))
        first.1 = _mm256_add_epi16(first.1, _mm256_maddubs_epi16(w1, x0))
        second.0 = _mm256_add_epi16(second.0, _mm256_maddubs_epi16(w0, x1))
        second.1 = _mm256_add_epi16(second.1, _mm256_maddubs_epi16(w1, x1))
    }
}

/// Adds adjacent 16-bit sums in 32 bits, as floats.
@inline(__always)
private func floats(_ sums: __m256i) -> __m256 {
    _mm256_cvtepi32_ps(_mm256_madd_epi16(sums, _mm256_set1_epi16(1)))
}

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

/// Results of two tokens, 16 rows each.
private struct Results {
    var first: (__m256, __m256)
    var second: (__m256, __m256)

    @inline(__always)
    init(_ output: Output, _ token: Int) {
        let zero = _mm256_setzero_ps()
        (first, second) = ((zero, zero), (zero, zero))
        guard output.accumulate else { return }
        let c = output.c + token &* output.stride
        if token < output.tokens { first = (load(c), load(c + 8)) }
        if token &+ 1 < output.tokens { second = (load(c + output.stride), load(c + output.stride + 8)) }
    }

    @inline(__always)
    mutating func add(_ sums: Sums, _ scales: Scales, _ column: Int, endsSegment: Bool) {
        let a = (floats(sums.first.0), floats(sums.first.1)), b = (floats(sums.second.0), floats(sums.second.1))
        scales.add(a, column, to: &first, endsSegment: endsSegment)
        scales.add(b, column &+ 1, to: &second, endsSegment: endsSegment)
    }

    @inline(__always)
    func write(_ output: Output, _ token: Int) {
        let c = output.c + token &* output.stride
        if token < output.tokens {
            _mm256_storeu_ps(c, first.0)
            _mm256_storeu_ps(c + 8, first.1)
        }
        if token &+ 1 < output.tokens {
            _mm256_storeu_ps(c + output.stride, second.0)
            _mm256_storeu_ps(c + output.stride + 8, second.1)
        }
    }
}

/// `twos`, a literal, is half of the tile's columns.
///
/// The number of steps is not a compile-time constant on purpose: unrolled, the compiler would re-associate the sums
/// and spill.
@inline(__always)
private func multiply(
    _ twos: Int, _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ parts: Int, _ shape: Shape, _ output: Output
) {
    let columns = 2 &* twos
    var r0 = Results(output, 0)
    var r1 = Results(output, 2)
    var r2 = Results(output, 4)
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
                s0.add(w0, w1, x)
                if twos > 1 { s1.add(w0, w1, x + 2) }
                if twos > 2 { s2.add(w0, w1, x + 4) }
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
                r0.add(s0, ofChain, 0, endsSegment: true)
                if twos > 1 { r1.add(s1, ofChain, 2, endsSegment: true) }
                if twos > 2 { r2.add(s2, ofChain, 4, endsSegment: true) }
            } else {
                r0.add(s0, ofChain, 0, endsSegment: false)
                if twos > 1 { r1.add(s1, ofChain, 2, endsSegment: false) }
                if twos > 2 { r2.add(s2, ofChain, 4, endsSegment: false) }
            }
        }
        block += IntegerTile.blockBytes(columns: columns)
        weights += IntegerPanel.blockBytes(segments: shape.segments)
    }
    r0.write(output, 0)
    if twos > 1 { r1.write(output, 2) }
    if twos > 2 { r2.write(output, 4) }
}
