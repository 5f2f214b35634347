/// The layout of one head's keys and values of 32 tokens in the q8_0 cache format: signed bytes, with a half-precision
/// scale per 32 values of a token.
///
///     keys     bytes [keyWidth][32], then scales [groups][32]     transposed: 32 tokens side by side
///     values   bytes [32][valueWidth], then scales [32][groups]
///
/// If a width is not a multiple of 32, the last group is shorter. Offsets are in bytes, relative to the first key.
public struct BytePage: Sendable {
    @inlinable @inline(__always)
    public static var tokens: Int { 32 }
    /// Values of a token that share a scale.
    @inlinable @inline(__always)
    public static var group: Int { 32 }

    public let keyWidth: Int
    public let valueWidth: Int

    @inlinable @inline(__always)
    public init(keyWidth: Int, valueWidth: Int) {
        self.keyWidth = keyWidth
        self.valueWidth = valueWidth
    }

    @inlinable @inline(__always)
    public var keyGroups: Int { (keyWidth &+ 31) / 32 }
    @inlinable @inline(__always)
    public var valueGroups: Int { (valueWidth &+ 31) / 32 }

    @inlinable @inline(__always)
    public var keyScales: Int { 32 &* keyWidth }
    @inlinable @inline(__always)
    public var values: Int { keyScales &+ 64 &* keyGroups }
    @inlinable @inline(__always)
    public var valueScales: Int { values &+ 32 &* valueWidth }
    @inlinable @inline(__always)
    public var byteCount: Int { valueScales &+ 64 &* valueGroups }
}
