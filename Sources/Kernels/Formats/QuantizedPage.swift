/// The layout of one head's keys and values of 32 tokens in a quantized cache format: codes of 8 or 4 bits, with a
/// half-precision scale per 32 values of a token.
///
///     keys     codes [keyWidth][32], then scales [groups][32]     transposed: 32 tokens side by side
///     values   codes [32][valueWidth], then scales [32][groups]
///
/// A code of 8 bits is a signed byte, the multiple of the scale. A code of 4 bits is an index into `iq4Levels`, which has
/// the multiple; even elements of a row are in low nibbles, odd ones in high nibbles, and a row starts at a whole byte.
/// If a width is not a multiple of 32, the last group is shorter. Offsets are in bytes, relative to the first key.
public struct QuantizedPage: Sendable {
    public enum Codes: Sendable {
        case bytes, nibbles
    }

    @inlinable @inline(__always)
    public static var tokens: Int { 32 }
    /// Values of a token that share a scale.
    @inlinable @inline(__always)
    public static var group: Int { 32 }

    public let codes: Codes
    public let keyWidth: Int
    public let valueWidth: Int

    @inlinable @inline(__always)
    public init(_ codes: Codes, keyWidth: Int, valueWidth: Int) {
        self.codes = codes
        self.keyWidth = keyWidth
        self.valueWidth = valueWidth
    }

    @inlinable @inline(__always)
    public var keyGroups: Int { (keyWidth &+ 31) / 32 }
    @inlinable @inline(__always)
    public var valueGroups: Int { (valueWidth &+ 31) / 32 }

    /// Bytes of the codes of 32 tokens for one element of the key.
    @inlinable @inline(__always)
    public var keyRow: Int { codes == .bytes ? 32 : 16 }
    /// Bytes of the codes of one value.
    @inlinable @inline(__always)
    public var valueRow: Int { codes == .bytes ? valueWidth : (valueWidth &+ 1) / 2 }

    @inlinable @inline(__always)
    public var keyScales: Int { keyRow &* keyWidth }
    @inlinable @inline(__always)
    public var values: Int { keyScales &+ 64 &* keyGroups }
    @inlinable @inline(__always)
    public var valueScales: Int { values &+ 32 &* valueRow }
    @inlinable @inline(__always)
    public var byteCount: Int { valueScales &+ 64 &* valueGroups }
}
