// Attention in 16-bit integers: `vpmaddwd` and an addition do 1.5 times as many multiplications as multiply-adds of floats,
// `vpdpwssd` twice as many.

public import KernelFormats
import KernelsFloat

/// Four tokens, or columns, by 16 rows.
private typealias Tile = FourColumns<EightIntegers>

/// As `KernelsFloat.attendWords`, for pages without `ByteKeys` and value widths that are multiples of 4.
@inline(never)
public func attendWords(_ work: WordAttention) {
    attendWords(Tile.self, work) { part in
        computeWordScores(Tile.self, part)
        if !part.changes.isEmpty { change(part) }
    }
}

@inline(never)
private func change(_ part: WordAttention) { changeWordScores(Tile.self, part) }
