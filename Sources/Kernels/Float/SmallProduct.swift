// The products of recurrent layers.

public import KernelFormats

/// As `KernelsPortable.smallProduct`, for a multiple of `V.count` columns.
///
/// Six rows by two vectors of columns stay in registers: two loads and six broadcasts feed twelve multiply-adds. The
/// remaining rows are computed in twos with four vectors; an odd last one is computed twice.
@inlinable @inline(__always)
public func smallProduct<V: KernelVector>(_: V.Type, _ work: SmallProduct) {
    let (cStride, rows, columns) = (work.cStride, work.rows, work.columns)
    /// The results of some rows from `row` on and of a vector of columns from `column` on.
    @inline(__always)
    func add<Sums: RowSums>(_: Sums.Type, _ row: Int, _ column: Int, rowStep: Int = 1) {
        let y = work.c + (row &* cStride &+ column), yRow = rowStep &* cStride
        let d = offset(work.decay, row &* work.decayStride), dRow = rowStep &* work.decayStride
        var sums = Sums { startOfSum(offset(d, $0 &* dRow), y + $0 &* yRow) }
        let xRow = rowStep &* work.aRow
        var (x, values) = (work.a + row &* work.aRow, work.b + column)
        for _ in 0..<work.depth {
            sums.add(.load(values)) { x[$0 &* xRow] }
            x += work.aColumn
            values += work.bStride
        }
        sums.forEachReversed { $1.store(y + $0 &* yRow) }
    }
    let sixes = rows &- rows % 6
    var j = 0
    while j < columns {
        let isWide = j &+ 2 &* V.count <= columns
        var i = 0
        while i < sixes {
            if isWide {
                add(SixRows<VectorPair<V>>.self, i, j)
            } else {
                for row in 0..<6 { add(OneRow<V>.self, i &+ row, j) }
            }
            i &+= 6
        }
        j &+= isWide ? 2 &* V.count : V.count
    }
    var i = sixes
    while i < rows {
        let isOdd = i &+ 1 == rows
        j = 0
        while j < columns {
            if j &+ 4 &* V.count <= columns {
                add(TwoRows<VectorPair<VectorPair<V>>>.self, i, j, rowStep: isOdd ? 0 : 1)
                j &+= 4 &* V.count
            } else {
                add(OneRow<V>.self, i, j)
                if !isOdd { add(OneRow<V>.self, i &+ 1, j) }
                j &+= V.count
            }
        }
        i &+= 2
    }
}

@inlinable @inline(__always)
func offset(_ p: UnsafePointer<Float>?, _ count: Int) -> UnsafePointer<Float>? {
    guard let p else { return nil }
    return p + count
}

/// The decayed old value, or zero.
@inlinable @inline(__always)
func startOfSum<V: KernelVector>(_ decay: UnsafePointer<Float>?, _ c: UnsafePointer<Float>) -> V {
    guard let decay else { return V(0) }
    return V(decay[0]) * .load(c)
}
