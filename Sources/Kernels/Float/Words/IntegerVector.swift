public import KernelFormats

/// A register of 32-bit integers, each of which may be a pair of 16-bit ones or four bytes; with as many lanes as `Floats`.
public protocol IntegerVector {
    associatedtype Floats: KernelVector

    /// The value in all lanes.
    init(_ value: Int32)
    /// The 32 bits at `p`, in any alignment, in all lanes.
    init(repeating p: UnsafeRawPointer)
    static func load(_ p: UnsafeRawPointer) -> Self
    func store(_ p: UnsafeMutableRawPointer)

    static func + (a: Self, b: Self) -> Self
    static func & (a: Self, b: Self) -> Self
    static func | (a: Self, b: Self) -> Self
    func shiftedLeft(by bits: Int32) -> Self
    static func max(_ a: Self, _ b: Self) -> Self
    var largest: Int32 { get }
    static func areEqual(_ a: Self, _ b: Self) -> Bool
    /// `sum + a0 · b0 + a1 · b1` for the pairs of 16-bit integers in a lane.
    static func addProducts(_ sum: Self, _ a: Self, _ b: Self) -> Self

    /// The nearest integers.
    init(rounding x: Floats)
    var floats: Floats { get }
    /// The bits of floats.
    init(bitsOf x: Floats)
    var asFloats: Floats { get }

    static func squareRoot(_ x: Floats) -> Floats
    /// `a > b ? x : y`
    static func choose(_ a: Floats, above b: Floats, _ x: Floats, else y: Floats) -> Floats
    /// `first <= index && index < end ? x : y`
    static func choose(_ index: Int32, from first: Self, to end: Self, _ x: Floats, else y: Floats) -> Floats
}

extension IntegerVector {
    @inlinable @inline(__always)
    public static var count: Int { Floats.count }

    /// The bits of the floats without their signs. They are in the order of the magnitudes; those of NaN are above all others.
    @inlinable @inline(__always)
    public init(magnitudesOf x: Floats) { self = Self(bitsOf: x) & Self(0x7fff_ffff) }

    /// Pairs of words: the low halves of integers, and of others.
    @inlinable @inline(__always)
    public static func words(_ low: Self, _ high: Self) -> Self { low & Self(0xffff) | high.shiftedLeft(by: 16) }
}

/// How a tile's integers are multiplied.
public protocol IntegerProducts {
    associatedtype V: IntegerVector
    /// `sum` and the products of a row's integers and a token's.
    static func add(_ sum: V, _ row: V, _ x: V) -> V
}

/// Pairs of 16-bit integers.
public enum WordProducts<V: IntegerVector>: IntegerProducts {
    @inlinable @inline(__always)
    public static func add(_ sum: V, _ row: V, _ x: V) -> V { V.addProducts(sum, row, x) }
}

/// The sums of products of some tokens, or columns, and two registers of rows.
public protocol IntegerTile {
    associatedtype V: IntegerVector
    /// Number of tokens or columns.
    static var count: Int { get }
    /// Calls `start` with the index of each token.
    init(_ start: (Int) -> V)
    /// This tile and the products of each token's integers, 32 bits one behind the other, and each row's.
    ///
    /// It returns a new tile, since the compiler keeps one that is changed in place twice.
    func adding<Products: IntegerProducts>(_ x: UnsafeRawPointer, _ low: V, _ high: V, by _: Products.Type) -> Self
    where Products.V == V
    /// Calls `body` with the index of each token and its sums of the lower and the higher rows.
    func forEach(_ body: (Int, V, V) -> Void)
    /// What `body` returns for the index of each token, its sums, and those of another tile.
    func combined(with other: Self, _ body: (Int, (V, V), (V, V)) -> (V, V)) -> Self
}

extension IntegerTile {
    /// Number of rows.
    @inlinable @inline(__always)
    public static var rows: Int { 2 &* V.count }

    /// Adds `count` products for each row and token.
    ///
    /// - Parameters:
    ///   - x: Integers of the tokens, and further ones `stride` bytes apart.
    ///   - w: `[count][32 rows]` integers.
    @inlinable @inline(__always)
    public func adding<Products: IntegerProducts>(
        _ x: UnsafeRawPointer, _ stride: Int, _ w: UnsafeRawPointer, _ count: Int,
        by _: Products.Type
    ) -> Self where Products.V == V {
        var (x, w, sums) = (x, w, self)
        for _ in 0..<count {
            sums = sums.adding(x, .load(w), .load(w + 4 &* V.count), by: Products.self)
            x += stride
            w += 4 &* BlockAttention.rows
        }
        return sums
    }
}

public struct OneColumn<V: IntegerVector>: IntegerTile {
    @usableFromInline let low: V
    @usableFromInline let high: V

    @inlinable @inline(__always)
    public static var count: Int { 1 }
    @inlinable @inline(__always)
    public init(_ start: (Int) -> V) { self.init(start(0), start(0)) }
    @inlinable @inline(__always)
    init(_ low: V, _ high: V) { (self.low, self.high) = (low, high) }
    @inlinable @inline(__always)
    public func adding<Products: IntegerProducts>(
        _ x: UnsafeRawPointer, _ low: V, _ high: V, by _: Products.Type
    ) -> Self where Products.V == V {
        let x = V(repeating: x)
        return Self(Products.add(self.low, low, x), Products.add(self.high, high, x))
    }
    @inlinable @inline(__always)
    public func forEach(_ body: (Int, V, V) -> Void) { body(0, low, high) }
    @inlinable @inline(__always)
    public func combined(with other: Self, _ body: (Int, (V, V), (V, V)) -> (V, V)) -> Self {
        let (low, high) = body(0, (low, high), (other.low, other.high))
        return Self(low, high)
    }
}

/// The tokens or columns of `first`, then those of `second`.
public struct JoinedTiles<First: IntegerTile, Second: IntegerTile>: IntegerTile where First.V == Second.V {
    public typealias V = First.V
    @usableFromInline let first: First
    @usableFromInline let second: Second

    @inlinable @inline(__always)
    public static var count: Int { First.count &+ Second.count }
    @inlinable @inline(__always)
    public init(_ start: (Int) -> V) { self.init(First(start), Second { start($0 &+ First.count) }) }
    @inlinable @inline(__always)
    init(_ first: First, _ second: Second) { (self.first, self.second) = (first, second) }
    @inlinable @inline(__always)
    public func adding<Products: IntegerProducts>(
        _ x: UnsafeRawPointer, _ low: V, _ high: V, by _: Products.Type
    ) -> Self where Products.V == V {
        Self(
            first.adding(x, low, high, by: Products.self),
            second.adding(x + 4 &* First.count, low, high, by: Products.self))
    }
    @inlinable @inline(__always)
    public func forEach(_ body: (Int, V, V) -> Void) {
        first.forEach(body)
        second.forEach { body($0 &+ First.count, $1, $2) }
    }
    @inlinable @inline(__always)
    public func combined(with other: Self, _ body: (Int, (V, V), (V, V)) -> (V, V)) -> Self {
        Self(
            first.combined(with: other.first, body),
            second.combined(with: other.second) { body($0 &+ First.count, $1, $2) })
    }
}

public typealias TwoColumns<V: IntegerVector> = JoinedTiles<OneColumn<V>, OneColumn<V>>
public typealias FourColumns<V: IntegerVector> = JoinedTiles<TwoColumns<V>, TwoColumns<V>>
public typealias SixColumns<V: IntegerVector> = JoinedTiles<FourColumns<V>, TwoColumns<V>>
public typealias EightColumns<V: IntegerVector> = JoinedTiles<FourColumns<V>, FourColumns<V>>
