// Detects scales that are infinite or NaN, since one of them makes every logit NaN.

public import KernelFormats

/// Index of the first of `count` blocks with a scale, or float value, that is not finite; `nil` if all are finite.
@inline(never)
public func firstNonFiniteBlock(_ type: TensorType, _ blocks: UnsafeRawPointer, count: Int) -> Int? {
    switch type {
    case .F32: firstNonFinite(blocks, count, exponent: 0x7f80_0000 as UInt32)
    case .F16: firstNonFinite(blocks, count, exponent: 0x7c00 as UInt16)
    case .BF16: firstNonFinite(blocks, count, exponent: 0x7f80 as UInt16)
    case .F64: firstNonFinite(blocks, count, exponent: 0x7ff0_0000_0000_0000 as UInt64)
    default: type.run(ScaleCheck(blocks: blocks, count: count)) ?? nil
    }
}

private struct ScaleCheck: PortableKernel {
    let blocks: UnsafeRawPointer
    let count: Int

    func run<B: PortableBlock>(_: B.Type) -> Int? { B.firstNonFinite(blocks, count: count) }
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
