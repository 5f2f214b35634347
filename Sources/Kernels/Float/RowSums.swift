/// Sums of several rows in registers, a vector each: each load of values feeds a multiply-add per row.
public protocol RowSums {
    associatedtype V: KernelVector
    static var rows: Int { get }
    /// Calls `start` with the index of each row, as the functions below.
    init(_ start: (Int) -> V)
    /// Adds the products of the values and a factor of each row.
    mutating func add(_ values: V, times factor: (Int) -> Float)
    /// The last row comes first, so that of rows that are stored to the same place the first one stays.
    func forEachReversed(_ body: (Int, V) -> Void)
}

public struct OneRow<V: KernelVector>: RowSums {
    @usableFromInline var sum: V

    @inlinable @inline(__always)
    public static var rows: Int { 1 }
    @inlinable @inline(__always)
    public init(_ start: (Int) -> V) { sum = start(0) }
    @inlinable @inline(__always)
    public mutating func add(_ values: V, times factor: (Int) -> Float) {
        sum = .multiplyAdd(V(factor(0)), values, sum)
    }
    @inlinable @inline(__always)
    public func forEachReversed(_ body: (Int, V) -> Void) { body(0, sum) }
}

/// The rows of `first`, then those of `second`.
public struct JoinedRows<First: RowSums, Second: RowSums>: RowSums where First.V == Second.V {
    public typealias V = First.V
    @usableFromInline var first: First
    @usableFromInline var second: Second

    @inlinable @inline(__always)
    public static var rows: Int { First.rows &+ Second.rows }
    @inlinable @inline(__always)
    public init(_ start: (Int) -> V) {
        first = First(start)
        second = Second { start($0 &+ First.rows) }
    }
    @inlinable @inline(__always)
    public mutating func add(_ values: V, times factor: (Int) -> Float) {
        first.add(values, times: factor)
        second.add(values) { factor($0 &+ First.rows) }
    }
    @inlinable @inline(__always)
    public func forEachReversed(_ body: (Int, V) -> Void) {
        second.forEachReversed { body($0 &+ First.rows, $1) }
        first.forEachReversed(body)
    }
}

public typealias TwoRows<V: KernelVector> = JoinedRows<OneRow<V>, OneRow<V>>
public typealias FourRows<V: KernelVector> = JoinedRows<TwoRows<V>, TwoRows<V>>
public typealias SixRows<V: KernelVector> = JoinedRows<FourRows<V>, TwoRows<V>>
public typealias EightRows<V: KernelVector> = JoinedRows<FourRows<V>, FourRows<V>>
