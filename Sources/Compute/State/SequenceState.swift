import KernelFormats

/// Counts the bytes of all states, shared memory once. Used by the engine's thread only.
package final class StateMemory {
    package fileprivate(set) var bytes = 0

    package init() {}
}

/// The state of one sequence: KV cache pages and recurrent floats. Used by the engine's thread only.
///
/// Sequences with a common prefix share memory. It is copied on write: `grow` copies the memory that the next step
/// writes if it has another holder. Forks and checkpoints therefore cost nothing until the sequence continues.
package final class SequenceState {
    /// Reference-counted memory: one page of a group, or the floats of all recurrent layers.
    package final class Buffer {
        private let buffer: AlignedBuffer
        private let memory: StateMemory

        fileprivate init(bytes: Int, in memory: StateMemory) {
            buffer = AlignedBuffer(byteCount: bytes)
            self.memory = memory
            memory.bytes += buffer.byteCount
        }

        /// A buffer with contents that were stored.
        package init(_ contents: AlignedBuffer, in memory: StateMemory) {
            buffer = contents
            self.memory = memory
            memory.bytes += buffer.byteCount
        }

        fileprivate init(copying other: Buffer) {
            buffer = AlignedBuffer(copying: other.buffer)
            memory = other.memory
            memory.bytes += buffer.byteCount
        }

        deinit { memory.bytes -= buffer.byteCount }

        var base: UnsafeMutableRawPointer { buffer.base }
        package var contents: UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(start: buffer.base, count: buffer.byteCount)
        }
    }

    /// Consecutive pages of one group.
    fileprivate struct Pages {
        /// Pages before this one were released.
        var first = 0
        var parts: [Buffer] = []
        var end: Int { first + parts.count }

        mutating func drop(before page: Int) {
            guard page > first else { return }
            parts.removeFirst(min(parts.count, page - first))
            first = page
        }

        mutating func drop(from page: Int) { parts.removeLast(max(0, min(parts.count, end - page))) }
    }

    /// The state at an earlier length that full pages do not contain: pages in a window, recurrent floats.
    package struct Checkpoint {
        /// Length in tokens.
        let count: Int
        /// By group; empty for groups without a window.
        fileprivate let windows: [Pages]
        fileprivate let recurrent: Buffer?

        /// The pages of each window, then the recurrent floats.
        package var parts: [Buffer] { windows.flatMap(\.parts) + (recurrent.map { [$0] } ?? []) }
    }

    /// Maximum checkpoints of a sequence; one more drops the oldest.
    static let checkpointLimit = 4

    package let shape: StateShape
    private let memory: StateMemory
    /// Length in tokens.
    package private(set) var count = 0
    private var pages: [Pages]
    private var recurrent: Buffer?
    /// The encoder's input in an encoder-decoder.
    package var encoding: SequenceEncoding?
    /// Images among the tokens, if any.
    package var media: SequenceMedia?
    /// Ascending by length.
    private var checkpoints: [Checkpoint] = []

    package init(_ shape: StateShape, in memory: StateMemory = StateMemory()) {
        self.shape = shape
        self.memory = memory
        pages = Array(repeating: Pages(), count: shape.groups.count)
    }

    // MARK: Growing

    /// Makes room for `tokens` more and counts them; the step then writes them.
    ///
    /// Releases pages that no later token attends to. Those that the first new token attends to stay, so that
    /// `rollBack` can undo the step in layers with keys and values.
    package func grow(by tokens: Int) {
        let end = Self.pages(count + tokens)
        for (index, group) in shape.groups.enumerated() {
            pages[index].drop(before: group.oldest(seenFrom: count) / pageTokens)
            if count % pageTokens > 0 { Self.own(&pages[index].parts[pages[index].parts.endIndex - 1]) }
            while pages[index].end < end { pages[index].parts.append(Buffer(bytes: group.pageBytes, in: memory)) }
        }
        if recurrent != nil {
            Self.own(&recurrent!)
        } else if shape.recurrentFloats > 0 {
            recurrent = Buffer(bytes: shape.recurrentBytes, in: memory)
        }
        count += tokens
    }

    /// A sequence that shares all tokens of this one.
    package func fork() -> SequenceState {
        let fork = SequenceState(shape, in: memory)
        (fork.count, fork.pages, fork.recurrent) = (count, pages, recurrent)
        (fork.encoding, fork.media) = (encoding, media)
        return fork
    }

    private static func own(_ part: inout Buffer) {
        if !isKnownUniquelyReferenced(&part) { part = Buffer(copying: part) }
    }

    // MARK: Rolling back

    /// Stores a checkpoint at the current length, for `rollBack`.
    package func checkpoint() {
        guard shape.needsCheckpoints, checkpoints.last?.count != count, let checkpoint = makeCheckpoint(at: count)
        else {
            return
        }
        if checkpoints.count == Self.checkpointLimit { checkpoints.removeFirst() }
        checkpoints.append(checkpoint)
    }

    /// The checkpoint at `length`; `nil` if a recurrent layer has advanced, or pages of a window were released.
    package func makeCheckpoint(at length: Int) -> Checkpoint? {
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

    /// Whether the state at an earlier length is still complete.
    private func holds(_ length: Int) -> Bool {
        shape.recurrentFloats == 0
            && zip(shape.groups, pages).allSatisfy { $1.first * pageTokens <= $0.oldest(seenFrom: length) }
    }

    private static func pages(_ tokens: Int) -> Int { (tokens + pageTokens - 1) / pageTokens }

    /// Drops tokens from `length` on. The state is then bitwise the one at the returned length.
    ///
    /// - Returns: The new length: `length`; or, with recurrent layers or a window that has moved past `length`, the
    ///   length of the last checkpoint up to there, 0 if there is none. The caller recomputes the tokens between.
    @discardableResult
    package func rollBack(to length: Int) -> Int {
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

    // MARK: Memory of a step

    /// Base of the layer in a page: the first head's keys, its values, then the other heads'.
    func page(_ index: Int, of layer: StateShape.PagedLayer) -> UnsafeMutableRawPointer {
        pages[layer.group].parts[index - pages[layer.group].first].base + layer.offset
    }

    /// The halves of a compressed vector, in the page of the last of its `tokens` tokens.
    func compressed(
        _ index: Int, of layer: StateShape.PagedLayer, tokens: Int
    ) -> UnsafeMutablePointer<UInt16> {
        let last = (index + 1) * tokens - 1
        let slot = tokens < pageTokens ? last % pageTokens / tokens : 0
        return page(last / pageTokens, of: layer).assumingMemoryBound(to: UInt16.self) + slot * layer.keyWidth
    }

    /// The floats of a recurrent layer after the last step; zeros before the first.
    func recurrent(layer: Int) -> UnsafeMutablePointer<Float> {
        guard let recurrent else { preconditionFailure("a recurrent state is made when the sequence grows") }
        return recurrent.base.assumingMemoryBound(to: Float.self) + shape.recurrentOffset(of: layer)
    }

    /// One of these floats.
    package subscript(recurrentOf layer: Int, index: Int) -> Float {
        get { recurrent(layer: layer)[index] }
        set { recurrent(layer: layer)[index] = newValue }
    }
}

// MARK: Sharing

extension SequenceState {
    /// A sequence that begins with full pages of another.
    ///
    /// - Parameters:
    ///   - path: `sharedPages` of each page.
    ///   - checkpoint: Checkpoint at the end of `path`; required if the shape needs checkpoints.
    package convenience init(
        _ shape: StateShape, in memory: StateMemory = StateMemory(), beginning path: [[Buffer]],
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
    package func sharedPages(_ index: Int) -> [Buffer] { shape.sharedGroups.map { pages[$0].parts[index] } }

    /// Replaces a full page of each group by an identical shared one.
    package func replacePages(_ index: Int, by parts: [Buffer]) {
        for (group, part) in zip(shape.sharedGroups, parts) { pages[group].parts[index] = part }
    }

    /// Bytes of the state, shared ones included.
    package var bytes: Int {
        zip(shape.groups, pages).reduce(recurrent == nil ? 0 : shape.recurrentBytes) {
            $0 + $1.0.pageBytes * $1.1.parts.count
        }
    }
}

// MARK: Storing

extension StateShape {
    /// Bytes of the parts of a shared page.
    package var sharedPageBytes: [Int] { sharedGroups.map { AlignedBuffer.byteCount(groups[$0].pageBytes) } }

    /// Bytes of the parts of a checkpoint at a length, in the order of `Checkpoint.parts`.
    package func checkpointBytes(at length: Int) -> [Int] {
        windowPages(at: length).flatMap { group, pages in
            pages.map { _ in AlignedBuffer.byteCount(group.pageBytes) }
        } + (recurrentFloats > 0 ? [AlignedBuffer.byteCount(recurrentBytes)] : [])
    }

    /// By group; empty for groups without a window.
    fileprivate func windowPages(at length: Int) -> [(group: Group, pages: Range<Int>)] {
        groups.map { group in
            let end = (length + pageTokens - 1) / pageTokens
            return (group, group.window == nil ? 0..<0 : min(end, group.oldest(seenFrom: length) / pageTokens)..<end)
        }
    }
}

extension SequenceState.Checkpoint {
    /// A checkpoint from its parts, which were stored.
    package init(_ parts: [SequenceState.Buffer], at length: Int, of shape: StateShape) {
        count = length
        var rest = parts[...]
        windows = shape.windowPages(at: length).map { _, pages in
            defer { rest = rest.dropFirst(pages.count) }
            return SequenceState.Pages(first: pages.lowerBound, parts: Array(rest.prefix(pages.count)))
        }
        recurrent = rest.first
    }
}
