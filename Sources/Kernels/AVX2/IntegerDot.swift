// Rows of weights times activations as 16-bit integers, for decoding: a third of the instructions that floats take.
//
// Activations are rounded to 15 bits and a sign, with a scale for each 32, which adds an error of 1e-9 (normalized mean
// square), next to nothing beside the 1e-5 and more of 8 bits:
//
//     a row:    codes [columns] i16   in each 32 the even ones, then the odd ones
//               scales [columns / 32] f32
//               sums [columns / 32] f32   of what the codes stand for
//
// A byte or nibble of weights sits in an even or odd place of a 16-bit word, so a shift and a mask make words of it, in
// the order that the activations have. vpmaddwd sums pairs: four products a lane, at most 4 · 128 · 32767 < 2^24.1.
// Lanes 0…3 hold values 0…15 of a group and lanes 4…7 the others, so a scale for each 16 costs no more than one for 32.

import CIntrinsics
public import KernelFormats

/// Whether `dotRow` has an integer kernel for the format.
public func readsAsIntegers(_ type: TensorType) -> Bool {
    switch type {
    case .Q4_0, .Q8_0, .Q4_K, .Q5_K, .Q6_K: true
    default: false
    }
}

/// Bytes of a row of `columns` activations, a multiple of 32.
public func integerRowBytes(columns: Int) -> Int { 2 &* columns &+ 8 &* (columns / 32) }

/// Rounds a row of activations; `columns` is a multiple of 32.
@inline(never)
public func roundRow(_ x: UnsafePointer<Float>, columns: Int, into row: UnsafeMutableRawPointer) {
    let codes = row.assumingMemoryBound(to: Int16.self)
    let scales = (row + 2 &* columns).assumingMemoryBound(to: Float.self)
    let sums = scales + columns / 32
    for group in 0..<(columns / 32) {
        let (source, target) = (x + 32 &* group, codes + 32 &* group)
        var largest: Float = 0
        for i in 0..<32 { largest = max(largest, abs(source[i])) }
        let inverse: Float = largest > 0 && largest < .infinity ? 32767 / largest : 0
        var sum: Int32 = 0
        for i in 0..<16 {
            let even = Int32((source[2 &* i] * inverse).rounded(.toNearestOrEven))
            let odd = Int32((source[2 &* i &+ 1] * inverse).rounded(.toNearestOrEven))
            target[i] = Int16(truncatingIfNeeded: even)
            target[16 &+ i] = Int16(truncatingIfNeeded: odd)
            sum &+= even &+ odd
        }
        // Not finite: let the product be NaN, as it would be with floats.
        scales[group] = largest < .infinity ? largest / 32767 : .nan
        sums[group] = Float(sum) * scales[group]
    }
}

/// 32 weights as words: those in even places, those in odd ones.
private typealias Words = (even: __m256i, odd: __m256i)

private protocol IntegerFormat {
    static var bytes: Int { get }
    /// Groups of 32 in a block: 8, or 1.
    static var groups: Int { get }
    associatedtype Scales
    static func scales(_ base: UnsafeRawPointer) -> Scales
    static func words(_ base: UnsafeRawPointer, _ group: Int) -> Words
    /// The weights' scales of a group times the activations', `x`: eight lanes, or one scale for all of them.
    static func scale(_ scales: Scales, _ x: UnsafePointer<Float>, _ group: Int) -> __m256
    /// What minimums take away, from the sums of a block's groups.
    static func minimums(_ scales: Scales, _ sums: UnsafePointer<Float>) -> __m256
}

extension IntegerFormat {
    @inline(__always)
    static func minimums(_ scales: Scales, _ sums: UnsafePointer<Float>) -> __m256 { _mm256_setzero_ps() }
}

@inline(__always)
private func load32(_ p: UnsafeRawPointer) -> __m256i { p.loadUnaligned(as: __m256i.self) }

/// The low and the high byte of each word, with their signs.
@inline(__always)
private func split(signed v: __m256i) -> Words {
    (_mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8), _mm256_srai_epi16(v, 8))
}

private enum IntegerQ8_0: IntegerFormat {
    static var bytes: Int { BlockQ8_0.bytes }
    static var groups: Int { 1 }
    @inline(__always) static func scales(_ base: UnsafeRawPointer) -> Float { half(base) }
    @inline(__always)
    static func words(_ base: UnsafeRawPointer, _ group: Int) -> Words { split(signed: load32(base + 2)) }
    @inline(__always)
    static func scale(_ scales: Float, _ x: UnsafePointer<Float>, _ group: Int) -> __m256 {
        _mm256_set1_ps(scales * x[0])
    }
}

private enum IntegerQ4_0: IntegerFormat {
    static var bytes: Int { BlockQ4_0.bytes }
    static var groups: Int { 1 }
    @inline(__always) static func scales(_ base: UnsafeRawPointer) -> Float { half(base) }
    @inline(__always)
    static func words(_ base: UnsafeRawPointer, _ group: Int) -> Words {
        let codes = load16Bytes(base + 2)
        let both = _mm256_set_m128i(_mm_srli_epi16(codes, 4), codes)
        let (mask, eight) = (_mm256_set1_epi16(15), _mm256_set1_epi16(8))
        return (
            _mm256_sub_epi16(_mm256_and_si256(both, mask), eight),
            _mm256_sub_epi16(_mm256_and_si256(_mm256_srli_epi16(both, 8), mask), eight)
        )
    }
    @inline(__always)
    static func scale(_ scales: Float, _ x: UnsafePointer<Float>, _ group: Int) -> __m256 {
        _mm256_set1_ps(scales * x[0])
    }
}

/// Eight groups, each with a scale and a minimum.
private protocol ScaleAndMinimum: IntegerFormat where Scales == (scale: __m256, minimum: __m256) {}

extension ScaleAndMinimum {
    @inline(__always)
    static func scale(_ scales: Scales, _ x: UnsafePointer<Float>, _ group: Int) -> __m256 {
        lane(_mm256_mul_ps(scales.scale, load(x)), group)
    }
    @inline(__always)
    static func minimums(_ scales: Scales, _ sums: UnsafePointer<Float>) -> __m256 {
        _mm256_mul_ps(scales.minimum, load(sums))
    }
}

/// The nibbles of Q4_K and Q5_K.
@inline(__always)
private func nibbleWords(_ qs: UnsafePointer<UInt8>, _ group: Int) -> Words {
    let v = load32(qs + 32 &* (group &>> 1))
    let mask = _mm256_set1_epi16(15)
    return group & 1 == 0
        ? (_mm256_and_si256(v, mask), _mm256_and_si256(_mm256_srli_epi16(v, 8), mask))
        : (_mm256_and_si256(_mm256_srli_epi16(v, 4), mask), _mm256_srli_epi16(v, 12))
}

private enum IntegerQ4_K: ScaleAndMinimum {
    static var bytes: Int { BlockQ4_K.bytes }
    static var groups: Int { 8 }
    @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> (scale: __m256, minimum: __m256) { Q4_K.scales(base) }
    @inline(__always)
    static func words(_ base: UnsafeRawPointer, _ group: Int) -> Words { nibbleWords(BlockQ4_K(base).qs, group) }
}

private enum IntegerQ5_K: ScaleAndMinimum {
    static var bytes: Int { BlockQ5_K.bytes }
    static var groups: Int { 8 }
    @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> (scale: __m256, minimum: __m256) { Q5_K.scales(base) }
    @inline(__always)
    static func words(_ base: UnsafeRawPointer, _ group: Int) -> Words {
        let block = BlockQ5_K(base)
        let low = nibbleWords(block.qs, group)
        // Bit `group` of each byte, moved to bit 4.
        let bits = load32(block.qh)
        let fifth = _mm256_set1_epi16(16)
        let even = group <= 4 ? shiftLeft(bits, 4 &- group) : shiftRight(bits, group &- 4)
        let odd = shiftRight(bits, 4 &+ group)
        return (
            _mm256_or_si256(low.even, _mm256_and_si256(even, fifth)),
            _mm256_or_si256(low.odd, _mm256_and_si256(odd, fifth))
        )
    }
}

@inline(__always)
private func shiftLeft(_ v: __m256i, _ count: Int) -> __m256i { _mm256_slli_epi16(v, Int32(truncatingIfNeeded: count)) }

@inline(__always)
private func shiftRight(_ v: __m256i, _ count: Int) -> __m256i {
    _mm256_srli_epi16(v, Int32(truncatingIfNeeded: count))
}

private enum IntegerQ6_K: IntegerFormat {
    static var bytes: Int { BlockQ6_K.bytes }
    static var groups: Int { 8 }
    @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> (__m256, __m256) { Q6_K.scales(base) }
    @inline(__always)
    static func words(_ base: UnsafeRawPointer, _ group: Int) -> Words {
        let block = BlockQ6_K(base)
        let (upper, part) = (group &>> 2, group & 3)
        let low = shiftRight(load32(block.ql + (64 &* upper &+ 32 &* (part & 1))), 4 &* (part &>> 1))
        let high = shiftRight(load32(block.qh + 32 &* upper), 2 &* part)
        let codes = _mm256_or_si256(
            _mm256_and_si256(low, _mm256_set1_epi8(15)),
            _mm256_slli_epi16(_mm256_and_si256(high, _mm256_set1_epi8(3)), 4))
        return split(signed: _mm256_sub_epi8(codes, _mm256_set1_epi8(32)))
    }
    @inline(__always)
    static func scale(_ scales: (__m256, __m256), _ x: UnsafePointer<Float>, _ group: Int) -> __m256 {
        let half = group < 4 ? scales.0 : scales.1
        let first = Int32(truncatingIfNeeded: 2 &* (group & 3))
        let second = first &+ 1
        let lanes = _mm256_set_epi32(second, second, second, second, first, first, first, first)
        return _mm256_mul_ps(_mm256_permutevar8x32_ps(half, lanes), _mm256_set1_ps(x[group]))
    }
}

/// `y[t · stride] = weights · x[t]` of one row of weights, for `tokens` rows that `roundRow` made, `xBytes` apart.
@inline(never)
public func dotRow(
    _ type: TensorType, _ weights: UnsafeRawPointer, integers x: UnsafeRawPointer, xBytes: Int, tokens: Int,
    columns: Int, into y: UnsafeMutablePointer<Float>, stride: Int
) {
    for token in 0..<tokens {
        let row = x + token &* xBytes
        let out = y + token &* stride
        switch type {
        case .Q4_0: out.pointee = dot(IntegerQ4_0.self, weights, row, columns)
        case .Q8_0: out.pointee = dot(IntegerQ8_0.self, weights, row, columns)
        case .Q4_K: out.pointee = dot(IntegerQ4_K.self, weights, row, columns)
        case .Q5_K: out.pointee = dot(IntegerQ5_K.self, weights, row, columns)
        case .Q6_K: out.pointee = dot(IntegerQ6_K.self, weights, row, columns)
        default: break
        }
    }
}

@inline(__always)
private func dot<F: IntegerFormat>(
    _: F.Type, _ weights: UnsafeRawPointer, _ row: UnsafeRawPointer, _ columns: Int
) -> Float {
    var block = weights
    var codes = row
    var scales = (row + 2 &* columns).assumingMemoryBound(to: Float.self)
    var sums = scales + columns / 32
    var (even, odd, minimum) = (_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps())
    @inline(__always)
    func add(_ group: Int, _ blockScales: F.Scales, to sum: inout __m256) {
        let w = F.words(block, group)
        let products = _mm256_add_epi32(
            _mm256_madd_epi16(w.even, load32(codes + 64 &* group)),
            _mm256_madd_epi16(w.odd, load32(codes + (64 &* group &+ 32))))
        sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(products), F.scale(blockScales, scales, group), sum)
    }
    for index in 0..<(columns / (32 &* F.groups)) {
        let blockScales = F.scales(block)
        if F.groups == 8 {
            add(0, blockScales, to: &even)
            add(1, blockScales, to: &odd)
            add(2, blockScales, to: &even)
            add(3, blockScales, to: &odd)
            add(4, blockScales, to: &even)
            add(5, blockScales, to: &odd)
            add(6, blockScales, to: &even)
            add(7, blockScales, to: &odd)
            minimum = _mm256_add_ps(minimum, F.minimums(blockScales, sums))
        } else if index & 1 == 0 {
            add(0, blockScales, to: &even)
        } else {
            add(0, blockScales, to: &odd)
        }
        block += F.bytes
        codes += 64 &* F.groups
        scales += F.groups
        sums += F.groups
    }
    return sum(_mm256_sub_ps(_mm256_add_ps(even, odd), minimum))
}
