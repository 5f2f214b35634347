/// 256 values of 6 bits; each 16 have an 8-bit scale.
///
///     | ql: 128 bytes | qh: 64 bytes | scales: 16 × i8 | d: f16 |
///
///     value = d · scales[j / 16] · (q - 32)
///
/// Each half of 128 values has 64 bytes of ql and 32 of qh. The low nibbles of ql[0..<64] are the low four bits of
/// values 0..<64, the high ones those of 64..<128. Bits 2k and 2k + 1 of qh[i] are the high two bits of value 32k + i.
public struct BlockQ6_K {
    public static let values = 256
    public static let bytes = 210

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var ql: UnsafePointer<UInt8> { base.assumingMemoryBound(to: UInt8.self) }

    @inlinable @inline(__always)
    public var qh: UnsafePointer<UInt8> { (base + 128).assumingMemoryBound(to: UInt8.self) }

    @inlinable @inline(__always)
    public var scales: UnsafePointer<Int8> { (base + 192).assumingMemoryBound(to: Int8.self) }
    @inlinable @inline(__always) public var d: Float { loadHalf(base + 208) }
}
