// Converts the file's layout to `PackedLayout`, 16 rows at a time, when a model is loaded. The same on every tier.

public import KernelFormats

/// Packs 16 rows of `columns` weights, `rowBytes` apart.
@inline(never)
public func pack(
    _ layout: PackedLayout, _ rows: UnsafeRawPointer, rowBytes: Int, columns: Int,
    into destination: UnsafeMutableRawPointer
) {
    let type = layout.type
    for block in 0..<(columns / type.blockValues) {
        let target = destination + (block &* layout.blockBytes)
        for row in 0..<PackedLayout.rows {
            let source = rows + (row &* rowBytes &+ block &* type.blockBytes)
            packScales(layout, source, row, target)
            packCodes(layout, source, target + (layout.scaleBytes &+ 4 &* row))
        }
    }
}

/// Packs 16 rows of Q8_0 as a leading and a trailing part; see `PackedLayout.leadingQ8_0`.
@inline(never)
public func packSplit(
    _ rows: UnsafeRawPointer, rowBytes: Int, columns: Int, into leading: UnsafeMutableRawPointer,
    trailing: UnsafeMutableRawPointer
) {
    let layout = PackedLayout.leadingQ8_0
    for block in 0..<(columns / PackedLayout.columns) {
        let target = leading + block &* layout.blockBytes
        let rest = trailing + block &* PackedLayout.trailingBytes
        for row in 0..<PackedLayout.rows {
            let source = rows + (row &* rowBytes &+ block &* layout.type.blockBytes)
            target.storeBytes(of: source.loadUnaligned(as: UInt16.self), toByteOffset: 2 &* row, as: UInt16.self)
            let (low, high) = (load16(source + 2) ^ 0x80, load16(source + 18) ^ 0x80)
            let planes = target + (layout.scaleBytes &+ 4 &* row)
            packNibbles(join(low, high, high: true), planes)
            withUnsafeBytes(of: (low, high)) { codes in
                packTwoBits(codes.baseAddress!, 1, planes + 256)
                packTwoBits(codes.baseAddress!, 0, rest + 4 &* row)
            }
        }
    }
}

// MARK: Scales

@inline(__always)
private func packScales(
    _ layout: PackedLayout, _ source: UnsafeRawPointer, _ row: Int, _ target: UnsafeMutableRawPointer
) {
    @inline(__always)
    func store(half bits: UInt16, _ index: Int) {
        target.storeBytes(of: bits, toByteOffset: 32 &* index &+ 2 &* row, as: UInt16.self)
    }
    /// Copies the half at `offset` of the file's block to field `index` of the packed block.
    @inline(__always)
    func half(_ offset: Int, _ index: Int) {
        store(half: (source + offset).loadUnaligned(as: UInt16.self), index)
    }
    /// Sets a row's byte in a register of scales.
    @inline(__always)
    func set(_ register: Int, after halves: Int, _ byte: UInt8) {
        target.storeBytes(of: byte, toByteOffset: 32 &* halves &+ 16 &* register &+ row, as: UInt8.self)
    }
    switch layout.format {
    case .Q4_0, .Q5_0, .Q8_0, .IQ4_NL:
        half(0, 0)
    case .Q4_1, .Q5_1:
        half(0, 0)
        half(2, 1)
    case .Q4_K, .Q5_K:
        half(0, 0)
        half(2, 1)
        let packed = BlockQ4_K(source)
        for pair in 0..<4 {
            var high: UInt8 = 0
            for odd in 0..<2 {
                let (scale, minimum) = (packed.scale(2 &* pair &+ odd), packed.minimum(2 &* pair &+ odd))
                set(2 &* pair &+ odd, after: 2, (scale & 15) | (minimum << 4))
                high |= ((scale >> 4) | ((minimum >> 4) << 2)) << UInt8(truncatingIfNeeded: 4 &* odd)
            }
            set(8 &+ pair, after: 2, high)
        }
    case .Q6_K:
        half(208, 0)
        let scales = BlockQ6_K(source).scales
        for index in 0..<16 { set(index, after: 1, UInt8(bitPattern: scales[index])) }
    case .Q2_K:
        half(80, 0)
        half(82, 1)
        let scales = BlockQ2_K(source).scales
        for index in 0..<16 { set(index, after: 2, scales[index]) }
    case .Q3_K:
        half(108, 0)
        let packed = BlockQ3_K(source)
        packSixBits(16, { UInt8(truncatingIfNeeded: packed.scale($0) &+ 32) }, { set($0, after: 1, $1) })
    case .IQ4_XS:
        half(0, 0)
        let packed = BlockIQ4_XS(source)
        packSixBits(8, { UInt8(truncatingIfNeeded: packed.scale($0) &+ 32) }, { set($0, after: 1, $1) })
    case .MXFP4:
        set(0, after: 0, source.load(as: UInt8.self))
    case .NVFP4:
        // The sign bit is ignored, and NaN counts as zero.
        let scales = BlockNVFP4(source).d
        for index in 0..<4 { set(index, after: 0, scales[index] == 0x7f ? 0 : scales[index] & 0x7f) }
    case .ternary:
        half(layout.type == .TQ1_0 ? 52 : 64, 0)
    case .IQ1_S, .IQ2, .IQ3_XXS, .IQ3_S:
        half(0, 0)
        for register in 0..<((layout.scaleBytes &- 32) / 16) {
            set(register, after: 1, gridScales(layout.type, source, register))
        }
    case .IQ1_M:
        store(half: BlockIQ1_M(source).halfBits, 0)
        for register in 0..<8 { set(register, after: 1, gridScales(layout.type, source, register)) }
    }
}

/// Stores the low nibbles of scales 2i and 2i + 1 in register i, and the two high bits of scales 4i … 4i + 3 in
/// register count / 2 + i.
@inline(__always)
private func packSixBits(_ count: Int, _ scale: (Int) -> UInt8, _ set: (_ register: Int, _ byte: UInt8) -> Void) {
    for index in 0..<(count / 2) {
        set(index, (scale(2 &* index) & 15) | (scale(2 &* index &+ 1) << 4))
    }
    for index in 0..<(count / 4) {
        var high: UInt8 = 0
        for field in 0..<4 { high |= (scale(4 &* index &+ field) >> 4) << UInt8(truncatingIfNeeded: 2 &* field) }
        set(count / 2 &+ index, high)
    }
}

// MARK: Codes

/// - Parameter target: Where step 0 of this row goes; registers are 64 bytes apart.
@inline(__always)
private func packCodes(_ layout: PackedLayout, _ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer) {
    let planeBytes = layout.planeBytes
    let twoBitPlane = 256  // after the nibbles
    switch layout.format {
    case .Q4_0, .IQ4_NL: packNibbles(load16(source + 2), target)
    case .Q4_1: packNibbles(load16(source + 4), target)
    case .Q5_0:
        packNibbles(load16(source + 6), target)
        packBits(ofWord: BlockQ5_0(source).qh, target + 256)
    case .Q5_1:
        packNibbles(load16(source + 8), target)
        packBits(ofWord: (source + 4).loadUnaligned(as: UInt32.self), target + 256)
    case .Q8_0:
        for step in 0..<8 { copyWord(source + (2 &+ 4 &* step), target + 64 &* step) }
    case .IQ4_XS:
        for part in 0..<8 { packNibbles(load16(source + (8 &+ 16 &* part)), target + part &* planeBytes) }
    case .Q4_K:
        for part in 0..<8 { packNibbles(kNibbles(source + 16, part), target + part &* planeBytes) }
    case .Q5_K:
        for part in 0..<8 {
            packNibbles(kNibbles(source + 48, part), target + part &* planeBytes)
            packBits(source + 16, bit: part, target + (part &* planeBytes &+ 256))
        }
    case .Q6_K:
        for part in 0..<8 {
            let (half, quarter) = (part >> 2, part & 3)
            // Parts 0 and 1 of a half are in the low nibbles of 64 bytes, parts 2 and 3 in the high ones.
            let low = source + (64 &* half &+ 32 &* (quarter & 1))
            let nibbles = join(load16(low), load16(low + 16), high: quarter >= 2)
            packNibbles(nibbles, target + part &* planeBytes)
            packTwoBits(source + (128 &+ 32 &* half), quarter, target + (part &* planeBytes &+ twoBitPlane))
        }
    case .Q2_K:
        for part in 0..<8 {
            packTwoBits(source + (16 &+ 32 &* (part >> 2)), part & 3, target + part &* planeBytes)
        }
    case .Q3_K:
        for part in 0..<8 {
            packTwoBits(source + (32 &+ 32 &* (part >> 2)), part & 3, target + part &* planeBytes)
            packBits(source, bit: part, target + (part &* planeBytes &+ 128))
        }
    case .MXFP4: packNibbles(load16(source + 1), target)
    case .NVFP4:
        for part in 0..<2 {
            // Eight bytes hold 16 weights, the first eight in the low nibbles.
            let bytes = source + (4 &+ 16 &* part)
            let (first, second) = (bytes.loadUnaligned(as: UInt64.self), (bytes + 8).loadUnaligned(as: UInt64.self))
            let low: UInt64 = 0x0f0f_0f0f_0f0f_0f0f
            let joined = SIMD2<UInt64>(
                first & low | (second & low) << 4, (first >> 4) & low | second & ~low)
            packNibbles(unsafeBitCast(joined, to: SIMD16<UInt8>.self), target + part &* planeBytes)
        }
    case .ternary where layout.type == .TQ2_0:
        for part in 0..<8 { packTwoBits(source + 32 &* (part >> 2), part & 3, target + part &* planeBytes) }
    case .ternary, .IQ1_S:
        for part in 0..<8 {
            withCodes(layout.type, source, part) { packTwoBits($0, 0, target + part &* planeBytes) }
        }
    case .IQ1_M, .IQ2:
        for part in 0..<8 {
            withCodes(layout.type, source, part) { codes in
                packTwoBits(codes, 0, target + part &* planeBytes)
                packBits(codes, bit: 2, target + (part &* planeBytes &+ 128))
            }
        }
    case .IQ3_XXS, .IQ3_S:
        for part in 0..<8 {
            withCodes(layout.type, source, part) { codes in
                packNibbles(join(load16(codes), load16(codes + 16), high: false), target + part &* planeBytes)
            }
        }
    }
}

/// The 32 codes of a part, one byte each.
@inline(__always)
private func withCodes(
    _ type: TensorType, _ source: UnsafeRawPointer, _ part: Int, _ body: (UnsafeRawPointer) -> Void
) {
    withUnsafeBytes(of: gridCodes(type, source, part)) { body($0.baseAddress!) }
}

@inline(__always)
private func load16(_ p: UnsafeRawPointer) -> SIMD16<UInt8> { p.loadUnaligned(as: SIMD16<UInt8>.self) }

@inline(__always)
private func copyWord(_ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer) {
    target.storeBytes(of: source.loadUnaligned(as: UInt32.self), as: UInt32.self)
}

/// Packs 32 4-bit codes: byte i has code i in its low nibble and code 16 + i in its high one.
@inline(__always)
private func packNibbles(_ nibbles: SIMD16<UInt8>, _ target: UnsafeMutableRawPointer) {
    let words = unsafeBitCast(nibbles, to: SIMD4<UInt32>.self)
    for step in 0..<4 { target.storeBytes(of: words[step], toByteOffset: 64 &* step, as: UInt32.self) }
}

/// The low (or high) nibbles of 32 bytes, in the form of `packNibbles`.
@inline(__always)
private func join(_ a: SIMD16<UInt8>, _ b: SIMD16<UInt8>, high: Bool) -> SIMD16<UInt8> {
    high ? (a &>> 4) | (b & 0xf0) : (a & 15) | (b &<< 4)
}

/// Part `part` of Q4_K's 128 bytes, of which each 32 hold two parts.
@inline(__always)
private func kNibbles(_ qs: UnsafeRawPointer, _ part: Int) -> SIMD16<UInt8> {
    let bytes = qs + 32 &* (part >> 1)
    return join(load16(bytes), load16(bytes + 16), high: part & 1 == 1)
}

/// Packs two bits of 32 codes: bits `2 · field` and `2 · field + 1` of 32 bytes.
@inline(__always)
private func packTwoBits(_ bytes: UnsafeRawPointer, _ field: Int, _ target: UnsafeMutableRawPointer) {
    for register in 0..<2 {
        var word: UInt32 = 0
        for step in 0..<4 {
            let codes = (bytes + (16 &* register &+ 4 &* step)).loadUnaligned(as: UInt32.self)
            let fields = (codes >> UInt32(truncatingIfNeeded: 2 &* field)) & 0x0303_0303
            word |= fields << UInt32(truncatingIfNeeded: 2 &* step)
        }
        target.storeBytes(of: word, toByteOffset: 64 &* register, as: UInt32.self)
    }
}

/// Packs one bit of 32 codes: bit `bit` of 32 bytes.
@inline(__always)
private func packBits(_ bytes: UnsafeRawPointer, bit: Int, _ target: UnsafeMutableRawPointer) {
    var word: UInt32 = 0
    for step in 0..<8 {
        let codes = (bytes + 4 &* step).loadUnaligned(as: UInt32.self)
        word |= ((codes >> UInt32(truncatingIfNeeded: bit)) & 0x0101_0101) << UInt32(truncatingIfNeeded: step)
    }
    target.storeBytes(of: word, as: UInt32.self)
}

/// Packs one bit of 32 codes: bit k of a word belongs to code k.
@inline(__always)
private func packBits(ofWord bits: UInt32, _ target: UnsafeMutableRawPointer) {
    var word: UInt32 = 0
    for step in 0..<8 {
        // Spread four bits to four bytes by adding shifted copies of the nibble, by 0, 7, 14 and 21 bits.
        let nibble = (bits >> UInt32(truncatingIfNeeded: 4 &* step)) & 15
        word |= ((nibble &* 0x0020_4081) & 0x0101_0101) << UInt32(truncatingIfNeeded: step)
    }
    target.storeBytes(of: word, as: UInt32.self)
}
