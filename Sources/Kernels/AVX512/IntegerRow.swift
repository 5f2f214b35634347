// One token times packed weights, for decoding: weights are streamed from memory and unpacked in registers.

import CIntrinsics
public import KernelFormats

/// Multiplies a tile of one token (a pair of columns) by a group of 16 packed rows; the result goes to `c[0..<16]`.
///
/// - Parameter count: Number of packed blocks in the group, covering all columns of the matrix.
@inline(never)
public func multiplyToken(
    _ layout: PackedLayout, _ tile: UnsafeRawPointer, _ blocks: UnsafeRawPointer, count: Int,
    into c: UnsafeMutablePointer<Float>
) {
    switch layout.format {
    case .Q4_0: multiply(PackedQ4_0.self, layout, tile, blocks, count, c)
    case .Q4_1: multiply(PackedQ4_1.self, layout, tile, blocks, count, c)
    case .Q5_0: multiply(PackedQ5_0.self, layout, tile, blocks, count, c)
    case .Q5_1: multiply(PackedQ5_1.self, layout, tile, blocks, count, c)
    case .Q8_0: multiply(PackedQ8_0.self, layout, tile, blocks, count, c)
    case .Q2_K: multiply(PackedQ2_K.self, layout, tile, blocks, count, c)
    case .Q3_K: multiply(PackedQ3_K.self, layout, tile, blocks, count, c)
    case .Q4_K: multiply(PackedQ4_K.self, layout, tile, blocks, count, c)
    case .Q5_K: multiply(PackedQ5_K.self, layout, tile, blocks, count, c)
    case .Q6_K: multiply(PackedQ6_K.self, layout, tile, blocks, count, c)
    case .IQ4_NL: multiply(PackedIQ4_NL.self, layout, tile, blocks, count, c)
    case .IQ4_XS: multiply(PackedIQ4_XS.self, layout, tile, blocks, count, c)
    case .MXFP4: multiply(PackedMXFP4.self, layout, tile, blocks, count, c)
    case .NVFP4: multiply(PackedNVFP4.self, layout, tile, blocks, count, c)
    case .ternary: multiply(PackedTernary.self, layout, tile, blocks, count, c)
    case .IQ1_S: multiply(PackedIQ1_S.self, layout, tile, blocks, count, c)
    case .IQ1_M: multiply(PackedIQ1_M.self, layout, tile, blocks, count, c)
    case .IQ2: multiply(PackedIQ2.self, layout, tile, blocks, count, c)
    case .IQ3_XXS: multiply(PackedIQ3_XXS.self, layout, tile, blocks, count, c)
    case .IQ3_S: multiply(PackedIQ3_S.self, layout, tile, blocks, count, c)
    }
}

@inline(__always)
private func multiply<Format: PackedFormat>(
    _: Format.Type, _ layout: PackedLayout, _ tile: UnsafeRawPointer, _ blocks: UnsafeRawPointer, _ count: Int,
    _ c: UnsafeMutablePointer<Float>
) {
    var result = _mm512_setzero_ps()
    var (block, x) = (blocks, tile)
    let partBytes = layout.blockBytes / layout.parts
    let zero = _mm512_setzero_si512()
    for _ in 0..<count {
        let shared = Format.shared(block)
        var planes = block + layout.scaleBytes
        for part in 0..<layout.parts {
            prefetchLines(planes, partBytes)
            // Sums of steps 0..<4 and 4..<8, with the two columns of the token: four chains, to hide latency.
            var low = (zero, zero), high = (zero, zero)
            for step in 0..<4 {
                let codes = Format.codes(planes, step)
                let words = (x + 8 &* step).assumingMemoryBound(to: Int32.self)
                low.0 = _mm512_dpbusd_epi32(low.0, codes.0, _mm512_set1_epi32(words[0]))
                low.1 = _mm512_dpbusd_epi32(low.1, codes.0, _mm512_set1_epi32(words[1]))
                high.0 = _mm512_dpbusd_epi32(high.0, codes.1, _mm512_set1_epi32(words[8]))
                high.1 = _mm512_dpbusd_epi32(high.1, codes.1, _mm512_set1_epi32(words[9]))
            }
            let numbers = (x + 64).assumingMemoryBound(to: Float.self)
            let scales = Format.scales(shared, block, part, 0)
            if Format.segments == 1 {
                let both = (_mm512_add_epi32(low.0, high.0), _mm512_add_epi32(low.1, high.1))
                result = add(both, scales, numbers[0], numbers[2], to: result)
            } else {
                result = add(low, scales, numbers[0], numbers[4], to: result)
                result = add(high, Format.scales(shared, block, part, 1), numbers[0], numbers[6], to: result)
            }
            planes += layout.planeBytes
            x += IntegerTile.blockBytes(columns: 2)
        }
        block += layout.blockBytes
    }
    _mm512_storeu_ps(c, result)
}

@inline(__always)
private func add(
    _ sums: (__m512i, __m512i), _ scales: (scale: __m512, offset: __m512), _ xScale: Float, _ xSum: Float,
    to result: __m512
) -> __m512 {
    let code = _mm512_fmadd_ps(
        _mm512_cvtepi32_ps(sums.0), _mm512_set1_ps(IntegerTile.pairFactor), _mm512_cvtepi32_ps(sums.1))
    let scaled = _mm512_fmadd_ps(code, _mm512_mul_ps(scales.scale, _mm512_set1_ps(xScale)), result)
    return _mm512_fnmadd_ps(scales.offset, _mm512_set1_ps(xSum), scaled)
}
