// Packed weights of 16 rows as bytes and float scales: what `multiplyTile(integers:)` multiplies.

import CIntrinsics
public import KernelFormats

/// Whether `unpackPanel` knows the packed layout of this format: those with codes of at most 6 bits, whose products
/// with 8-bit activations `vpmaddubsw` adds up in 16 bits without overflow.
public func unpacksPanels(of type: TensorType) -> Bool {
    switch type {
    case .Q4_0, .Q4_1, .Q5_0, .Q5_1, .Q2_K, .Q3_K, .Q4_K, .Q5_K, .Q6_K: true
    default: false
    }
}

/// Segments of 32 columns: how many scales they have.
public func panelSegments(of type: TensorType) -> Int {
    switch type {
    case .Q2_K, .Q3_K, .Q6_K: 2
    default: 1
    }
}

/// Unpacks packed blocks of a group of 16 rows into a panel.
@inline(never)
public func unpackPanel(
    _ layout: PackedLayout, _ blocks: UnsafeRawPointer, count: Int, into panel: UnsafeMutableRawPointer
) {
    switch layout.type {
    case .Q4_0: unpack(PackedQ4_0.self, layout, blocks, count, panel)
    case .Q4_1: unpack(PackedQ4_1.self, layout, blocks, count, panel)
    case .Q5_0: unpack(PackedQ5_0.self, layout, blocks, count, panel)
    case .Q5_1: unpack(PackedQ5_1.self, layout, blocks, count, panel)
    case .Q2_K: unpack(PackedQ2_K.self, layout, blocks, count, panel)
    case .Q3_K: unpack(PackedQ3_K.self, layout, blocks, count, panel)
    case .Q4_K: unpack(PackedQ4_K.self, layout, blocks, count, panel)
    case .Q5_K: unpack(PackedQ5_K.self, layout, blocks, count, panel)
    case .Q6_K: unpack(PackedQ6_K.self, layout, blocks, count, panel)
    default: break
    }
}

@inline(__always)
private func unpack<Format: PackedFormat>(
    _: Format.Type, _ layout: PackedLayout, _ blocks: UnsafeRawPointer, _ count: Int, _ panel: UnsafeMutableRawPointer
) {
    let (parts, scaleBytes, planeBytes) = (layout.parts, layout.scaleBytes, layout.planeBytes)
    var (block, part, target) = (blocks, 0, panel)
    for _ in 0..<(count &* parts) {
        let planes = block + (scaleBytes &+ part &* planeBytes)
        for half in 0..<2 {
            for step in 0..<4 {
                let (low, high) = Format.codes(planes + 32 &* half, step)
                store(low, target + (64 &* step &+ 32 &* half))
                store(high, target + (64 &* step &+ 256 &+ 32 &* half))
            }
            let floats = (target + (512 &+ 32 &* half)).assumingMemoryBound(to: Float.self)
            for segment in 0..<Format.segments {
                let (scale, offset) = Format.scale(block, half, part, segment)
                _mm256_storeu_ps(floats + 16 &* segment, scale)
                _mm256_storeu_ps(floats + 16 &* (Format.segments &+ segment), offset)
            }
        }
        target += IntegerPanel.blockBytes(segments: Format.segments)
        part &+= 1
        if part == parts { (block, part) = (block + layout.blockBytes, 0) }
    }
}

/// How codes and scales of a format lie in a packed block; eight rows at a time.
private protocol PackedFormat {
    /// Scales of 32 columns: 1, or 2.
    static var segments: Int { get }
    /// The codes of steps `step` (of 0..<4) and `step + 4`, from the planes of 32 columns.
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i)
    /// The scale and the offset of rows `8 * half ..< 8 * half + 8`.
    static func scale(_ block: UnsafeRawPointer, _ half: Int, _ part: Int, _ segment: Int) -> (__m256, __m256)
}

// MARK: Planes

@inline(__always)
private func load32(_ p: UnsafeRawPointer) -> __m256i { p.loadUnaligned(as: __m256i.self) }

@inline(__always)
private func store(_ v: __m256i, _ p: UnsafeMutableRawPointer) { p.storeBytes(of: v, as: __m256i.self) }

@inline(__always)
private func mask(_ v: __m256i, _ bits: Int8) -> __m256i { _mm256_and_si256(v, _mm256_set1_epi8(bits)) }

/// `v` with its bits moved up by `places` (down, if negative) within 16-bit words. Mask what crosses bytes.
@inline(__always)
private func shift(_ v: __m256i, _ places: Int) -> __m256i {
    if places > 0 { return _mm256_slli_epi16(v, Int32(truncatingIfNeeded: places)) }
    if places < 0 { return _mm256_srli_epi16(v, Int32(truncatingIfNeeded: 0 &- places)) }
    return v
}

@inline(__always)
private func nibbles(_ plane: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) {
    let v = load32(plane + 64 &* step)
    return (mask(v, 15), mask(shift(v, -4), 15))
}

/// One bit of each code, moved to bit `place`.
@inline(__always)
private func bits(_ plane: UnsafeRawPointer, _ step: Int, at place: Int) -> (__m256i, __m256i) {
    let v = load32(plane)
    let bit = Int8(truncatingIfNeeded: 1 << place)
    return (mask(shift(v, place &- step), bit), mask(shift(v, place &- step &- 4), bit))
}

/// Two bits of each code, moved to bits `place` and up.
@inline(__always)
private func crumbs(_ plane: UnsafeRawPointer, _ step: Int, at place: Int) -> (__m256i, __m256i) {
    let both = Int8(truncatingIfNeeded: 3 << place)
    return (
        mask(shift(load32(plane), place &- 2 &* step), both),
        mask(shift(load32(plane + 64), place &- 2 &* step), both)
    )
}

@inline(__always)
private func or(_ a: (__m256i, __m256i), _ b: (__m256i, __m256i)) -> (__m256i, __m256i) {
    (_mm256_or_si256(a.0, b.0), _mm256_or_si256(a.1, b.1))
}

// MARK: Scales

/// The half-precision scales of eight rows: the `index`th field of the file's block.
@inline(__always)
private func half(_ block: UnsafeRawPointer, _ index: Int, _ rows: Int) -> __m256 {
    loadHalves(block + (32 &* index &+ 16 &* rows))
}

/// A byte of each of eight rows, as floats.
@inline(__always)
private func eightFloats(_ bytes: __m128i) -> __m256 { _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)) }

@inline(__always)
private func bytes(_ registers: UnsafeRawPointer, _ index: Int, _ rows: Int) -> __m128i {
    load8Bytes(registers + (16 &* index &+ 8 &* rows))
}

@inline(__always)
private func load8Bytes(_ p: UnsafeRawPointer) -> __m128i { _mm_set_epi64x(0, p.loadUnaligned(as: Int64.self)) }

@inline(__always)
private func field(_ v: __m128i, _ place: Int, _ width: Int) -> __m128i {
    _mm_and_si128(
        _mm_srli_epi16(v, Int32(truncatingIfNeeded: place)), _mm_set1_epi8(Int8(truncatingIfNeeded: (1 << width) &- 1)))
}

/// Four low bits from one register and two high ones from another.
@inline(__always)
private func sixBits(_ low: __m128i, _ lowPlace: Int, _ high: __m128i, _ highPlace: Int) -> __m128i {
    _mm_or_si128(field(low, lowPlace, 4), _mm_slli_epi16(field(high, highPlace, 2), 4))
}

@inline(__always)
private func times(_ a: __m256, _ factor: Float) -> __m256 { _mm256_mul_ps(a, _mm256_set1_ps(factor)) }

// MARK: Formats

private protocol PackedNibbles: PackedFormat {}
extension PackedNibbles {
    static var segments: Int { 1 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) { nibbles(planes, step) }
}

private protocol PackedFiveBits: PackedFormat {}
extension PackedFiveBits {
    static var segments: Int { 1 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) {
        or(nibbles(planes, step), bits(planes + 256, step, at: 4))
    }
}

private enum PackedQ4_0: PackedNibbles {
    @inline(__always)
    static func scale(_ block: UnsafeRawPointer, _ rows: Int, _ part: Int, _ segment: Int) -> (__m256, __m256) {
        let d = half(block, 0, rows)
        return (d, times(d, 8))
    }
}

private enum PackedQ5_0: PackedFiveBits {
    @inline(__always)
    static func scale(_ block: UnsafeRawPointer, _ rows: Int, _ part: Int, _ segment: Int) -> (__m256, __m256) {
        let d = half(block, 0, rows)
        return (d, times(d, 16))
    }
}

private enum PackedQ4_1: PackedNibbles {
    @inline(__always)
    static func scale(_ block: UnsafeRawPointer, _ rows: Int, _ part: Int, _ segment: Int) -> (__m256, __m256) {
        (half(block, 0, rows), times(half(block, 1, rows), -1))
    }
}

private enum PackedQ5_1: PackedFiveBits {
    @inline(__always)
    static func scale(_ block: UnsafeRawPointer, _ rows: Int, _ part: Int, _ segment: Int) -> (__m256, __m256) {
        PackedQ4_1.scale(block, rows, part, segment)
    }
}

private enum PackedQ4_K: PackedNibbles {
    @inline(__always)
    static func scale(_ block: UnsafeRawPointer, _ rows: Int, _ part: Int, _ segment: Int) -> (__m256, __m256) {
        let low = bytes(block + 64, part, rows)
        let high = bytes(block + 64 + 128, part >> 1, rows)
        let place = 4 &* (part & 1)
        let scale = eightFloats(sixBits(low, 0, high, place))
        let minimum = eightFloats(sixBits(low, 4, high, place &+ 2))
        return (_mm256_mul_ps(half(block, 0, rows), scale), _mm256_mul_ps(half(block, 1, rows), minimum))
    }
}

private enum PackedQ5_K: PackedFiveBits {
    @inline(__always)
    static func scale(_ block: UnsafeRawPointer, _ rows: Int, _ part: Int, _ segment: Int) -> (__m256, __m256) {
        PackedQ4_K.scale(block, rows, part, segment)
    }
}

private enum PackedQ6_K: PackedFormat {
    static var segments: Int { 2 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) {
        or(nibbles(planes, step), crumbs(planes + 256, step, at: 4))
    }
    @inline(__always)
    static func scale(_ block: UnsafeRawPointer, _ rows: Int, _ part: Int, _ segment: Int) -> (__m256, __m256) {
        let signed = _mm256_cvtepi8_epi32(bytes(block + 32, 2 &* part &+ segment, rows))
        let scale = _mm256_mul_ps(half(block, 0, rows), _mm256_cvtepi32_ps(signed))
        return (scale, times(scale, 32))
    }
}

private enum PackedQ2_K: PackedFormat {
    static var segments: Int { 2 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) { crumbs(planes, step, at: 0) }
    @inline(__always)
    static func scale(_ block: UnsafeRawPointer, _ rows: Int, _ part: Int, _ segment: Int) -> (__m256, __m256) {
        let packed = bytes(block + 64, 2 &* part &+ segment, rows)
        return (
            _mm256_mul_ps(half(block, 0, rows), eightFloats(field(packed, 0, 4))),
            _mm256_mul_ps(half(block, 1, rows), eightFloats(field(packed, 4, 4)))
        )
    }
}

private enum PackedQ3_K: PackedFormat {
    static var segments: Int { 2 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) {
        or(crumbs(planes, step, at: 0), bits(planes + 128, step, at: 2))
    }
    @inline(__always)
    static func scale(_ block: UnsafeRawPointer, _ rows: Int, _ part: Int, _ segment: Int) -> (__m256, __m256) {
        let low = bytes(block + 32, part, rows)
        let high = bytes(block + 32 + 128, part >> 1, rows)
        let code = eightFloats(sixBits(low, 4 &* segment, high, 4 &* (part & 1) &+ 2 &* segment))
        let scale = _mm256_mul_ps(half(block, 0, rows), _mm256_sub_ps(code, _mm256_set1_ps(32)))
        return (scale, times(scale, 4))
    }
}
