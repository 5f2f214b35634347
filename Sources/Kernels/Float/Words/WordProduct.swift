// Products of 16-bit integers: tiles of quantized activations by panels of weights in F16 and BF16; see `WordTile`.

public import CIntrinsics
public import KernelFormats

/// Multiplies a slice of tiles, or the first parts of it, by panels of 16 weight rows each.
///
/// A token's results do not depend on the others'. `Tile` has the tokens of a `WordTile`, by a panel or by two.
@inlinable @inline(__always)
public func multiplyWords<Tile: IntegerTile>(_: Tile.Type, _ product: WordProduct) {
    typealias V = Tile.V
    let resultFloats = WordTile.tokens &* PackedFloats.rows
    let takesTwoPanels = V.count == PackedFloats.rows
    var (tile, c, destination) = (product.tiles, product.c, product.destination)
    for _ in 0..<product.tileCount {
        if let first = destination.first {
            prefetch_to_write(first, WordTile.tokens, destination.stride, product.panelCount)
            destination = destination.advanced(by: WordTile.tokens)
        }
        // Of the next tile, prefetched along the way.
        var nextTile = tile + WordTile.sliceBytes
        var nextResults = UnsafeRawPointer(c + product.panelCount &* resultFloats)
        var panel = product.panels
        for index in stride(from: 0, to: product.panelCount, by: takesTwoPanels ? 2 : 1) {
            // The second register has the other half of the panel, or the next panel. An odd last panel is multiplied twice.
            let count = takesTwoPanels ? min(2, product.panelCount &- index) : 1
            let second = takesTwoPanels ? (count &- 1) &* WordPanel.sliceBytes : 4 &* V.count
            let secondResults = takesTwoPanels ? (count &- 1) &* resultFloats : V.count
            let work = WordWork(tile: tile, first: panel, second: panel + second, c0: c, c1: c + secondResults)
            multiply(Tile.self, work, product, nextTile, nextResults)
            nextTile += 64 &* linesAhead.tile &* product.parts
            nextResults += 64 &* linesAhead.results &* product.parts
            panel += count &* WordPanel.sliceBytes
            c += count &* resultFloats
        }
        tile += WordTile.sliceBytes
    }
}

/// A tile and two registers of rows.
@usableFromInline
struct WordWork {
    @usableFromInline let tile: UnsafeRawPointer
    @usableFromInline let first: UnsafeRawPointer
    @usableFromInline let second: UnsafeRawPointer
    @usableFromInline let c0: UnsafeMutablePointer<Float>
    @usableFromInline let c1: UnsafeMutablePointer<Float>

    @inlinable @inline(__always)
    init(
        tile: UnsafeRawPointer, first: UnsafeRawPointer, second: UnsafeRawPointer, c0: UnsafeMutablePointer<Float>,
        c1: UnsafeMutablePointer<Float>
    ) {
        (self.tile, self.first, self.second, self.c0, self.c1) = (tile, first, second, c0, c1)
    }
}

/// Lines to prefetch per part: of a slice of the next tile, and of six results of two panels.
@inlinable @inline(__always)
var linesAhead: (tile: Int, results: Int) { (7, 2) }

/// Multiplies a slice of a tile by two registers of rows.
@inlinable @inline(__always)
func multiply<Tile: IntegerTile>(
    _: Tile.Type, _ work: WordWork, _ product: WordProduct, _ nextTile: UnsafeRawPointer,
    _ nextResults: UnsafeRawPointer
) {
    typealias V = Tile.V
    typealias Floats = V.Floats
    var (first, second, x) = (work.first, work.second, work.tile)
    var exponents = work.tile + WordTile.exponents
    var (nextTile, nextResults) = (nextTile, nextResults)
    let zero = Tile { _ in V(0) }
    var results =
        product.accumulate
        ? zero.combined(with: zero) { token, _, _ in
            (.load(work.c0 + PackedFloats.rows &* token), .load(work.c1 + PackedFloats.rows &* token))
        } : zero
    for _ in 0..<product.parts {
        for line in 0..<linesAhead.tile { prefetch(nextTile + 64 &* line) }
        for line in 0..<linesAhead.results { prefetch(nextResults + 64 &* line) }
        nextTile += 64 &* linesAhead.tile
        nextResults += 64 &* linesAhead.results
        var sums = zero
        var offset = 0
        for _ in 0..<product.pairs {
            sums = sums.adding(x, .load(first + offset), .load(second + offset), by: WordProducts.self)
            offset &+= 64
            x += 4 &* WordTile.tokens
        }
        let scales = (V.load(first + 1024), V.load(second + 1024))
        results = results.combined(with: sums) { token, results, sums in
            // A scale is multiplied by `2^a` in an addition to its exponent.
            let exponent = V(repeating: exponents + 4 &* token)
            let low = Floats.multiplyAdd(sums.0.floats, (scales.0 + exponent).asFloats, results.0.asFloats)
            let high = Floats.multiplyAdd(sums.1.floats, (scales.1 + exponent).asFloats, results.1.asFloats)
            return (V(bitsOf: low), V(bitsOf: high))
        }
        first += WordPanel.partBytes
        second += WordPanel.partBytes
        exponents += 4 &* WordTile.tokens
    }
    results.forEach { token, low, high in
        low.store(work.c0 + PackedFloats.rows &* token)
        high.store(work.c1 + PackedFloats.rows &* token)
    }
}
