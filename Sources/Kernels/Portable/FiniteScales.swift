// Detects scales that are infinite or NaN, since one of them makes every logit NaN.

public import KernelFormats

/// Index of the first of `count` blocks with a scale, or float value, that is not finite; `nil` if all are finite.
///
/// NVFP4's scales are always finite: its NaN counts as zero, as in ggml.
@inline(never)
public func firstNonFiniteBlock(_ type: TensorType, _ blocks: UnsafeRawPointer, count: Int) -> Int? {
    switch type {
    case .F32: firstNonFinite(blocks, count, exponent: 0x7f80_0000 as UInt32)
    case .F16: firstNonFinite(blocks, count, exponent: 0x7c00 as UInt16)
    case .BF16: firstNonFinite(blocks, count, exponent: 0x7f80 as UInt16)
    case .F64: firstNonFinite(blocks, count, exponent: 0x7ff0_0000_0000_0000 as UInt64)
    case .Q4_0, .Q5_0, .Q8_0, .Q1_0, .Q2_0, .IQ1_S, .IQ2_XXS, .IQ2_XS, .IQ2_S, .IQ3_XXS, .IQ3_S, .IQ4_NL, .IQ4_XS:
        firstWithHalf(blocks, count, type.blockBytes, at: 0, 0)
    case .Q4_1, .Q5_1, .Q8_1, .Q4_K, .Q5_K: firstWithHalf(blocks, count, type.blockBytes, at: 0, 2)
    case .Q2_K: firstWithHalf(blocks, count, type.blockBytes, at: 80, 82)
    case .Q3_K: firstWithHalf(blocks, count, type.blockBytes, at: 108, 108)
    case .Q6_K: firstWithHalf(blocks, count, type.blockBytes, at: 208, 208)
    case .TQ1_0: firstWithHalf(blocks, count, type.blockBytes, at: 52, 52)
    case .TQ2_0: firstWithHalf(blocks, count, type.blockBytes, at: 64, 64)
    case .IQ1_M: (0..<count).first { !BlockIQ1_M(blocks + $0 &* BlockIQ1_M.bytes).d.isFinite }
    case .Q8_K: (0..<count).first { !BlockQ8_K(blocks + $0 &* BlockQ8_K.bytes).d.isFinite }
    // 255 is E8M0's NaN.
    case .MXFP4: (0..<count).first { blocks.load(fromByteOffset: $0 &* BlockMXFP4.bytes, as: UInt8.self) == 255 }
    case .NVFP4, .I8, .I16, .I32, .I64: nil
    }
}

/// For blocks of a single number: the first whose exponent bits are all set.
@inline(__always)
private func firstNonFinite<Bits: FixedWidthInteger & UnsignedInteger>(
    _ values: UnsafeRawPointer, _ count: Int, exponent: Bits
) -> Int? {
    let stride = MemoryLayout<Bits>.size
    // Added to an exponent whose bits are all set, its lowest bit carries into the sign's place.
    let lowest = exponent & (~exponent &+ 1)
    let sign = ~(Bits.max >> 1)
    @inline(__always)
    func carry(_ index: Int) -> Bits {
        (Bits(littleEndian: (values + index &* stride).loadUnaligned(as: Bits.self)) & exponent) &+ lowest
    }
    // Check whole runs without a branch or a comparison, which vectorizes; then search the run that has one.
    let run = 1024
    var start = 0
    while start < count {
        let end = min(start &+ run, count)
        var found: Bits = 0
        for index in start..<end { found |= carry(index) }
        if found & sign != 0 { return (start..<end).first { carry($0) & sign != 0 } }
        start = end
    }
    return nil
}

@inline(__always)
private func firstWithHalf(
    _ blocks: UnsafeRawPointer, _ count: Int, _ bytes: Int, at first: Int, _ second: Int
) -> Int? {
    @inline(__always)
    func isNonFinite(_ pointer: UnsafeRawPointer) -> Bool {
        UInt16(littleEndian: pointer.loadUnaligned(as: UInt16.self)) & 0x7c00 == 0x7c00
    }
    for index in 0..<count {
        let block = blocks + index &* bytes
        if isNonFinite(block + first) || isNonFinite(block + second) { return index }
    }
    return nil
}
