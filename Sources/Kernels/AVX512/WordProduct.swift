// Products of 16-bit integers: tiles of quantized activations by panels of weights in F16 and BF16; see `WordTile`.
//
// Six tokens by two panels are twelve sums, enough for the latency of `vpdpwssd`, beside twelve results in registers.

import CIntrinsics
public import KernelFormats

/// Multiplies a slice of tiles, or the first parts of it, by panels of 16 weight rows each.
///
/// A token's results do not depend on the others'.
@inline(never)
public func multiplyWords(_ product: WordProduct) {
    let resultFloats = WordTile.tokens &* PackedFloats.rows
    // 0 where results begin with 0.
    let mask: __mmask16 = product.accumulate ? 0xffff : 0
    var (tile, c) = (product.tiles, product.c)
    for _ in 0..<product.tileCount {
        // Of the next tile, prefetched along the way.
        var nextTile = tile + WordTile.sliceBytes
        var nextResults = UnsafeRawPointer(c + product.panelCount &* resultFloats)
        var panel = product.panels
        for index in stride(from: 0, to: product.panelCount, by: 2) {
            // An odd last panel is multiplied twice.
            let hasSecond = index &+ 1 < product.panelCount
            multiply(
                tile, (panel, hasSecond ? panel + WordPanel.sliceBytes : panel), parts: product.parts,
                (c, hasSecond ? c + resultFloats : c), mask, nextTile, nextResults)
            nextTile += 64 &* linesAhead.tile &* product.parts
            nextResults += 64 &* linesAhead.results &* product.parts
            panel += 2 &* WordPanel.sliceBytes
            c += (hasSecond ? 2 : 1) &* resultFloats
        }
        tile += WordTile.sliceBytes
    }
}

/// One value for each of the two panels.
private typealias Panels<Value> = (Value, Value)

/// A token's sums of a part, and its results.
private struct Token {
    private var sums: Panels<__m512i>
    private var results: Panels<__m512>

    /// - Parameter c: The results, by panel.
    @inline(__always)
    init(_ c: Panels<UnsafeMutablePointer<Float>>, mask: __mmask16) {
        sums = (_mm512_setzero_si512(), _mm512_setzero_si512())
        results = (_mm512_maskz_loadu_ps(mask, c.0), _mm512_maskz_loadu_ps(mask, c.1))
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
    mutating func finish(_ scales: Panels<__m512i>, _ exponent: UnsafeRawPointer) {
        let exponent = broadcast(exponent)
        results.0 = _mm512_fmadd_ps(
            _mm512_cvtepi32_ps(sums.0), _mm512_castsi512_ps(_mm512_add_epi32(scales.0, exponent)), results.0)
        results.1 = _mm512_fmadd_ps(
            _mm512_cvtepi32_ps(sums.1), _mm512_castsi512_ps(_mm512_add_epi32(scales.1, exponent)), results.1)
    }

    @inline(__always)
    func write(_ c: Panels<UnsafeMutablePointer<Float>>) {
        _mm512_storeu_ps(c.0, results.0)
        _mm512_storeu_ps(c.1, results.1)
    }
}

/// Lines to prefetch per part: of a slice of the next tile, and of six results of two panels.
private let linesAhead = (tile: 7, results: 2)

/// Multiplies a slice of a tile by two panels.
@inline(__always)
private func multiply(
    _ tile: UnsafeRawPointer, _ panels: Panels<UnsafeRawPointer>, parts: Int,
    _ c: Panels<UnsafeMutablePointer<Float>>, _ mask: __mmask16, _ nextTile: UnsafeRawPointer,
    _ nextResults: UnsafeRawPointer
) {
    @inline(__always)
    func results(_ token: Int) -> Panels<UnsafeMutablePointer<Float>> {
        (c.0 + PackedFloats.rows &* token, c.1 + PackedFloats.rows &* token)
    }
    var t0 = Token(results(0), mask: mask), t1 = Token(results(1), mask: mask), t2 = Token(results(2), mask: mask)
    var t3 = Token(results(3), mask: mask), t4 = Token(results(4), mask: mask), t5 = Token(results(5), mask: mask)
    var (first, second) = panels
    var x = tile.assumingMemoryBound(to: Int32.self)
    var exponents = tile + WordTile.exponents
    var (nextTile, nextResults) = (nextTile, nextResults)
    for _ in 0..<parts {
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
        t0.finish(scales, exponents)
        t1.finish(scales, exponents + 4)
        t2.finish(scales, exponents + 8)
        t3.finish(scales, exponents + 12)
        t4.finish(scales, exponents + 16)
        t5.finish(scales, exponents + 20)
        first += WordPanel.partBytes
        second += WordPanel.partBytes
        exponents += 4 &* WordTile.tokens
    }
    t0.write(results(0))
    t1.write(results(1))
    t2.write(results(2))
    t3.write(results(3))
    t4.write(results(4))
    t5.write(results(5))
}
