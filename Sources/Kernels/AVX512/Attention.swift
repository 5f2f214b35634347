// Attention over one page of the KV cache; see `KernelsPortable.attendPage` for the layout and the method.
//
// Up to eight query rows at a time, so that each load of keys or values feeds eight multiply-adds.

import CIntrinsics
public import KernelFormats

/// As `KernelsPortable.attendPage`, for value widths that are multiples of 16.
@inline(never)
public func attendPage(_ work: PageAttention) {
    attend(FloatNumbers.self, work, UnsafeRawPointer(work.page), next: nil)
}

/// As `attendPage`, with the same bits, for a page of halves, which are converted in registers.
///
/// A page is read once for each eight rows.
///
/// - Parameters:
///   - work: Its `page` is not read.
///   - page: `[D][32]` keys and `[32][Dv]` values.
///   - next: The page to prefetch.
@inline(never)
public func attendHalves(_ work: PageAttention, _ page: UnsafeRawPointer, next: UnsafeRawPointer) {
    attend(HalfNumbers.self, work, page, next: next)
}

@inline(__always)
private func attend<Numbers: NumberFormat>(
    _: Numbers.Type, _ work: PageAttention, _ page: UnsafeRawPointer, next: UnsafeRawPointer?
) {
    let (queries, outputs, first, end, rows) = (work.queries, work.outputs, work.first, work.end, work.rows)
    let (keyWidth, valueWidth) = (work.keyWidth, work.valueWidth)
    let (maxima, sums, changes) = (work.maxima, work.sums, work.changes)
    let weights = work.scratch
    let valuesOffset = 2 &* Numbers.bytes &* keyWidth
    let values = page + valuesOffset
    var row = 0
    while row < rows {
        let count = min(attendRows, rows &- row)
        // A block is filled up to four or eight rows with the last one, whose extra results are not used.
        @inline(__always)
        func four<Row>(_ all: UnsafePointer<Row>, _ index: Int) -> FourRows<Row> {
            let (start, last) = (row &+ index, rows &- 1)
            return FourRows(
                all[min(start, last)], all[min(start &+ 1, last)], all[min(start &+ 2, last)],
                all[min(start &+ 3, last)])
        }
        // The first rows prefetch.
        let nextKeys = row == 0 ? next : nil
        var nextValues: UnsafeRawPointer?
        if let nextKeys { nextValues = nextKeys + valuesOffset }
        let (q, o) = ((four(queries, 0), four(queries, 4)), (four(outputs, 0), four(outputs, 4)))
        if count > 4 {
            scores(Numbers.self, true, q, page, keyWidth, weights, next: nextKeys)
        } else {
            scores(Numbers.self, false, q, page, keyWidth, weights, next: nextKeys)
        }
        for index in 0..<count {
            let (mine, r) = (weights + pageTokens &* index, row &+ index)
            if !changes.isEmpty { change(mine, changes, r) }
            softmax(mine, Int(first[r]), Int(end[r]), &maxima[r], &sums[r], outputs[r], valueWidth)
        }
        if count > 4 {
            addValues(Numbers.self, true, weights, values, valueWidth, o, next: nextValues)
        } else {
            addValues(Numbers.self, false, weights, values, valueWidth, o, next: nextValues)
        }
        for index in 0..<count {
            addLastValues(Numbers.self, weights + pageTokens &* index, values, valueWidth, outputs[row &+ index])
        }
        row &+= attendRows
    }
}

/// Something of four query rows.
private struct FourRows<Row> {
    let (a, b, c, d): (Row, Row, Row, Row)

    @inline(__always)
    init(_ a: Row, _ b: Row, _ c: Row, _ d: Row) { (self.a, self.b, self.c, self.d) = (a, b, c, d) }
}

/// The sums of four rows by 32 tokens or columns, in two registers each.
private struct FourSums {
    private typealias Row = (__m512, __m512)
    private var a: Row, b: Row, c: Row, d: Row

    @inline(__always)
    init() {
        let zero = (_mm512_setzero_ps(), _mm512_setzero_ps())
        (a, b, c, d) = (zero, zero, zero, zero)
    }

    @inline(__always)
    init(_ rows: FourRows<UnsafeMutablePointer<Float>>, _ column: Int) {
        @inline(__always)
        func row(_ p: UnsafeMutablePointer<Float>) -> Row { (load(p + column), load(p + (column &+ 16))) }
        (a, b, c, d) = (row(rows.a), row(rows.b), row(rows.c), row(rows.d))
    }

    /// Adds the products of two registers by a number of each row.
    @inline(__always)
    mutating func add(_ x: FourRows<UnsafePointer<Float>>, _ index: Int, _ low: __m512, _ high: __m512) {
        @inline(__always)
        func add(_ x: Float, _ sum: inout Row) {
            sum.0 = _mm512_fmadd_ps(_mm512_set1_ps(x), low, sum.0)
            sum.1 = _mm512_fmadd_ps(_mm512_set1_ps(x), high, sum.1)
        }
        add(x.a[index], &a)
        add(x.b[index], &b)
        add(x.c[index], &c)
        add(x.d[index], &d)
    }

    /// Stores the scores of 32 tokens.
    @inline(__always)
    func store(_ scores: UnsafeMutablePointer<Float>) {
        store2(scores, a.0, a.1)
        store2(scores + pageTokens, b.0, b.1)
        store2(scores + 2 &* pageTokens, c.0, c.1)
        store2(scores + 3 &* pageTokens, d.0, d.1)
    }

    /// Stores the last row first, as rows behind the last one of a block are copies of it.
    @inline(__always)
    func store(_ rows: FourRows<UnsafeMutablePointer<Float>>, _ column: Int) {
        store2(rows.d + column, d.0, d.1)
        store2(rows.c + column, c.0, c.1)
        store2(rows.b + column, b.0, b.1)
        store2(rows.a + column, a.0, a.1)
    }
}

extension FourRows where Row == UnsafePointer<Float> {
    /// Rows of 32 weights.
    @inline(__always)
    fileprivate init(_ p: Row) { self.init(p, p + pageTokens, p + 2 &* pageTokens, p + 3 &* pageTokens) }
}

@inline(__always)
private func load(_ p: UnsafePointer<Float>) -> __m512 { _mm512_loadu_ps(p) }

/// `out[32 · r + t] = q of row r · key t` for four rows, or with `both`, a literal, for eight.
@inline(__always)
private func scores<Numbers: NumberFormat>(
    _: Numbers.Type, _ both: Bool, _ q: (FourRows<UnsafePointer<Float>>, FourRows<UnsafePointer<Float>>),
    _ keys: UnsafeRawPointer, _ width: Int, _ out: UnsafeMutablePointer<Float>, next: UnsafeRawPointer?
) {
    var (first, second) = (FourSums(), FourSums())
    var k = keys
    for d in 0..<width {
        if let next { prefetch_to_l2(next + 2 &* Numbers.bytes &* d) }
        let (low, high) = (Numbers.load(k), Numbers.load(k + Numbers.bytes))
        first.add(q.0, d, low, high)
        if both { second.add(q.1, d, low, high) }
        k += 2 &* Numbers.bytes
    }
    first.store(out)
    if both { second.store(out + 4 &* pageTokens) }
}

@inline(__always)
private func store2(_ p: UnsafeMutablePointer<Float>, _ a: __m512, _ b: __m512) {
    _mm512_storeu_ps(p, a)
    _mm512_storeu_ps(p + 16, b)
}

/// Applies softcap and linear bias to the scores of a row.
@inline(__always)
private func change(_ scores: UnsafeMutablePointer<Float>, _ changes: ScoreChanges, _ row: Int) {
    var t = 0
    while t < pageTokens {
        var s = load(scores + t)
        if changes.softcap != 0 { s = softcap(s, changes.softcap) }
        if let slopes = changes.slopes, let offsets = changes.offsets {
            let tokens = _mm512_set_ps(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
            let distances = _mm512_add_ps(tokens, _mm512_set1_ps(offsets[row] + Float(t)))
            s = _mm512_fmadd_ps(_mm512_set1_ps(slopes[row]), distances, s)
        }
        _mm512_storeu_ps(scores + t, s)
        t &+= 16
    }
}

/// `limit · tanh(s / limit)`, with tanh x = 1 − 2 / (1 + e^2x).
@inline(__always)
func softcap(_ s: __m512, _ limit: Float) -> __m512 {
    let one = _mm512_set1_ps(1)
    let e = exponential(_mm512_mul_ps(s, _mm512_set1_ps(2 / limit)))
    let tanh = _mm512_sub_ps(one, _mm512_div_ps(_mm512_set1_ps(2), _mm512_add_ps(one, e)))
    return _mm512_mul_ps(tanh, _mm512_set1_ps(limit))
}

/// Turns a row's scores into weights e^(s − m), 0 for masked tokens, and rescales its state to the new maximum.
@inline(__always)
private func softmax(
    _ scores: UnsafeMutablePointer<Float>, _ first: Int, _ end: Int, _ maximum: inout Float, _ total: inout Float,
    _ output: UnsafeMutablePointer<Float>, _ width: Int
) {
    if first >= end {
        for t in 0..<pageTokens { scores[t] = 0 }
        return
    }
    for t in 0..<first { scores[t] = -.infinity }
    for t in end..<pageTokens { scores[t] = -.infinity }
    var (s0, s1) = (load(scores), load(scores + 16))
    let highest = _mm512_reduce_max_ps(_mm512_max_ps(s0, s1))
    if highest > maximum {
        // For the first page: e^(−∞) is 0, and the state is 0 anyway.
        let rescale = _mm512_cvtss_f32(exponential(_mm512_set1_ps(maximum - highest)))
        let factor = _mm512_set1_ps(rescale)
        var d = 0
        while d < width {
            _mm512_storeu_ps(output + d, _mm512_mul_ps(load(output + d), factor))
            d &+= 16
        }
        total *= rescale
        maximum = highest
    }
    let m = _mm512_set1_ps(maximum)
    s0 = exponential(_mm512_sub_ps(s0, m))
    s1 = exponential(_mm512_sub_ps(s1, m))
    total += _mm512_reduce_add_ps(_mm512_add_ps(s0, s1))
    store2(scores, s0, s1)
}

/// e^x to about 2 ulp, as in the AVX2 tier: e^x = 2^n · e^r, n = round(x / ln 2). Below −87 the result is 0. NaN
/// propagates: minimum and maximum return their second operand if one is NaN.
@inline(__always)
func exponential(_ x: __m512) -> __m512 {
    let low = _mm512_set1_ps(-87)
    let clamped = _mm512_min_ps(_mm512_set1_ps(88), _mm512_max_ps(low, x))
    let n = _mm512_cvtepi32_ps(_mm512_cvtps_epi32(_mm512_mul_ps(clamped, _mm512_set1_ps(1.442_695_04))))
    var r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693_359_375), clamped)
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.121_944_4e-4), r)
    var p = _mm512_set1_ps(1 / 720)
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1 / 120))
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1 / 24))
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1 / 6))
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5))
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1))
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1))
    return zero_below(x, low, _mm512_scalef_ps(p, n))
}

/// `o += Σ weights[32 · r + t] · value t` for four rows, or with `both`, a literal, for eight; 32 columns at a time.
@inline(__always)
private func addValues<Numbers: NumberFormat>(
    _: Numbers.Type, _ both: Bool, _ weights: UnsafeMutablePointer<Float>, _ values: UnsafeRawPointer, _ width: Int,
    _ o: (FourRows<UnsafeMutablePointer<Float>>, FourRows<UnsafeMutablePointer<Float>>), next: UnsafeRawPointer?
) {
    let stride = width / 16 &* Numbers.bytes
    let w = (FourRows(UnsafePointer(weights)), FourRows(UnsafePointer(weights + 4 &* pageTokens)))
    var d = 0
    while d &+ 32 <= width {
        var first = FourSums(o.0, d)
        var second = both ? FourSums(o.1, d) : FourSums()
        var offset = d / 16 &* Numbers.bytes
        for t in 0..<pageTokens {
            if let next { prefetch_to_l2(next + 2 &* Numbers.bytes &* (d &+ t)) }
            let (low, high) = (Numbers.load(values + offset), Numbers.load(values + (offset &+ Numbers.bytes)))
            first.add(w.0, t, low, high)
            if both { second.add(w.1, t, low, high) }
            offset &+= stride
        }
        if both { second.store(o.1, d) }
        first.store(o.0, d)
        d &+= 32
    }
}

/// As above for one row, and the last 16 columns of a width that is no multiple of 32.
@inline(__always)
private func addLastValues<Numbers: NumberFormat>(
    _: Numbers.Type, _ weights: UnsafePointer<Float>, _ values: UnsafeRawPointer, _ width: Int,
    _ o: UnsafeMutablePointer<Float>
) {
    guard width % 32 != 0 else { return }
    let stride = width / 16 &* Numbers.bytes
    var a = load(o + (width &- 16))
    var v = values + (stride &- Numbers.bytes)
    for t in 0..<pageTokens {
        a = _mm512_fmadd_ps(_mm512_set1_ps(weights[t]), Numbers.load(v), a)
        v += stride
    }
    _mm512_storeu_ps(o + (width &- 16), a)
}
