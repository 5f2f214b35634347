/// 256 values of -1, 0 or 1, five to a byte, with one scale.
///
///     | qs: 48 bytes | qh: 4 bytes | d: f16 |          value = d · (digit - 1)
///
/// A byte is the fraction 0.t₀t₁t₂t₃t₄ in base 3, in units of 1/256 and rounded up: multiply by 3ⁿ modulo 256, and
/// three times what is left has digit n as its integer part. Digit n of qs[i] is value 32n + i for i < 32, and value
/// 160 + 16n + (i - 32) above. qh has four digits a byte: digit n of qh[i] is value 240 + 4n + i.
public struct BlockTQ1_0 {
    public static let values = 256
    public static let bytes = 54

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { base.assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qh: UnsafePointer<UInt8> { (base + 48).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var d: Float { loadHalf(base + 52) }
}
