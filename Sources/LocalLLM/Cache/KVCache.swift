import KernelFormats
import KernelsPortable

/// The shape of what a model remembers of one token in one layer.
struct KVShape: Sendable, Equatable {
    let layers: Int
    let heads: Int
    /// Width of a key and of a value of one head.
    let keyWidth: Int
    let valueWidth: Int
    var format = KVCacheFormat.f16

    /// One head's part of a page: keys `[keyWidth][32]`, values `[32][valueWidth]`; as bytes, with scales behind each.
    var headBytes: Int {
        switch format {
        case .f16: pageTokens * (keyWidth + valueWidth) * MemoryLayout<UInt16>.stride
        case .q8_0: bytePage.byteCount
        }
    }
    var bytePage: BytePage { BytePage(keyWidth: keyWidth, valueWidth: valueWidth) }
    var pageBytes: Int { layers * heads * headBytes }

    /// Tokens whose keys and values this memory holds.
    func tokens(in bytes: Int) -> Int { bytes / pageBytes * pageTokens }
}

/// Keys and values of up to 32 consecutive tokens, in every layer. Sequences with the same beginning may share it.
final class KVPage {
    private let buffer: AlignedBuffer
    init(_ shape: KVShape) { buffer = AlignedBuffer(byteCount: shape.pageBytes) }
    var base: UnsafeMutableRawPointer { buffer.base }
}

/// What the model remembers of one sequence. Used by the engine's thread only.
final class KVCache {
    let shape: KVShape
    private(set) var pages: [KVPage] = []
    /// Tokens remembered so far.
    private(set) var count = 0

    /// - Parameter pages: Full pages of another sequence, which began the same way.
    init(_ shape: KVShape, beginning pages: [KVPage] = []) {
        self.shape = shape
        self.pages = pages
        count = pages.count * pageTokens
    }

    /// Puts a full page with the same contents in the place of one.
    func replacePage(_ index: Int, by page: KVPage) { pages[index] = page }

    /// Makes room for `tokens` more and counts them in; the step then writes them.
    func grow(by tokens: Int) {
        count += tokens
        while pages.count * pageTokens < count { pages.append(KVPage(shape)) }
    }

    /// Forgets the tokens from `count` on.
    func truncate(to count: Int) {
        self.count = min(count, self.count)
        pages.removeLast(pages.count - (self.count + pageTokens - 1) / pageTokens)
    }

    /// The keys of one head and, behind them, its values.
    func part(page: Int, layer: Int, head: Int) -> UnsafeMutableRawPointer {
        pages[page].base + (layer * shape.heads + head) * shape.headBytes
    }
}
