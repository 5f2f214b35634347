import KernelFormats

/// Counts the bytes of states, however many sequences and checkpoints share them. Used by the engine's thread only.
final class StateMemory {
    fileprivate(set) var bytes = 0
}

/// What a network remembers of one sequence. Used by the engine's thread only.
///
/// Sequences that began alike share memory, and one rule keeps them apart: `grow` copies what the next step writes where
/// anybody else holds it too. Forks and checkpoints therefore cost nothing until the sequence goes on.
final class SequenceState {
    /// Memory that several holders may share: one page of a group, or the floats of all recurrent layers.
    final class Part {
        private let buffer: AlignedBuffer
        private let memory: StateMemory

        fileprivate init(bytes: Int, in memory: StateMemory) {
            buffer = AlignedBuffer(byteCount: bytes)
            self.memory = memory
            memory.bytes += buffer.byteCount
        }

        fileprivate init(copying other: Part) {
            buffer = AlignedBuffer(copying: other.buffer)
            memory = other.memory
            memory.bytes += buffer.byteCount
        }

        deinit { memory.bytes -= buffer.byteCount }

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

    /// What the pages of layers without a window do not tell of an earlier length: pages in a window, recurrent floats.
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
    private let memory: StateMemory
    /// Tokens remembered.
    private(set) var count = 0
    private var pages: [Pages]
    private var recurrent: Part?
    /// Of an encoder-decoder: what its encoder reads.
    var encoding: SequenceEncoding?
    /// Pictures among the tokens.
    var images: SequenceImages?
    /// Ascending by length.
    private var checkpoints: [Checkpoint] = []

    init(_ shape: StateShape, in memory: StateMemory = StateMemory()) {
        self.shape = shape
        self.memory = memory
        pages = Array(repeating: Pages(), count: shape.groups.count)
    }

    // MARK: Going on

    /// Makes room for `tokens` more and counts them in; the step then writes them.
    ///
    /// Gives back pages that no later token sees. Those that the first new token sees stay, so that `rollBack` can undo the
    /// step in layers with keys and values.
    func grow(by tokens: Int) {
        let end = Self.pages(count + tokens)
        for (index, group) in shape.groups.enumerated() {
            pages[index].drop(before: group.oldest(seenFrom: count) / pageTokens)
            if count % pageTokens > 0 { Self.own(&pages[index].parts[pages[index].parts.endIndex - 1]) }
            while pages[index].end < end { pages[index].parts.append(Part(bytes: group.pageBytes, in: memory)) }
        }
        if recurrent != nil {
            Self.own(&recurrent!)
        } else if shape.recurrentFloats > 0 {
            recurrent = Part(bytes: shape.recurrentBytes, in: memory)
        }
        count += tokens
    }

    /// Another sequence that begins with all tokens of this one.
    func fork() -> SequenceState {
        let fork = SequenceState(shape, in: memory)
        (fork.count, fork.pages, fork.recurrent) = (count, pages, recurrent)
        (fork.encoding, fork.images) = (encoding, images)
        return fork
    }

    private static func own(_ part: inout Part) {
        if !isKnownUniquelyReferenced(&part) { part = Part(copying: part) }
    }

    // MARK: Going back

    /// Remembers this length, for `rollBack`.
    func checkpoint() {
        guard shape.needsCheckpoints, checkpoints.last?.count != count, let checkpoint = makeCheckpoint(at: count)
        else {
            return
        }
        if checkpoints.count == Self.checkpointLimit { checkpoints.removeFirst() }
        checkpoints.append(checkpoint)
    }

    /// What was remembered at `length`; `nil` if a recurrent layer has gone on, or pages of a window are given back.
    func makeCheckpoint(at length: Int) -> Checkpoint? {
        guard length == count || holds(length) else { return nil }
        let windows = zip(shape.groups, pages).map { group, pages in
            guard group.window != nil else { return Pages() }
            var pages = pages
            pages.drop(before: group.oldest(seenFrom: length) / pageTokens)
            pages.drop(from: Self.pages(length))
            return pages
        }
        return Checkpoint(count: length, windows: windows, recurrent: recurrent)
    }

    /// Whether the state at an earlier length is still there.
    private func holds(_ length: Int) -> Bool {
        shape.recurrentFloats == 0
            && zip(shape.groups, pages).allSatisfy { $1.first * pageTokens <= $0.oldest(seenFrom: length) }
    }

    private static func pages(_ tokens: Int) -> Int { (tokens + pageTokens - 1) / pageTokens }

    /// Forgets tokens from `length` on: what is remembered is, bit for bit, what it was at the length returned.
    ///
    /// - Returns: The new length: `length`; with recurrent layers, or with a window that has left `length` behind, the
    ///   length of the last checkpoint up to there, 0 if there is none. The caller computes the tokens between anew.
    @discardableResult
    func rollBack(to length: Int) -> Int {
        guard length < count else { return count }
        checkpoints.removeAll { $0.count > length }
        if holds(length) {
            count = length
        } else {
            let checkpoint = checkpoints.last
            count = checkpoint?.count ?? 0
            recurrent = checkpoint?.recurrent
            for index in pages.indices where shape.groups[index].window != nil {
                pages[index] = checkpoint?.windows[index] ?? Pages()
            }
        }
        for index in pages.indices { pages[index].drop(from: Self.pages(count)) }
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
    /// - Parameters:
    ///   - path: Of each page, what `sharedPages` returned.
    ///   - checkpoint: At the end of `path`; needed where the shape needs checkpoints.
    convenience init(
        _ shape: StateShape, in memory: StateMemory = StateMemory(), beginning path: [[Part]],
        checkpoint: Checkpoint? = nil
    ) {
        self.init(shape, in: memory)
        count = path.count * pageTokens
        for (place, index) in shape.sharedGroups.enumerated() { pages[index].parts = path.map { $0[place] } }
        guard let checkpoint else { return }
        precondition(checkpoint.count == count, "the checkpoint is of another length")
        recurrent = checkpoint.recurrent
        for index in pages.indices where shape.groups[index].window != nil { pages[index] = checkpoint.windows[index] }
    }

    /// A full page of each group without a window.
    func sharedPages(_ index: Int) -> [Part] { shape.sharedGroups.map { pages[$0].parts[index] } }

    /// Puts full pages with the same contents in the place of these.
    func replacePages(_ index: Int, by parts: [Part]) {
        for (group, part) in zip(shape.sharedGroups, parts) { pages[group].parts[index] = part }
    }

    /// Bytes that it holds, shared or not.
    var bytes: Int {
        zip(shape.groups, pages).reduce(recurrent == nil ? 0 : shape.recurrentBytes) {
            $0 + $1.0.pageBytes * $1.1.parts.count
        }
    }
}
