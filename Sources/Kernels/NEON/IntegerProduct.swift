// An integer matrix product: tiles of quantized activations by panels of unpacked weights.
//
// `sdot` adds four products of signed bytes to a 32-bit sum. A panel's 16 rows are four registers, so that six columns
// of a tile are 24 sums; with four registers of weights and two of activations, 30 of the 32 registers are in use.

public import CIntrinsics
public import KernelFormats

/// Multiplies a tile by panels of 16 weight rows each.
@inline(never)
public func multiplyTile(_ product: TileProduct) {
    multiplyTile(DotSums.self, product)
}

/// Sums of 16 rows by the columns of a tile; those beyond the tile's are not computed.
public protocol TileSums {
    init()
    /// Adds the products of eight columns of the matrix.
    ///
    /// - Parameters:
    ///   - twos: Half of the tile's columns, a literal.
    ///   - w: Two steps of a panel.
    ///   - x: Two steps of a tile.
    mutating func add(_ twos: Int, _ w: UnsafeRawPointer, _ x: UnsafeRawPointer)
    /// The sums of two columns of the tile.
    func two(_ index: Int) -> (SIMD16<Int32>, SIMD16<Int32>)
}

struct DotSums: TileSums {
    private var (a, b, c) = (SIMD16<Int32>(), SIMD16<Int32>(), SIMD16<Int32>())
    private var (d, e, f) = (SIMD16<Int32>(), SIMD16<Int32>(), SIMD16<Int32>())

    @inline(__always)
    init() {}

    @inline(__always)
    mutating func add(_ twos: Int, _ w: UnsafeRawPointer, _ x: UnsafeRawPointer) {
        step(twos, w, x)
        step(twos, w + 64, x + 8 &* twos)
    }

    @inline(__always)
    private mutating func step(_ twos: Int, _ w: UnsafeRawPointer, _ x: UnsafeRawPointer) {
        let w = loadCodes(w)
        let first = twos == 1 ? eightBytes(x) : x.loadUnaligned(as: SIMD16<Int8>.self)
        a = dot_lane0(a, w, first)
        b = dot_lane1(b, w, first)
        if twos > 1 {
            c = dot_lane2(c, w, first)
            d = dot_lane3(d, w, first)
        }
        if twos > 2 {
            let second = eightBytes(x + 16)
            e = dot_lane0(e, w, second)
            f = dot_lane1(f, w, second)
        }
    }

    @inline(__always)
    func two(_ index: Int) -> (SIMD16<Int32>, SIMD16<Int32>) { index == 0 ? (a, b) : index == 1 ? (c, d) : (e, f) }
}

/// The activations of two columns in the lower half of a register.
@inline(__always)
private func eightBytes(_ x: UnsafeRawPointer) -> SIMD16<Int8> {
    let bytes = x.loadUnaligned(as: SIMD8<Int8>.self)
    return vcombine_s8(bytes, bytes)
}

/// As `multiplyTile`, with the instructions of `Sums`.
@inlinable @inline(__always)
public func multiplyTile<Sums: TileSums>(_: Sums.Type, _ product: TileProduct) {
    for index in 0..<product.panelCount {
        let panel = product.panels + index &* product.panelBytes
        let output = TileOutput(
            c: product.c + index &* IntegerTile.resultFloats, tokens: product.tokens, accumulate: product.accumulate)
        let (tile, segments, parts) = (product.tile, product.layout.segments, product.parts)
        switch (product.columns, product.pairs) {
        case (2, false): multiplyTwo(Sums.self, tile, panel, segments, parts, output)
        case (4, false): multiplyFour(Sums.self, tile, panel, segments, parts, output)
        case (_, false): multiplySix(Sums.self, tile, panel, segments, parts, output)
        case (2, true): multiplyPair(Sums.self, tile, panel, segments, parts, output)
        case (4, true): multiplyTwoPairs(Sums.self, tile, panel, segments, parts, output)
        case (_, true): multiplyThreePairs(Sums.self, tile, panel, segments, parts, output)
        }
    }
}

// Separate functions, since the compiler would otherwise merge the loops.

@inlinable @inline(never)
func multiplyTwo<Sums: TileSums>(
    _: Sums.Type, _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ segments: Int, _ parts: Int,
    _ output: TileOutput
) {
    multiply(Sums.self, 1, false, tile, panel, segments, parts, output)
}

@inlinable @inline(never)
func multiplyFour<Sums: TileSums>(
    _: Sums.Type, _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ segments: Int, _ parts: Int,
    _ output: TileOutput
) {
    multiply(Sums.self, 2, false, tile, panel, segments, parts, output)
}

@inlinable @inline(never)
func multiplySix<Sums: TileSums>(
    _: Sums.Type, _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ segments: Int, _ parts: Int,
    _ output: TileOutput
) {
    multiply(Sums.self, 3, false, tile, panel, segments, parts, output)
}

@inlinable @inline(never)
func multiplyPair<Sums: TileSums>(
    _: Sums.Type, _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ segments: Int, _ parts: Int,
    _ output: TileOutput
) {
    multiply(Sums.self, 1, true, tile, panel, segments, parts, output)
}

@inlinable @inline(never)
func multiplyTwoPairs<Sums: TileSums>(
    _: Sums.Type, _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ segments: Int, _ parts: Int,
    _ output: TileOutput
) {
    multiply(Sums.self, 2, true, tile, panel, segments, parts, output)
}

@inlinable @inline(never)
func multiplyThreePairs<Sums: TileSums>(
    _: Sums.Type, _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ segments: Int, _ parts: Int,
    _ output: TileOutput
) {
    multiply(Sums.self, 3, true, tile, panel, segments, parts, output)
}

/// `twos`, a literal like the argument after it, is half of the tile's columns.
@inlinable @inline(__always)
func multiply<Sums: TileSums>(
    _: Sums.Type, _ twos: Int, _ pairs: Bool, _ tile: UnsafeRawPointer, _ panel: UnsafeRawPointer, _ segments: Int,
    _ parts: Int, _ output: TileOutput
) {
    let columns = 2 &* twos
    let tokensOfTwo = pairs ? 1 : 2
    var r0 = TileResults(output, 0, pairs: pairs)
    var r1 = TileResults(output, tokensOfTwo, pairs: pairs)
    var r2 = TileResults(output, 2 &* tokensOfTwo, pairs: pairs)
    var (block, weights) = (tile, panel)
    for _ in 0..<parts {
        let floats = (block + 32 &* columns).assumingMemoryBound(to: Float.self)
        var (w, x) = (weights, block)
        for segment in 0..<segments {
            var sums = Sums()
            for _ in 0..<(4 / segments) {
                sums.add(twos, w, x)
                w += 128
                x += 8 &* columns
            }
            let scale = weights + (512 &+ 64 &* segment)
            let scales = TileScales(
                weights: scale.loadUnaligned(as: SIMD16<Float>.self),
                offsets: (scale + 64 &* segments).loadUnaligned(as: SIMD16<Float>.self), x: floats,
                sums: floats + columns &* (segments == 1 ? 1 : 2 &+ segment))
            r0.add(sums.two(0), scales, 0, pairs: pairs)
            if twos > 1 { r1.add(sums.two(1), scales, 2, pairs: pairs) }
            if twos > 2 { r2.add(sums.two(2), scales, 4, pairs: pairs) }
        }
        block += IntegerTile.blockBytes(columns: columns)
        weights += IntegerPanel.blockBytes(segments: segments)
    }
    r0.write(output, 0, pairs: pairs)
    if twos > 1 { r1.write(output, tokensOfTwo, pairs: pairs) }
    if twos > 2 { r2.write(output, 2 &* tokensOfTwo, pairs: pairs) }
}
