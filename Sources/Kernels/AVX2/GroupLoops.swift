// The loops of quantization over a group of values; see `KernelFormats.GroupLoops`, whose sums these are bit for bit.
// No product is fused with its sum, as the reference has none.

import CIntrinsics
public import KernelFormats

extension GroupLoops {
    public static let avx2 = GroupLoops(
        range: { extent($0, count: $1) },
        scaleSums: { group, levels, inverses, sums in
            switch levels {
            case .uniform(let lowest, let highest):
                sumScales(group, UniformRounding(lowest, highest), inverses, sums)
            case .iq4: sumScales(group, IQ4Rounding(), inverses, sums)
            case .e2m1: sumScales(group, E2M1Rounding(), inverses, sums)
            }
        },
        lineSums: { sumLines($0, top: $1, offset: $2, $3, $4) },
        squaredErrors: { group, levels, scales, offsets, errors in
            switch levels {
            case .uniform(let lowest, let highest):
                sumErrors(group, UniformRounding(lowest, highest), scales, offsets, errors)
            case .iq4: sumErrors(group, IQ4Rounding(), scales, offsets, errors)
            case .e2m1: sumErrors(group, E2M1Rounding(), scales, offsets, errors)
            }
        },
        encode: { x, count, levels, scale, offset, codes in
            switch levels {
            case .uniform(let lowest, let highest):
                writeCodes(x, count, UniformRounding(lowest, highest), scale, offset, codes)
            case .iq4: writeCodes(x, count, IQ4Rounding(), scale, offset, codes)
            case .e2m1: writeCodes(x, count, E2M1Rounding(), scale, offset, codes)
            }
        })
}

/// Rounds values to levels.
private protocol Rounding {
    /// The level nearest to each value.
    func nearest(_ values: __m256) -> __m256
    /// The code of the nearest level to each value.
    func codes(_ values: __m256) -> __m256i
}

private struct UniformRounding: Rounding {
    let lowest: __m256
    let highest: __m256

    @inline(__always)
    init(_ lowest: Float, _ highest: Float) {
        self.lowest = _mm256_set1_ps(lowest)
        self.highest = _mm256_set1_ps(highest)
    }

    @inline(__always)
    func nearest(_ values: __m256) -> __m256 {
        round_to_nearest(_mm256_min_ps(_mm256_max_ps(values, lowest), highest))
    }

    @inline(__always)
    func codes(_ values: __m256) -> __m256i {
        _mm256_cvtps_epi32(_mm256_sub_ps(nearest(values), lowest))
    }
}

/// A binary search among the 15 borders between levels.
private struct IQ4Rounding: Rounding {
    @inline(__always)
    func nearest(_ values: __m256) -> __m256 {
        let (index, isUpper) = search(values)
        let low = _mm256_setr_ps(-127, -104, -83, -65, -49, -35, -22, -10)
        let high = _mm256_setr_ps(1, 13, 25, 38, 53, 69, 89, 113)
        // The permutation reads the lowest three bits of an index.
        return _mm256_blendv_ps(
            _mm256_permutevar8x32_ps(low, index), _mm256_permutevar8x32_ps(high, index), isUpper)
    }

    @inline(__always)
    func codes(_ values: __m256) -> __m256i { search(values).index }

    /// The number of borders below each value, and where it is 8 or more.
    @inline(__always)
    private func search(_ values: __m256) -> (index: __m256i, isUpper: __m256) {
        let above8 = is_below(_mm256_set1_ps(-4.5), values)
        let border4 = _mm256_blendv_ps(_mm256_set1_ps(-57), _mm256_set1_ps(45.5), above8)
        var index = twice(_mm256_setzero_si256(), plus: above8)
        index = twice(index, plus: is_below(border4, values))
        let borders2 = _mm256_setr_ps(-93.5, -28.5, 19, 79, 0, 0, 0, 0)
        index = twice(index, plus: is_below(_mm256_permutevar8x32_ps(borders2, index), values))
        let borders1 = _mm256_setr_ps(-115.5, -74, -42, -16, 7, 31.5, 61, 101)
        return (twice(index, plus: is_below(_mm256_permutevar8x32_ps(borders1, index), values)), above8)
    }

    /// `2 · index`, plus one where the mask is set.
    @inline(__always)
    private func twice(_ index: __m256i, plus mask: __m256) -> __m256i {
        _mm256_sub_epi32(_mm256_add_epi32(index, index), _mm256_castps_si256(mask))
    }
}

private struct E2M1Rounding: Rounding {
    @inline(__always)
    func nearest(_ values: __m256) -> __m256 {
        let bounded = _mm256_min_ps(_mm256_max_ps(values, _mm256_set1_ps(-12)), _mm256_set1_ps(12))
        let powers = _mm256_and_ps(bounded, _mm256_castsi256_ps(_mm256_set1_epi32(0x7f80_0000)))
        // A value has two significant bits; below 2, one: it is rounded to a multiple of half its power of two.
        let shift = _mm256_mul_ps(_mm256_max_ps(powers, _mm256_set1_ps(2)), _mm256_set1_ps(6_291_456))
        return _mm256_sub_ps(_mm256_add_ps(bounded, shift), shift)
    }

    @inline(__always)
    func codes(_ values: __m256) -> __m256i {
        let bits = _mm256_castps_si256(nearest(values))
        let magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fff_ffff))
        // Exponent and first mantissa bit: 1 becomes 0 and is a 1, 2 becomes 2, 12 becomes 7.
        let exponents = _mm256_sub_epi32(_mm256_srli_epi32(magnitude, 22), _mm256_set1_epi32(254))
        let sign = _mm256_slli_epi32(_mm256_srli_epi32(bits, 31), 3)
        let codes = _mm256_or_si256(_mm256_max_epi32(exponents, _mm256_set1_epi32(1)), sign)
        return _mm256_andnot_si256(_mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256()), codes)
    }
}

/// The sums of the lanes of four registers, by neighbours.
@inline(__always)
private func laneSums(_ a: __m256, _ b: __m256, _ c: __m256, _ d: __m256) -> __m128 {
    let quarters = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d))
    return _mm_add_ps(_mm256_castps256_ps128(quarters), upper_lane(quarters))
}

@inline(__always)
private func store(_ v: __m128, _ p: UnsafeMutableRawPointer) {
    p.storeBytes(of: v, as: __m128.self)
}

@inline(never)
private func extent(_ x: UnsafePointer<Float>, count: Int) -> (low: Float, high: Float) {
    var low = load(x)
    var high = low
    var index = 8
    while index < count {
        let values = load(x + index)
        low = _mm256_min_ps(low, values)
        high = _mm256_max_ps(high, values)
        index &+= 8
    }
    return (0 - largest(_mm256_sub_ps(_mm256_setzero_ps(), low)), 0 + largest(high))
}

@inline(never)
private func sumScales<R: Rounding>(
    _ group: Group, _ rounding: R, _ inverses: UnsafeBufferPointer<Float>,
    _ results: UnsafeMutablePointer<ScaleSums>
) {
    // Two candidates at a time; the last of an odd number twice.
    var candidate = 0
    while candidate < inverses.count {
        let next = min(candidate &+ 1, inverses.count &- 1)
        let i0 = _mm256_set1_ps(inverses[candidate])
        let i1 = _mm256_set1_ps(inverses[next])
        let zero = _mm256_setzero_ps()
        var (xq0, qq0, xq1, qq1) = (zero, zero, zero, zero)
        var index = 0
        while index < group.count {
            let x = load(group.x + index)
            let w = load(group.w + index)
            let q0 = rounding.nearest(_mm256_mul_ps(x, i0))
            let q1 = rounding.nearest(_mm256_mul_ps(x, i1))
            let wq0 = _mm256_mul_ps(w, q0)
            let wq1 = _mm256_mul_ps(w, q1)
            xq0 = _mm256_add_ps(xq0, _mm256_mul_ps(wq0, x))
            qq0 = _mm256_add_ps(qq0, _mm256_mul_ps(wq0, q0))
            xq1 = _mm256_add_ps(xq1, _mm256_mul_ps(wq1, x))
            qq1 = _mm256_add_ps(qq1, _mm256_mul_ps(wq1, q1))
            index &+= 8
        }
        let four = laneSums(xq0, qq0, xq1, qq1)
        if next == candidate {
            UnsafeMutableRawPointer(results + candidate).storeBytes(
                of: _mm_cvtsi128_si64(_mm_castps_si128(four)), as: Int64.self)
        } else {
            store(four, results + candidate)
        }
        candidate &+= 2
    }
}

@inline(never)
private func sumLines(
    _ group: Group, top: Float, offset: Float, _ inverses: UnsafeBufferPointer<Float>,
    _ results: UnsafeMutablePointer<LineSums>
) {
    let rounding = UniformRounding(0, top)
    let zero = _mm256_setzero_ps()
    let shift = _mm256_set1_ps(offset)
    // These do not depend on the candidate.
    var (sumW, sumX) = (zero, zero)
    var index = 0
    while index < group.count {
        let w = load(group.w + index)
        sumW = _mm256_add_ps(sumW, w)
        sumX = _mm256_add_ps(sumX, _mm256_mul_ps(w, load(group.x + index)))
        index &+= 8
    }
    for (candidate, inverse) in inverses.enumerated() {
        let factor = _mm256_set1_ps(inverse)
        var (sumQ, sumXQ, sumQQ) = (zero, zero, zero)
        index = 0
        while index < group.count {
            let x = load(group.x + index)
            let q = rounding.nearest(_mm256_mul_ps(_mm256_sub_ps(x, shift), factor))
            let wq = _mm256_mul_ps(load(group.w + index), q)
            sumQ = _mm256_add_ps(sumQ, wq)
            sumXQ = _mm256_add_ps(sumXQ, _mm256_mul_ps(wq, x))
            sumQQ = _mm256_add_ps(sumQQ, _mm256_mul_ps(wq, q))
            index &+= 8
        }
        // In the order of `LineSums`: w, x, q, xq; then qq.
        store(laneSums(sumW, sumX, sumQ, sumXQ), results + candidate)
        results[candidate].qq = _mm_cvtss_f32(laneSums(sumQQ, sumQQ, sumQQ, sumQQ))
    }
}

@inline(never)
private func sumErrors<R: Rounding>(
    _ group: Group, _ rounding: R, _ scales: UnsafeBufferPointer<Float>,
    _ offsets: UnsafePointer<Float>,
    _ errors: UnsafeMutablePointer<Float>
) {
    for (candidate, scale) in scales.enumerated() {
        let factor = _mm256_set1_ps(scale)
        let inverse = _mm256_set1_ps(reciprocal(scale))
        let shift = _mm256_set1_ps(offsets[candidate])
        var total = _mm256_setzero_ps()
        var index = 0
        while index < group.count {
            let x = _mm256_sub_ps(load(group.x + index), shift)
            let level = rounding.nearest(_mm256_mul_ps(x, inverse))
            let difference = _mm256_sub_ps(x, _mm256_mul_ps(level, factor))
            let weighted = _mm256_mul_ps(load(group.w + index), difference)
            total = _mm256_add_ps(total, _mm256_mul_ps(weighted, difference))
            index &+= 8
        }
        errors[candidate] = _mm_cvtss_f32(laneSums(total, total, total, total))
    }
}

@inline(never)
private func writeCodes<R: Rounding>(
    _ x: UnsafePointer<Float>, _ count: Int, _ rounding: R, _ scale: Float, _ offset: Float,
    _ codes: UnsafeMutablePointer<UInt8>
) {
    let inverse = _mm256_set1_ps(reciprocal(scale))
    let shift = _mm256_set1_ps(offset)
    var index = 0
    while index < count {
        let eight = rounding.codes(_mm256_mul_ps(_mm256_sub_ps(load(x + index), shift), inverse))
        let words = _mm_packs_epi32(_mm256_castsi256_si128(eight), upper_lane_of_integers(eight))
        UnsafeMutableRawPointer(codes + index).storeBytes(
            of: _mm_cvtsi128_si64(_mm_packus_epi16(words, words)), as: Int64.self)
        index &+= 8
    }
}
