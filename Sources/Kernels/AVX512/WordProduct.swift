// Products of 16-bit integers: tiles of quantized activations by panels of weights in F16 and BF16; see `WordTile`.
//
// Six tokens by two panels are twelve sums, enough for the latency of `vpdpwssd`, beside twelve results in registers.

import CIntrinsics
public import KernelFormats

/// Multiplies a slice of a tile, or the first parts of it, by panels of 16 weight rows each.
///
/// A token's results do not depend on the others'.
@inline(never)
public func multiplyWords(_ product: WordProduct) {
    let resultFloats = WordTile.tokens &* PackedFloats.rows
    var index = 0
    while index < product.panelCount {
        // An odd last panel is multiplied twice and written once.
        let both = index &+ 1 < product.panelCount
        let first = product.panels + index &* WordPanel.sliceBytes
        multiply(
            product, (first, both ? first + WordPanel.sliceBytes : first), product.c + index &* resultFloats,
            writesSecond: both,
            nextResults: product.c + (product.panelCount &+ index) &* resultFloats)
        index &+= 2
    }
}

/// One value for each of the two panels.
private typealias Panels<Value> = (Value, Value)

/// A token's sums of a part, and its results.
private struct Token {
    private var sums: Panels<__m512i>
    private var results: Panels<__m512>

    /// - Parameter c: Results to add to, by panel; `nil`: 0.
    @inline(__always)
    init(_ c: Panels<UnsafePointer<Float>>?) {
        sums = (_mm512_setzero_si512(), _mm512_setzero_si512())
        results = c.map { (_mm512_loadu_ps($0.0), _mm512_loadu_ps($0.1)) } ?? (_mm512_setzero_ps(), _mm512_setzero_ps())
    }

    @inline(__always)
    mutating func start() { sums = (_mm512_setzero_si512(), _mm512_setzero_si512()) }

    /// Adds the products of two columns.
    @inline(__always)
    mutating func add(_ w: Panels<__m512i>, _ x: UnsafePointer<Int32>) {
        let x = _mm512_set1_epi32(x[0])
        sums.0 = _mm512_dpwssd_epi32(sums.0, w.0, x)
        sums.1 = _mm512_dpwssd_epi32(sums.1, w.1, x)
    }

    /// Adds the sums of a part to the results. A scale is multiplied by `2^a` in an addition to its exponent.
    @inline(__always)
    mutating func finish(_ scales: Panels<__m512i>, _ lift: UnsafeRawPointer) {
        let lift = broadcast(lift)
        results.0 = _mm512_fmadd_ps(
            _mm512_cvtepi32_ps(sums.0), _mm512_castsi512_ps(_mm512_add_epi32(scales.0, lift)), results.0)
        results.1 = _mm512_fmadd_ps(
            _mm512_cvtepi32_ps(sums.1), _mm512_castsi512_ps(_mm512_add_epi32(scales.1, lift)), results.1)
    }

    @inline(__always)
    func write(_ c: Panels<UnsafeMutablePointer<Float>>, writesSecond: Bool) {
        _mm512_storeu_ps(c.0, results.0)
        if writesSecond { _mm512_storeu_ps(c.1, results.1) }
    }
}

/// Lines to prefetch per part: of a slice of the next tile, and of six results of two panels.
private let linesAhead = (tile: 7, results: 2)

@inline(never)
private func multiply(
    _ product: WordProduct, _ panels: Panels<UnsafeRawPointer>, _ c: UnsafeMutablePointer<Float>, writesSecond: Bool,
    nextResults: UnsafeRawPointer
) {
    let cOfSecond = c + (writesSecond ? WordTile.tokens &* PackedFloats.rows : 0)
    @inline(__always)
    func results(_ token: Int) -> Panels<UnsafeMutablePointer<Float>> {
        (c + PackedFloats.rows &* token, cOfSecond + PackedFloats.rows &* token)
    }
    @inline(__always)
    func token(_ index: Int) -> Token {
        guard product.accumulate else { return Token(nil) }
        let (first, second) = results(index)
        return Token((UnsafePointer(first), UnsafePointer(second)))
    }
    var t0 = token(0), t1 = token(1), t2 = token(2), t3 = token(3), t4 = token(4), t5 = token(5)
    var (first, second) = panels
    var x = product.tile.assumingMemoryBound(to: Int32.self)
    var lifts = product.tile + WordTile.lifts
    // The slice of the next tile follows this one.
    var nextTile = product.tile + WordTile.sliceBytes
    var nextResults = nextResults
    for _ in 0..<product.parts {
        for line in 0..<linesAhead.tile { prefetch(nextTile + 64 &* line) }
        for line in 0..<linesAhead.results { prefetch(nextResults + 64 &* line) }
        nextTile += 64 &* linesAhead.tile
        nextResults += 64 &* linesAhead.results
        t0.start()
        t1.start()
        t2.start()
        t3.start()
        t4.start()
        t5.start()
        for pair in 0..<16 {
            let w = (load64(first + 64 &* pair), load64(second + 64 &* pair))
            t0.add(w, x)
            t1.add(w, x + 1)
            t2.add(w, x + 2)
            t3.add(w, x + 3)
            t4.add(w, x + 4)
            t5.add(w, x + 5)
            x += WordTile.tokens
        }
        let scales = (load64(first + 1024), load64(second + 1024))
        t0.finish(scales, lifts)
        t1.finish(scales, lifts + 4)
        t2.finish(scales, lifts + 8)
        t3.finish(scales, lifts + 12)
        t4.finish(scales, lifts + 16)
        t5.finish(scales, lifts + 20)
        first += WordPanel.partBytes
        second += WordPanel.partBytes
        lifts += 4 &* WordTile.tokens
    }
    t0.write(results(0), writesSecond: writesSecond)
    t1.write(results(1), writesSecond: writesSecond)
    t2.write(results(2), writesSecond: writesSecond)
    t3.write(results(3), writesSecond: writesSecond)
    t4.write(results(4), writesSecond: writesSecond)
    t5.write(results(5), writesSecond: writesSecond)
}
