// Attention in 16-bit integers, or with keys of 8 bits.

import CIntrinsics
public import KernelFormats
import KernelsFloat

/// Eight tokens, or columns, by 32 rows.
private typealias Tile = EightColumns<SixteenIntegers>

/// As `KernelsFloat.attendWordsInterleaved`, for value widths that are multiples of 8.
@inline(never)
public func attendWords(_ work: WordAttention) {
    attendWordsInterleaved(Tile.self, work) { block in
        if block.page.hasByteKeys {
            computeByteScores(block)
        } else {
            computeWordScores(Tile.self, block)
            if !block.changes.isEmpty { change(block) }
        }
    }
}

@inline(never)
private func change(_ block: WordAttention) { changeWordScores(Tile.self, block) }

/// Four unsigned bytes of rows, signed bytes of tokens.
private enum ByteProducts: IntegerProducts {
    @inline(__always)
    static func add(_ sum: SixteenIntegers, _ row: SixteenIntegers, _ x: SixteenIntegers) -> SixteenIntegers {
        SixteenIntegers(_mm512_dpbusd_epi32(sum.v, row.v, x.v))
    }
}

/// As `computeWordScores`, without the product with the base, which all tokens of the page have in common.
@inline(__always)
private func computeByteScores(_ block: WordAttention) {
    let (keys, width) = (ByteKeys(of: block.page), block.page.keyWidth)
    let queries = ByteQueries(after: block.queries, width: width)
    for token in stride(from: 0, to: pageTokens, by: Tile.count) {
        let starts = UnsafeRawPointer(keys.starts + token)
        var sums = Tile { SixteenIntegers(repeating: starts + 4 &* $0) }
        sums = sums.adding(
            keys.codes + 4 &* token, 4 &* pageTokens, queries.codes, width / 4, by: ByteProducts.self)
        storeScores(sums, queries.scales, block, token)
    }
}
