/// Sixteen bytes: codes of a block.
public protocol CodeVector {
    static func load(_ p: UnsafeRawPointer) -> Self
    /// Four bytes, four times.
    init(repeating bytes: UInt32)
    /// 16 for each of the lowest sixteen bits that is set, else 0.
    init(sixteenWhereSet bits: UInt32)

    static func | (a: Self, b: Self) -> Self
    /// The bits of the mask in each byte, shifted right by `shift`.
    func bits(from shift: Int, mask: UInt8) -> Self
    /// 16 times codes below 16.
    func timesSixteen() -> Self
    /// Modulo 256.
    func subtracting(_ value: UInt8) -> Self
    /// `value` for each byte that has the bit set, else 0.
    func selecting(_ value: UInt8, whereBit bit: Int) -> Self
    /// `iq4Levels[code]` for each code.
    func iq4Levels() -> Self
    /// The bytes of both in turns.
    static func interleave(_ a: Self, _ b: Self) -> (Self, Self)
}

extension CodeVector {
    @inlinable @inline(__always)
    var lowNibbles: Self { bits(from: 0, mask: 15) }
    @inlinable @inline(__always)
    var highNibbles: Self { bits(from: 4, mask: 15) }
}

/// Eight floats, which are unpacked from codes, and whose products are summed up in a fixed order.
public protocol BlockVector: KernelVector {
    associatedtype Codes: CodeVector
    /// The first eight codes, and the last.
    static func floats(unsigned codes: Codes) -> (Self, Self)
    static func floats(signed codes: Codes) -> (Self, Self)
    static func floats(unsigned bytes: UInt64) -> Self
    static func floats(signed bytes: UInt64) -> Self
    /// The half-precision number at `p`, in any alignment, in all lanes.
    static func half(_ p: UnsafeRawPointer) -> Self
    /// The value of a lane, in all lanes.
    func lane(_ index: Int) -> Self
    /// The lanes of each, added as ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)).
    static func sums(_ a: Self, _ b: Self, _ c: Self, _ d: Self) -> SIMD4<Float>
}
