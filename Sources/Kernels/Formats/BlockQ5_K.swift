/// 256 values of 5 bits; each 32 have a 6-bit scale and a 6-bit minimum, packed as in Q4_K.
///
///     | d: f16 | dmin: f16 | scales: 12 bytes | qh: 32 bytes | qs: 128 bytes |
///
///     value = d · scale[j / 32] · q - dmin · minimum[j / 32]
///
/// The low four bits of q are packed as in Q4_K. Its fifth bit, for value 32k + i, is bit k of qh[i].
public struct BlockQ5_K {
    public static let values = 256
    public static let bytes = 176

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var dmin: Float { loadHalf(base + 2) }

    /// Packed; see `scale(_:)` and `minimum(_:)`.
    @inlinable @inline(__always)
    public var scales: UnsafePointer<UInt8> { (base + 4).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qh: UnsafePointer<UInt8> { (base + 16).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 48).assumingMemoryBound(to: UInt8.self) }

    /// The scale of values `32 * index ..< 32 * index + 32`, in 0...63.
    @inlinable @inline(__always)
    public func scale(_ index: Int) -> UInt8 { packedScale(scales, index) }

    /// The minimum of the same values, in 0...63.
    @inlinable @inline(__always)
    public func minimum(_ index: Int) -> UInt8 { packedMinimum(scales, index) }
}
