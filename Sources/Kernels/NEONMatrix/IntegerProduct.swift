// An integer matrix product with int8 matrix multiply: the results of KernelsNEON, with half as many instructions.
//
// `smmla` multiplies two rows of eight weights by two columns of eight activations and adds the four sums. So a panel
// holds the codes of eight columns of two rows side by side:
//
//     codes    [4][8 pairs of rows][2 rows][8 columns] i8
//
// Eight pairs of rows by three pairs of columns are 24 registers of sums.

import CIntrinsics
public import KernelFormats
public import KernelsNEON

/// As `KernelsNEON.unpackPanel`, in the order above.
@inline(never)
public func unpackPanel(
    _ layout: PackedLayout, _ blocks: UnsafeRawPointer, count: Int, into panel: UnsafeMutableRawPointer
) {
    KernelsNEON.unpackPanel(layout, blocks, count: count, into: panel)
    var block = panel
    for _ in 0..<(count &* layout.parts) {
        for eight in 0..<4 { joinSteps(block + 128 &* eight) }
        block += IntegerPanel.blockBytes(segments: layout.segments)
    }
}

/// Reorders two steps, `[2 steps][16 rows][4 columns]`.
@inline(__always)
private func joinSteps(_ codes: UnsafeMutableRawPointer) {
    let (a, b) = (rows(codes), rows(codes + 64))
    let joined = (
        (vzip1q_s32(a.0, b.0), vzip2q_s32(a.0, b.0), vzip1q_s32(a.1, b.1), vzip2q_s32(a.1, b.1)),
        (vzip1q_s32(a.2, b.2), vzip2q_s32(a.2, b.2), vzip1q_s32(a.3, b.3), vzip2q_s32(a.3, b.3))
    )
    codes.storeBytes(of: joined.0, as: Four.self)
    (codes + 64).storeBytes(of: joined.1, as: Four.self)
}

private typealias Four = (SIMD4<Int32>, SIMD4<Int32>, SIMD4<Int32>, SIMD4<Int32>)

@inline(__always)
private func rows(_ p: UnsafeRawPointer) -> Four { p.loadUnaligned(as: Four.self) }

/// Multiplies a tile by panels of 16 weight rows each; bitwise equal to `KernelsNEON.multiplyTile`.
@inline(never)
public func multiplyTile(_ product: TileProduct) {
    KernelsNEON.multiplyTile(MatrixSums.self, product)
}

private struct MatrixSums: TileSums {
    private var (first, second, third) = (PairSums(), PairSums(), PairSums())

    @inline(__always)
    init() {}

    @inline(__always)
    mutating func add(_ twos: Int, _ w: UnsafeRawPointer, _ x: UnsafeRawPointer) {
        if twos == 1 {
            let words = x.loadUnaligned(as: SIMD4<Int32>.self)
            return first.add(w, SIMD4(words[0], words[2], words[1], words[3]))
        }
        let (a, b) = (x.loadUnaligned(as: SIMD4<Int32>.self), (x + 8 &* twos).loadUnaligned(as: SIMD4<Int32>.self))
        first.add(w, vzip1q_s32(a, b))
        second.add(w, vzip2q_s32(a, b))
        if twos > 2 {
            let (c, d) = ((x + 16).loadUnaligned(as: SIMD2<Int32>.self), (x + 40).loadUnaligned(as: SIMD2<Int32>.self))
            third.add(w, SIMD4(c[0], d[0], c[1], d[1]))
        }
    }

    @inline(__always)
    func two(_ index: Int) -> (SIMD16<Int32>, SIMD16<Int32>) {
        index == 0 ? first.columns : index == 1 ? second.columns : third.columns
    }
}

/// Sums of 16 rows by two columns: eight registers of two rows.
private struct PairSums {
    private var (a, b, c, d) = (SIMD4<Int32>(), SIMD4<Int32>(), SIMD4<Int32>(), SIMD4<Int32>())
    private var (e, f, g, h) = (SIMD4<Int32>(), SIMD4<Int32>(), SIMD4<Int32>(), SIMD4<Int32>())

    @inline(__always)
    init() {}

    /// - Parameter x: Eight activations of each of the two columns.
    @inline(__always)
    mutating func add(_ w: UnsafeRawPointer, _ x: SIMD4<Int32>) {
        let x = unsafeBitCast(x, to: SIMD16<Int8>.self)
        a = vmmlaq_s32(a, codes(w, 0), x)
        b = vmmlaq_s32(b, codes(w, 1), x)
        c = vmmlaq_s32(c, codes(w, 2), x)
        d = vmmlaq_s32(d, codes(w, 3), x)
        e = vmmlaq_s32(e, codes(w, 4), x)
        f = vmmlaq_s32(f, codes(w, 5), x)
        g = vmmlaq_s32(g, codes(w, 6), x)
        h = vmmlaq_s32(h, codes(w, 7), x)
    }

    @inline(__always)
    private func codes(_ w: UnsafeRawPointer, _ pair: Int) -> SIMD16<Int8> {
        (w + 16 &* pair).loadUnaligned(as: SIMD16<Int8>.self)
    }

    /// The sums of each of the two columns.
    @inline(__always)
    var columns: (SIMD16<Int32>, SIMD16<Int32>) {
        let first = (vuzp1q_s32(a, b), vuzp1q_s32(c, d), vuzp1q_s32(e, f), vuzp1q_s32(g, h))
        let second = (vuzp2q_s32(a, b), vuzp2q_s32(c, d), vuzp2q_s32(e, f), vuzp2q_s32(g, h))
        return (unsafeBitCast(first, to: SIMD16<Int32>.self), unsafeBitCast(second, to: SIMD16<Int32>.self))
    }
}
