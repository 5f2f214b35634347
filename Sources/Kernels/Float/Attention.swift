// Attention over one page of the KV cache; see `KernelsPortable.attendPage` for the layout and the method.
//
// Some query rows at a time, so that each load of keys or values feeds a multiply-add per row.

public import CIntrinsics
public import KernelFormats

/// As `KernelsPortable.attendPage`, for value widths that are multiples of `V.count`.
///
/// - Parameters:
///   - many: The sums of as many rows as the registers hold, at most `attendRows`, by the 32 tokens of a page or by 32
///     columns.
///   - few: The same of fewer rows, for the last ones.
///   - work: Its `page` is not read.
///   - page: `[D][32]` keys and `[32][Dv]` values.
///   - next: The page to prefetch, if any.
@inlinable @inline(__always)
public func attend<V: KernelVector, Many: RowSums, Few: RowSums, Numbers: NumberFormat>(
    _: V.Type, _ many: Many.Type, _ few: Few.Type, _ work: PageAttention, _: Numbers.Type, _ page: UnsafeRawPointer,
    next: UnsafeRawPointer?
) where Many.V == Few.V {
    let (queries, outputs, first, end, rows) = (work.queries, work.outputs, work.first, work.end, work.rows)
    let (keyWidth, valueWidth) = (work.keyWidth, work.valueWidth)
    let (maxima, sums, changes) = (work.maxima, work.sums, work.changes)
    let weights = work.scratch
    let valuesOffset = pageTokens &* Numbers.bytes &* keyWidth
    let values = page + valuesOffset
    var row = 0
    while row < rows {
        let count = Swift.min(Many.rows, rows &- row)
        // The first rows prefetch.
        let nextKeys = row == 0 ? next : nil
        var nextValues: UnsafeRawPointer?
        if let nextKeys { nextValues = nextKeys + valuesOffset }
        let (q, o) = (BlockRows(queries, row, rows), BlockRows(outputs, row, rows))
        if count > Few.rows {
            scores(Many.self, Numbers.self, q, page, keyWidth, weights, next: nextKeys)
        } else {
            scores(Few.self, Numbers.self, q, page, keyWidth, weights, next: nextKeys)
        }
        if !changes.isEmpty {
            for index in 0..<count { change(V.self, weights + pageTokens &* index, changes, row &+ index) }
        }
        for index in 0..<count {
            let (mine, r) = (weights + pageTokens &* index, row &+ index)
            weigh(V.self, Many.V.self, mine, Int(first[r]), Int(end[r]), &maxima[r], &sums[r], outputs[r], valueWidth)
        }
        if count > Few.rows {
            addValues(Many.self, Numbers.self, weights, values, valueWidth, o, next: nextValues)
        } else {
            addValues(Few.self, Numbers.self, weights, values, valueWidth, o, next: nextValues)
        }
        for index in 0..<count {
            addLastValues(
                V.self, Numbers.self, weights + pageTokens &* index, values, valueWidth, outputs[row &+ index])
        }
        row &+= Many.rows
    }
}

/// Something of up to eight rows from `row` on. The last row stands for those behind it: their results are not used.
@usableFromInline
struct BlockRows<Row> {
    @usableFromInline let r0: Row, r1: Row, r2: Row, r3: Row, r4: Row, r5: Row, r6: Row, r7: Row

    @inlinable @inline(__always)
    init(_ all: UnsafePointer<Row>, _ row: Int, _ count: Int) {
        let last = count &- 1
        (r0, r1, r2) = (all[row], all[Swift.min(row &+ 1, last)], all[Swift.min(row &+ 2, last)])
        (r3, r4, r5) = (
            all[Swift.min(row &+ 3, last)], all[Swift.min(row &+ 4, last)], all[Swift.min(row &+ 5, last)]
        )
        (r6, r7) = (all[Swift.min(row &+ 6, last)], all[Swift.min(row &+ 7, last)])
    }

    /// The index is a constant once this is inlined.
    @inlinable @inline(__always)
    subscript(index: Int) -> Row {
        switch index {
        case 0: r0
        case 1: r1
        case 2: r2
        case 3: r3
        case 4: r4
        case 5: r5
        case 6: r6
        default: r7
        }
    }
}

/// `out[32 · r + t] = q of row r · key t`.
@inlinable @inline(__always)
func scores<Sums: RowSums, Numbers: NumberFormat>(
    _: Sums.Type, _: Numbers.Type, _ q: BlockRows<UnsafePointer<Float>>, _ keys: UnsafeRawPointer, _ width: Int,
    _ out: UnsafeMutablePointer<Float>, next: UnsafeRawPointer?
) {
    var sums = Sums { _ in Sums.V(0) }
    var k = keys
    for d in 0..<width {
        if let next { prefetch_to_l2(next + pageTokens &* Numbers.bytes &* d) }
        sums.add(Numbers.load(k)) { q[$0][d] }
        k += pageTokens &* Numbers.bytes
    }
    sums.forEachReversed { $1.store(out + pageTokens &* $0) }
}

/// Applies softcap and linear bias to the scores of a row.
@inlinable @inline(__always)
func change<V: KernelVector>(
    _: V.Type, _ scores: UnsafeMutablePointer<Float>, _ changes: ScoreChanges, _ row: Int
) {
    var t = 0
    while t < pageTokens {
        var s = V.load(scores + t)
        if changes.softcap != 0 { s = softcap(s, changes.softcap) }
        if let slopes = changes.slopes, let offsets = changes.offsets {
            let distances = V.indices + V(offsets[row] + Float(t))
            s = .multiplyAdd(V(slopes[row]), distances, s)
        }
        s.store(scores + t)
        t &+= V.count
    }
}

/// `limit · tanh(s / limit)`, with tanh x = 1 − 2 / (1 + e^2x).
@inlinable @inline(__always)
public func softcap<V: KernelVector>(_ s: V, _ limit: Float) -> V {
    let e = exponential(s * V(2 / limit))
    let tanh = V(1) - V(2) / (V(1) + e)
    return tanh * V(limit)
}

/// Turns a row's scores into weights e^(s − m), 0 for masked tokens, and rescales its state to the new maximum.
@inlinable @inline(__always)
func weigh<V: KernelVector, Page: KernelVector>(
    _: V.Type, _: Page.Type, _ scores: UnsafeMutablePointer<Float>, _ first: Int, _ end: Int, _ maximum: inout Float,
    _ total: inout Float, _ output: UnsafeMutablePointer<Float>, _ width: Int
) {
    if first >= end {
        for t in 0..<pageTokens { scores[t] = 0 }
        return
    }
    for t in 0..<first { scores[t] = -.infinity }
    for t in end..<pageTokens { scores[t] = -.infinity }
    let s = Page.load(scores)
    let highest = s.largest
    if highest > maximum {
        // For the first page: e^(−∞) is 0, and the state is 0 anyway.
        let rescale = exponential(V(maximum - highest)).first
        let factor = V(rescale)
        var d = 0
        while d < width {
            (V.load(output + d) * factor).store(output + d)
            d &+= V.count
        }
        total *= rescale
        maximum = highest
    }
    let weights = exponential(s - Page(maximum))
    total += weights.sum
    weights.store(scores)
}

/// `o += Σ weights[32 · r + t] · value t`, 32 columns at a time.
@inlinable @inline(__always)
func addValues<Sums: RowSums, Numbers: NumberFormat>(
    _: Sums.Type, _: Numbers.Type, _ weights: UnsafePointer<Float>, _ values: UnsafeRawPointer, _ width: Int,
    _ o: BlockRows<UnsafeMutablePointer<Float>>, next: UnsafeRawPointer?
) {
    var d = 0
    while d &+ Sums.V.count <= width {
        var sums = Sums { .load(o[$0] + d) }
        var v = values + d &* Numbers.bytes
        for t in 0..<pageTokens {
            if let next { prefetch_to_l2(next + pageTokens &* Numbers.bytes &* (d &+ t)) }
            sums.add(Numbers.load(v)) { weights[pageTokens &* $0 &+ t] }
            v += width &* Numbers.bytes
        }
        sums.forEachReversed { $1.store(o[$0] + d) }
        d &+= Sums.V.count
    }
}

/// As above for one row, and the last columns of a width that is no multiple of 32.
@inlinable @inline(__always)
func addLastValues<V: KernelVector, Numbers: NumberFormat>(
    _: V.Type, _: Numbers.Type, _ weights: UnsafePointer<Float>, _ values: UnsafeRawPointer, _ width: Int,
    _ o: UnsafeMutablePointer<Float>
) {
    var d = width & ~31
    while d < width {
        var sum = V.load(o + d)
        var v = values + d &* Numbers.bytes
        for t in 0..<pageTokens {
            sum = .multiplyAdd(V(weights[t]), Numbers.load(v), sum)
            v += width &* Numbers.bytes
        }
        sum.store(o + d)
        d &+= V.count
    }
}
