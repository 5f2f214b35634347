/// Eight floats of eight groups: the vectors of a tier, from which the search for scales is built.
///
/// A group is a run of values with a scale of its own. Each lane holds a value, or a sum, of another group, so nothing is
/// added across lanes. All tiers compute the same bits: no product is fused with a sum, `min(a, b)` is `a < b ? a : b`,
/// and `max(a, b)` is `b < a ? a : b`.
public protocol Lanes: FloatVector {
    /// Eight 32-bit integers.
    associatedtype Integers

    /// Stores the nearest half-precision values, and returns them.
    func storeHalves(_ p: UnsafeMutablePointer<UInt16>) -> Self

    /// `a < b ? x : y`.
    static func choose(_ a: Self, below b: Self, _ x: Self, else y: Self) -> Self
    /// As `rounded`; of values below, any number of at most -2¹⁵.
    func integers() -> Integers

    /// The nearest of `iq4Levels`, and its index.
    func iq4Level() -> Self
    func iq4Code() -> Integers
    /// The nearest doubled value of E2M1, and its code.
    func e2m1Level() -> Self
    func e2m1Code() -> Integers

    /// Transposes eight columns of eight rows, `stride` values apart.
    static func transpose(_ rows: UnsafePointer<Float>, stride: Int, into columns: UnsafeMutablePointer<Float>)
    /// Four bytes: the integers plus `bias`, bounded to `0...top`.
    static func bytes(_ a: Integers, _ b: Integers, _ c: Integers, _ d: Integers, bias: Int16, top: UInt8) -> Integers
    /// Stores the four integers of each lane side by side, those of the next lane `stride` bytes behind.
    static func storeRows(
        _ a: Integers, _ b: Integers, _ c: Integers, _ d: Integers, _ rows: UnsafeMutableRawPointer, stride: Int)
    /// Packs the low nibbles of codes 0…15 and 16…31 into 16 bytes.
    static func packNibbles(_ codes: UnsafePointer<UInt8>, into bytes: UnsafeMutableRawPointer)
    /// The fifth bits of 32 codes, that of code j as bit j.
    static func fifthBits(_ codes: UnsafePointer<UInt8>) -> UInt32
}

extension Lanes {
    /// 1 / scale; 0 if the scale is zero or its inverse infinite, which maps all values to the level nearest to zero.
    @inlinable @inline(__always)
    public var reciprocal: Self {
        let inverse = Self(1) / self
        return .choose(.max(inverse, Self(0) - inverse), below: Self(.infinity), inverse, else: Self(0))
    }

    /// The least of the eight values.
    @inlinable @inline(__always)
    var least: Float {
        withUnsafeTemporaryAllocation(of: Float.self, capacity: 8) {
            let lanes = $0.baseAddress!
            store(lanes)
            var least = lanes[0]
            for lane in 1..<8 where lanes[lane] < least { least = lanes[lane] }
            return least
        }
    }
}

/// How values are rounded to the levels of a format, which are multiplied by the scale.
public protocol Rounding {
    associatedtype V: Lanes
    var lowest: Float { get }
    var highest: Float { get }
    /// Distance of levels at the ends: the tried scales map the largest value to within this of an end.
    var spacing: Float { get }
    func nearest(_ values: V) -> V
    /// The code of the nearest level to each value, less `bias`; those below 0 then stand for 0.
    func codes(_ values: V) -> V.Integers
    var bias: Int16 { get }
    /// The greatest code.
    var top: UInt8 { get }
}

/// The integers from `lowest` to `highest`; codes count from `lowest`.
public struct UniformRounding<V: Lanes>: Rounding {
    public let lowest: Float
    public let highest: Float

    @inlinable @inline(__always)
    public init(_ lowest: Float, _ highest: Float) {
        self.lowest = lowest
        self.highest = highest
    }

    @inlinable @inline(__always) public var spacing: Float { 1 }
    @inlinable @inline(__always) public var bias: Int16 { Int16(-lowest) }
    @inlinable @inline(__always) public var top: UInt8 { UInt8(highest - lowest) }

    @inlinable @inline(__always)
    public func nearest(_ values: V) -> V { V.min(.max(values, V(lowest)), V(highest)).rounded() }

    @inlinable @inline(__always)
    public func codes(_ values: V) -> V.Integers { V.min(values, V(highest)).integers() }
}

/// The nearest integers, for values that are within the levels.
public struct IntegerRounding<V: Lanes>: Rounding {
    @inlinable @inline(__always) public init() {}
    @inlinable @inline(__always) public var lowest: Float { 0 }
    @inlinable @inline(__always) public var highest: Float { 255 }
    @inlinable @inline(__always) public var spacing: Float { 1 }
    @inlinable @inline(__always) public var bias: Int16 { 0 }
    @inlinable @inline(__always) public var top: UInt8 { 255 }
    @inlinable @inline(__always) public func nearest(_ values: V) -> V { values.rounded() }
    @inlinable @inline(__always) public func codes(_ values: V) -> V.Integers { values.integers() }
}

/// `iq4Levels`.
public struct IQ4Rounding<V: Lanes>: Rounding {
    @inlinable @inline(__always) public init() {}
    @inlinable @inline(__always) public var lowest: Float { -127 }
    @inlinable @inline(__always) public var highest: Float { 113 }
    @inlinable @inline(__always) public var spacing: Float { 12 }
    @inlinable @inline(__always) public var bias: Int16 { 0 }
    @inlinable @inline(__always) public var top: UInt8 { 15 }
    @inlinable @inline(__always) public func nearest(_ values: V) -> V { values.iq4Level() }
    @inlinable @inline(__always) public func codes(_ values: V) -> V.Integers { values.iq4Code() }
}

/// The 4-bit float E2M1, doubled: 0, 1, 2, 3, 4, 6, 8, 12 and their negatives.
public struct E2M1Rounding<V: Lanes>: Rounding {
    @inlinable @inline(__always) public init() {}
    @inlinable @inline(__always) public var lowest: Float { -12 }
    @inlinable @inline(__always) public var highest: Float { 12 }
    @inlinable @inline(__always) public var spacing: Float { 4 }
    @inlinable @inline(__always) public var bias: Int16 { 0 }
    @inlinable @inline(__always) public var top: UInt8 { 15 }
    @inlinable @inline(__always) public func nearest(_ values: V) -> V { values.e2m1Level() }
    @inlinable @inline(__always) public func codes(_ values: V) -> V.Integers { values.e2m1Code() }
}

/// Weights of the values in the squared error, transposed like these.
public protocol Weights {
    associatedtype V: Lanes
    /// Whether all weights are one.
    static var areEqual: Bool { get }
    init(_ w: UnsafePointer<Float>)
    /// The weights of values `index` of all groups, times `values`.
    func weigh(_ values: V, at index: Int) -> V
    /// Those of the next eight groups of `count` values.
    func next(_ count: Int) -> Self
}

/// Weights of one: the same results as if they were stored.
public struct EqualWeights<V: Lanes>: Weights {
    @inlinable @inline(__always) public static var areEqual: Bool { true }
    @inlinable @inline(__always) public init(_: UnsafePointer<Float>) {}
    @inlinable @inline(__always) public func weigh(_ values: V, at index: Int) -> V { values }
    @inlinable @inline(__always) public func next(_ count: Int) -> Self { self }
}

public struct StoredWeights<V: Lanes>: Weights {
    @usableFromInline let w: UnsafePointer<Float>

    @inlinable @inline(__always) public static var areEqual: Bool { false }
    @inlinable @inline(__always) public init(_ w: UnsafePointer<Float>) { self.w = w }
    @inlinable @inline(__always)
    public func weigh(_ values: V, at index: Int) -> V { values * V.load(w + 8 &* index) }
    @inlinable @inline(__always) public func next(_ count: Int) -> Self { Self(w + 8 &* count) }
}
