import KernelsPortable

/// What a network remembers of one sequence. Used by the engine's thread only.
///
/// Sequences that began alike share memory, and one rule keeps them apart: `grow` copies what the next step writes where
/// anybody else holds it too. Forks and checkpoints therefore cost nothing until the sequence goes on.
final class SequenceState {
    /// Memory that several holders may share: one page of a group, or the floats of all recurrent layers.
    final class Part {
        private let buffer: AlignedBuffer
        fileprivate init(bytes: Int) { buffer = AlignedBuffer(byteCount: bytes) }
        fileprivate init(copying other: Part) { buffer = AlignedBuffer(copying: other.buffer) }
        var base: UnsafeMutableRawPointer { buffer.base }
    }

    /// Consecutive pages of one group.
    fileprivate struct Pages {
        /// Pages before this one were given back.
        var first = 0
        var parts: [Part] = []
        var end: Int { first + parts.count }

        mutating func drop(before page: Int) {
            guard page > first else { return }
            parts.removeFirst(min(parts.count, page - first))
            first = page
        }

        mutating func drop(from page: Int) { parts.removeLast(max(0, min(parts.count, end - page))) }
    }

    /// What the pages of layers without a window do not tell of an earlier length. Immutable.
    struct Checkpoint {
        /// Tokens remembered.
        let count: Int
        /// By group; empty for layers without a window.
        fileprivate let windows: [Pages]
        fileprivate let recurrent: Part?
    }

    /// Checkpoints that a sequence keeps; one more drops the oldest.
    static let checkpointLimit = 4

    let shape: StateShape
    /// Tokens remembered.
    private(set) var count = 0
    private var pages: [Pages]
    private var recurrent: Part?
    /// Ascending by length.
    private var checkpoints: [Checkpoint] = []

    init(_ shape: StateShape) {
        self.shape = shape
        pages = Array(repeating: Pages(), count: shape.groups.count)
    }

    // MARK: Going on

    /// Makes room for `tokens` more and counts them in; the step then writes them.
    ///
    /// Gives back pages that no later token sees. Those that the first new token sees stay, so that `rollBack` can undo the
    /// step in layers with keys and values.
    func grow(by tokens: Int) {
        let end = (count + tokens + pageTokens - 1) / pageTokens
        for (index, group) in shape.groups.enumerated() {
            pages[index].drop(before: group.oldest(seenFrom: count) / pageTokens)
            if count % pageTokens > 0 { Self.own(&pages[index].parts[pages[index].parts.endIndex - 1]) }
            while pages[index].end < end { pages[index].parts.append(Part(bytes: group.pageBytes)) }
        }
        if recurrent != nil {
            Self.own(&recurrent!)
        } else if shape.recurrentFloats > 0 {
            recurrent = Part(bytes: shape.recurrentBytes)
        }
        count += tokens
    }

    /// Another sequence that begins with all tokens of this one.
    func fork() -> SequenceState {
        let fork = SequenceState(shape)
        (fork.count, fork.pages, fork.recurrent) = (count, pages, recurrent)
        return fork
    }

    private static func own(_ part: inout Part) {
        if !isKnownUniquelyReferenced(&part) { part = Part(copying: part) }
    }

    // MARK: Going back

    /// Remembers this length, for `rollBack`.
    func checkpoint() {
        if checkpoints.last?.count == count { checkpoints.removeLast() }
        if checkpoints.count == Self.checkpointLimit { checkpoints.removeFirst() }
        let windows = zip(shape.groups, pages).map { group, pages in
            var pages = pages
            pages.drop(before: group.window == nil ? pages.end : group.oldest(seenFrom: count) / pageTokens)
            return pages
        }
        checkpoints.append(Checkpoint(count: count, windows: windows, recurrent: recurrent))
    }

    /// Forgets tokens from `length` on: what is remembered is, bit for bit, what it was at the length returned.
    ///
    /// - Returns: The new length: `length`; with recurrent layers, or with a window that has left `length` behind, the
    ///   length of the last checkpoint up to there, 0 if there is none. The caller computes the tokens between anew.
    @discardableResult
    func rollBack(to length: Int) -> Int {
        guard length < count else { return count }
        checkpoints.removeAll { $0.count > length }
        if shape.recurrentFloats == 0,
            zip(shape.groups, pages).allSatisfy({ $1.first * pageTokens <= $0.oldest(seenFrom: length) })
        {
            count = length
        } else {
            let checkpoint = checkpoints.last
            count = checkpoint?.count ?? 0
            recurrent = checkpoint?.recurrent
            for index in pages.indices where shape.groups[index].window != nil {
                pages[index] = checkpoint?.windows[index] ?? Pages()
            }
        }
        for index in pages.indices { pages[index].drop(from: (count + pageTokens - 1) / pageTokens) }
        return count
    }

    // MARK: Where a step reads and writes

    /// The keys of the layer's first head in a page, its values behind them, then the other heads'.
    func page(_ index: Int, of layer: StateShape.PagedLayer) -> UnsafeMutableRawPointer {
        pages[layer.group].parts[index - pages[layer.group].first].base + layer.offset
    }

    /// The floats of a recurrent layer, as the last step left them; zeros before the first.
    func recurrent(layer: Int) -> UnsafeMutablePointer<Float> {
        guard let recurrent else { preconditionFailure("a recurrent state is made when the sequence grows") }
        return recurrent.base.assumingMemoryBound(to: Float.self) + shape.recurrentOffset(of: layer)
    }
}

// MARK: Sharing

extension SequenceState {
    /// A sequence that begins with full pages of another.
    ///
    /// - Parameter path: The pages of each 32 tokens, as `sharedPages` has them.
    convenience init(_ shape: StateShape, beginning path: [[Part]]) {
        self.init(shape)
        count = path.count * pageTokens
        for index in pages.indices { pages[index].parts = path.map { $0[index] } }
    }

    /// A page of each group, full.
    func sharedPages(_ index: Int) -> [Part] { pages.map { $0.parts[index - $0.first] } }

    /// Puts full pages with the same contents in the place of these.
    func replacePages(_ index: Int, by parts: [Part]) {
        for (group, part) in parts.enumerated() { pages[group].parts[index - pages[group].first] = part }
    }
}
