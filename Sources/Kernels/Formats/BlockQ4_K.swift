/// 256 values of 4 bits; each 32 have a 6-bit scale and a 6-bit minimum.
///
///     | d: f16 | dmin: f16 | scales: 12 bytes | qs: 128 bytes |
///
///     value = d · scale[j / 32] · q - dmin · minimum[j / 32]
///
/// Each 32 bytes of qs hold 64 values: the low nibble of byte i is value i, the high one value 32 + i.
public struct BlockQ4_K {
    public static let values = 256
    public static let bytes = 144

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var dmin: Float { loadHalf(base + 2) }

    /// Packed; see `scale(_:)` and `minimum(_:)`.
    @inlinable @inline(__always)
    public var scales: UnsafePointer<UInt8> { (base + 4).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 16).assumingMemoryBound(to: UInt8.self) }

    /// The scale of values `32 * index ..< 32 * index + 32`, in 0...63.
    @inlinable @inline(__always)
    public func scale(_ index: Int) -> UInt8 { packedScale(scales, index) }

    /// The minimum of the same values, in 0...63.
    @inlinable @inline(__always)
    public func minimum(_ index: Int) -> UInt8 { packedMinimum(scales, index) }
}
