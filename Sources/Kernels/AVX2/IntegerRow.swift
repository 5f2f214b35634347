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

/// Sums of eight rows with the two columns of a token: 16 bits each, or for wide codes 32 bits of both combined.
private struct Sums<Format: PackedFormat> {
    private var first = _mm256_setzero_si256()
    private var second = _mm256_setzero_si256()

    @inline(__always)
    mutating func add(_ codes: __m256i, _ x: (__m256i, __m256i)) {
        let products = (_mm256_maddubs_epi16(codes, x.0), _mm256_maddubs_epi16(codes, x.1))
        if Format.isWide {
            first = _mm256_add_epi32(first, joinPair(products))
        } else {
            first = in_order(_mm256_add_epi16(first, products.0))
            second = in_order(_mm256_add_epi16(second, products.1))
        }
    }

    /// The combined sums as floats, in units of the second column.
    @inline(__always)
    var joined: __m256 {
        if Format.isWide { return _mm256_cvtepi32_ps(first) }
        let one = _mm256_set1_epi16(1)
        return _mm256_fmadd_ps(
            _mm256_cvtepi32_ps(_mm256_madd_epi16(first, one)), _mm256_set1_ps(IntegerTile.pairFactor),
            _mm256_cvtepi32_ps(_mm256_madd_epi16(second, one)))
    }
}

/// Combines products with the two columns of a pair by their weights: 126 · first + second.
@inline(__always)
func joinPair(_ products: (__m256i, __m256i)) -> __m256i {
    _mm256_add_epi32(
        _mm256_madd_epi16(products.0, _mm256_set1_epi16(126)), _mm256_madd_epi16(products.1, _mm256_set1_epi16(1)))
}

@inline(__always)
private func multiply<Format: PackedFormat>(
    _: Format.Type, _ layout: PackedLayout, _ tile: UnsafeRawPointer, _ blocks: UnsafeRawPointer, _ count: Int,
    _ c: UnsafeMutablePointer<Float>
) {
    var result = (_mm256_setzero_ps(), _mm256_setzero_ps())
    var (block, x) = (blocks, tile)
    let partBytes = layout.blockBytes / layout.parts
    for _ in 0..<count {
        let shared = Format.shared(block)
        var planes = block + layout.scaleBytes
        for part in 0..<layout.parts {
            prefetchLines(planes, partBytes)
            // Sums of rows 0..<8 and 8..<16; steps 4..<8 are summed separately if they have other scales.
            var low = (Sums<Format>(), Sums<Format>()), high = (Sums<Format>(), Sums<Format>())
            for step in 0..<4 {
                let (low0, high0) = Format.codes(planes, step)
                let (low1, high1) = Format.codes(planes + 32, step)
                let xLow = pair(x, step), xHigh = pair(x, step &+ 4)
                low.0.add(low0, xLow)
                low.1.add(low1, xLow)
                if Format.segments == 1 {
                    low.0.add(high0, xHigh)
                    low.1.add(high1, xHigh)
                } else {
                    high.0.add(high0, xHigh)
                    high.1.add(high1, xHigh)
                }
            }
            let numbers = (x + 64).assumingMemoryBound(to: Float.self)
            let xScale = _mm256_set1_ps(numbers[0])
            let scales = Format.scales(shared, block, part, 0)
            if Format.segments == 1 {
                add(low, scales, xScale, _mm256_set1_ps(numbers[2]), to: &result)
            } else {
                add(low, scales, xScale, _mm256_set1_ps(numbers[4]), to: &result)
                add(high, Format.scales(shared, block, part, 1), xScale, _mm256_set1_ps(numbers[6]), to: &result)
            }
            planes += layout.planeBytes
            x += IntegerTile.blockBytes(columns: 2)
        }
        block += layout.blockBytes
    }
    _mm256_storeu_ps(c, result.0)
    _mm256_storeu_ps(c + 8, result.1)
}

/// Four activations of each of the two columns, broadcast to all lanes.
@inline(__always)
private func pair(_ x: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) {
    let words = (x + 8 &* step).assumingMemoryBound(to: Int32.self)
    return (_mm256_set1_epi32(words[0]), _mm256_set1_epi32(words[1]))
}

@inline(__always)
private func add<Format>(
    _ sums: (Sums<Format>, Sums<Format>), _ scales: (scale: Rows16, offset: Rows16), _ xScale: __m256, _ xSum: __m256,
    to result: inout (__m256, __m256)
) {
    result.0 = _mm256_fmadd_ps(sums.0.joined, _mm256_mul_ps(scales.scale.0, xScale), result.0)
    result.1 = _mm256_fmadd_ps(sums.1.joined, _mm256_mul_ps(scales.scale.1, xScale), result.1)
    result.0 = _mm256_fnmadd_ps(scales.offset.0, xSum, result.0)
    result.1 = _mm256_fnmadd_ps(scales.offset.1, xSum, result.1)
}
