// Attention of 32 query rows, side by side, over one page in 16-bit integers, or with keys of 8 bits; see `WordPage`,
// `ByteKeys`, and `KernelsPortable.attendPage` for the method.
//
// Scores and weighted values are products of a tile of tokens, or columns, by two registers of rows; a block has one or two
// such parts. The scale of a token's value is part of the token's weight: its logarithm is added to the score, and for the sum
// of the weights the weight is divided by it. Weights are rounded relative to the largest of their row in this page, so that
// pages with small weights keep their precision.

public import KernelFormats

/// Adds one page to the running state of blocks of 32 rows, for value widths that are multiples of the tile's columns.
///
/// A row's results do not depend on the others', nor on tokens that it does not attend to. With a number in its query, or
/// in a key or value that it attends to, that is not finite they are NaN.
///
/// - Parameter computeScores: Writes the scores of a part to its scratch, as `computeWordScores`.
@inlinable @inline(__always)
public func attendWords<Tile: IntegerTile>(
    _: Tile.Type, _ work: WordAttention, _ computeScores: (WordAttention) -> Void
) {
    for index in 0..<work.count &* BlockAttention.rows / Tile.rows {
        let part = work.part(index, rows: Tile.rows)
        // With few queries, the last part of a block is empty.
        guard part.isSeen(fromRows: Tile.rows) else { continue }
        computeScores(part)
        var weights = PageWeights<Tile.V>(part)
        let factors = weights.finish(part)
        addValues(Tile.self, part, factors.low, factors.high, beside: &weights)
    }
}

/// The same, but the weights of a part are computed between the products of the part before, for processors where most
/// instructions of a softmax need other units than products of integers do.
@inlinable @inline(__always)
public func attendWordsInterleaved<Tile: IntegerTile>(
    _: Tile.Type, _ work: WordAttention, _ computeScores: (WordAttention) -> Void
) {
    var part = work.part(0, rows: Tile.rows)
    computeScores(part)
    var weights = PageWeights<Tile.V>(part)
    var factors = weights.finish(part)
    for index in 1..<max(1, work.count &* BlockAttention.rows / Tile.rows) {
        let next = work.part(index, rows: Tile.rows)
        computeScores(next)
        weights = PageWeights(next)
        addValues(Tile.self, part, factors.low, factors.high, beside: &weights)
        factors = weights.finish(next)
        part = next
    }
    addValues(Tile.self, part, factors.low, factors.high, beside: &weights)
}

/// Adds the weighted values of a part, and computes weights in between until they are complete.
///
/// - Parameter next: Weights of the next part, or complete ones.
@inlinable @inline(__always)
func addValues<Tile: IntegerTile>(
    _: Tile.Type, _ part: WordAttention, _ low: OutputFactors<Tile.V>, _ high: OutputFactors<Tile.V>,
    beside next: inout PageWeights<Tile.V>
) {
    typealias V = Tile.V
    let (rows, page, pairs) = (BlockAttention.rows, part.page, pageTokens / 2)
    let keepsOutputs = low.keepsOutputs && high.keepsOutputs
    let stride = 4 &* page.valueWidth
    // Of each tile: pairs of weights beside it, and pairs of values before each of their tokens.
    let weightPairs = min(pairs / 2, (2 &* pairs &* Tile.count &+ page.valueWidth &- 1) / page.valueWidth)
    let valuePairs = pairs / (2 &* weightPairs)
    let (step, rowStep) = (stride &* valuePairs, 4 &* rows &* valuePairs)
    var column = 0
    while column < page.valueWidth {
        var sums = Tile { _ in V(0) }
        var (values, weights, left) = (
            UnsafeRawPointer(page.values + 4 &* column), UnsafeRawPointer(part.scratch), pairs
        )
        for _ in 0..<weightPairs where !next.isComplete {
            sums = sums.adding(values, stride, weights, valuePairs, by: WordProducts.self)
            let first = next.first()
            sums = sums.adding(values + step, stride, weights + rowStep, valuePairs, by: WordProducts.self)
            next.second(first)
            values += 2 &* step
            weights += 2 &* rowStep
            left &-= 2 &* valuePairs
        }
        sums = sums.adding(values, stride, weights, left, by: WordProducts.self)
        let outputs = part.outputs + column &* rows
        if keepsOutputs {
            sums.forEach { index, first, second in
                let target = outputs + index &* rows
                store(first, low.new, .load(target), target)
                store(second, high.new, .load(target + V.count), target + V.count)
            }
        } else {
            sums.forEach { index, first, second in
                let target = outputs + index &* rows
                store(first, low.new, .load(target) * low.old, target)
                store(second, high.new, .load(target + V.count) * high.old, target + V.count)
            }
        }
        column &+= Tile.count
    }
}

/// Computes a part's scores, times log2(e), plus the logarithms of the values' scales; or, if `changes` are still to be
/// applied, the plain scores.
@inlinable @inline(__always)
public func computeWordScores<Tile: IntegerTile>(_: Tile.Type, _ part: WordAttention) {
    let page = part.page
    for token in stride(from: 0, to: pageTokens, by: Tile.count) {
        var sums = Tile { _ in Tile.V(0) }
        sums = sums.adding(
            page.keys + 4 &* token, 4 &* pageTokens, part.queries, (page.keyWidth &+ 1) / 2,
            by: WordProducts.self)
        storeScores(sums, part.scales, part, token)
    }
}

@usableFromInline let logOfE: Float = 1.442_695_04

/// Stores the scores of a tile.
@inlinable @inline(__always)
public func storeScores<Tile: IntegerTile>(
    _ sums: Tile, _ queryScales: UnsafePointer<Float>, _ part: WordAttention, _ token: Int
) {
    typealias Floats = Tile.V.Floats
    let (rows, page) = (BlockAttention.rows, part.page)
    let isChanged = !part.changes.isEmpty
    let unit = Floats(isChanged ? 1 : logOfE)
    let (low, high) = (Floats.load(queryScales) * unit, Floats.load(queryScales + Floats.count) * unit)
    let (scales, logarithms) = (page.scales + token, page.logarithms + token)
    sums.forEach { index, first, second in
        let scale = Floats(scales[index])
        let logarithm = Floats(isChanged ? 0 : logarithms[index])
        let target = part.scratch + (token &+ index) &* rows
        store(first, low * scale, logarithm, target)
        store(second, high * scale, logarithm, target + Floats.count)
    }
}

/// Stores `sum + integers · factor`.
@inlinable @inline(__always)
func store<V: IntegerVector>(_ integers: V, _ factor: V.Floats, _ sum: V.Floats, _ target: UnsafeMutablePointer<Float>)
{
    V.Floats.multiplyAdd(integers.floats, factor, sum).store(target)
}

/// Applies softcap and linear bias to the scores of some rows, a register.
@inlinable @inline(__always)
public func changeScores<V: KernelVector>(
    _: V.Type, _ scores: UnsafeMutablePointer<Float>, _ changes: ScoreChanges, _ row: Int
) {
    let mask = V.count &- 1
    for token in 0..<pageTokens {
        let place = scores + token &* BlockAttention.rows
        var s = V.load(place)
        if changes.softcap != 0 { s = softcap(s, changes.softcap) }
        if let slopes = changes.slopes, let offsets = changes.offsets {
            let distances = V(Float(token & mask)) + (.load(offsets + row) + V(Float(token & ~mask)))
            s = .multiplyAdd(.load(slopes + row), distances, s)
        }
        s.store(place)
    }
}

/// Applies the changes to a part's plain scores, and turns them into those that `computeWordScores` computes without.
@inlinable @inline(__always)
public func changeWordScores<Tile: IntegerTile>(_: Tile.Type, _ part: WordAttention) {
    typealias Floats = Tile.V.Floats
    for row in stride(from: 0, to: Tile.rows, by: Floats.count) {
        changeScores(Floats.self, part.scratch + row, part.changes, row)
        for token in 0..<pageTokens {
            let place = part.scratch + token &* BlockAttention.rows + row
            Floats.multiplyAdd(.load(place), Floats(logOfE), Floats(part.page.logarithms[token])).store(place)
        }
    }
}
