/// Follows one text under a `ConstraintGraph`, token by token.
///
/// A value type, like `ConstraintMatcher`: a copy is a fork, and an earlier copy is a checkpoint to roll back to.
public struct GraphMatcher: Sendable {
    /// One parse of the text so far.
    struct Thread: Sendable {
        enum Progress: Sendable {
            /// Number of bytes read of the literal.
            case literal(Int)
            /// For each marker, the number of its bytes that the text ends with.
            case search([Int])
            case constraint(ConstraintMatcher)
        }

        var node: Int
        /// Offset in the text where the node's part began. Together with the node it identifies the thread.
        var began: Int
        var progress: Progress
    }

    public let graph: ConstraintGraph
    var threads: [Thread] = []
    /// The accepted text, without end tokens.
    public private(set) var text: [UInt8] = []
    /// Bytes of the accepted text.
    private var count = 0
    /// Whether an end token was accepted.
    public private(set) var isEnded = false

    static let maximumThreads = 64

    init(_ graph: ConstraintGraph) {
        self.graph = graph
        threads = graph.first.map { begin($0) }
    }

    // MARK: Threads

    func begin(_ node: Int) -> Thread {
        let progress: Thread.Progress =
            switch graph.nodes[node].part {
            case .literal: .literal(0)
            case .search(let markers, _): .search(markers.map { _ in 0 })
            case .constraint(let constraint, _): .constraint(constraint.matcher())
            }
        return Thread(node: node, began: count, progress: progress)
    }

    func isComplete(_ thread: Thread) throws(ConstraintError) -> Bool {
        switch (graph.nodes[thread.node].part, thread.progress) {
        case (.literal(let bytes), .literal(let count)): return count == bytes.count
        case (.search(let markers, _), .search(let counts)):
            return zip(markers, counts).contains { $0.marker.bytes.count == $1 }
        case (_, .constraint(var matcher)): return try matcher.isComplete()
        default: return false
        }
    }

    /// The threads, and those that may begin here because a thread is complete.
    func open() throws(ConstraintError) -> [Thread] {
        var result = threads
        var begun: Set<Int> = []
        var index = 0
        while index < result.count {
            if try isComplete(result[index]) {
                for node in following(result[index]) where begun.insert(node).inserted { result.append(begin(node)) }
            }
            index += 1
        }
        return result
    }

    /// Nodes that may follow a complete thread.
    private func following(_ thread: Thread) -> [Int] {
        let node = graph.nodes[thread.node]
        guard case .search(let markers, _) = node.part, case .search(let counts) = thread.progress else {
            return node.next
        }
        return node.next + zip(markers, counts).flatMap { $0.marker.bytes.count == $1 ? $0.exits : [] }
    }

    /// - Returns: `nil` if the thread's part does not allow the byte.
    private func advance(_ thread: Thread, _ byte: UInt8) throws(ConstraintError) -> Thread? {
        var thread = thread
        switch (graph.nodes[thread.node].part, thread.progress) {
        case (.literal(let bytes), .literal(let count)):
            guard count < bytes.count, bytes[count] == byte else { return nil }
            thread.progress = .literal(count + 1)
        case (.search(let markers, _), .search(let counts)):
            guard try !isComplete(thread) else { return nil }
            thread.progress = .search(zip(markers, counts).map { $0.marker.step($1, byte) })
        case (_, .constraint(var matcher)):
            guard try matcher.accept(bytes: [byte]) == 1 else { return nil }
            thread.progress = .constraint(matcher)
        default: return nil
        }
        return thread
    }

    private mutating func step(_ byte: UInt8) throws(ConstraintError) -> Bool {
        var next: [Thread] = []
        for thread in try open() {
            guard let moved = try advance(thread, byte),
                !next.contains(where: { $0.node == moved.node && $0.began == moved.began })
            else { continue }
            guard next.count < Self.maximumThreads else {
                throw ConstraintError(.budget, "", "the text can be read in too many ways")
            }
            next.append(moved)
        }
        guard !next.isEmpty else { return false }
        threads = next
        text.append(byte)
        count += 1
        return true
    }

    // MARK: Tokens

    /// Whether the token may come next; much cheaper than a mask.
    /// - Throws: `ConstraintError` of kind `budget`.
    public mutating func allows(_ token: Int32) throws(ConstraintError) -> Bool {
        guard !isEnded else { return false }
        if graph.vocabulary.endOfGeneration.contains(token) { return try isComplete() }
        if let only = singleConstraint {
            // Avoids copying the text.
            var matcher = only
            guard let bytes = graph.vocabulary.bytes(of: token) else { return false }
            return try matcher.allows(bytes: bytes)
        }
        var copy = withoutText()
        return try copy.read(token)
    }

    /// A copy to try continuations with, which need not copy the text so far.
    func withoutText() -> GraphMatcher {
        var copy = self
        copy.text = []
        return copy
    }

    /// Whether these bytes may come next.
    public func allows(bytes: [UInt8]) throws(ConstraintError) -> Bool {
        var copy = withoutText()
        return try copy.accept(bytes: bytes) == bytes.count
    }

    /// Advances by a token.
    /// - Throws: `ConstraintError` of kind `token` if it is not allowed, or `budget`; the matcher must not be used
    ///   afterwards.
    public mutating func accept(_ token: Int32) throws(ConstraintError) {
        if graph.vocabulary.endOfGeneration.contains(token), !isEnded, try isComplete() {
            isEnded = true
            return
        }
        guard !isEnded, try read(token) else {
            throw ConstraintError(.token, "", "token \(token) is not allowed after \(count) bytes")
        }
    }

    /// Reads a token's bytes. A control token counts as its text, but only in literals and free text.
    private mutating func read(_ token: Int32) throws(ConstraintError) -> Bool {
        if let bytes = graph.vocabulary.bytes(of: token) { return try accept(bytes: bytes) == bytes.count }
        // Other control tokens are allowed in free text only, and are not part of the text.
        let spoken = graph.vocabulary.spoken[token]
        for byte in spoken ?? [0xff] {
            guard try step(byte) else { return false }
            threads.removeAll { if case .constraint = $0.progress { true } else { false } }
            guard !threads.isEmpty else { return false }
        }
        if spoken == nil {
            text.removeLast()
            count -= 1
        }
        return true
    }

    /// Advances by bytes. If fewer than all are allowed, the matcher must not be used afterwards.
    /// - Returns: The number of allowed bytes.
    public mutating func accept(bytes: [UInt8]) throws(ConstraintError) -> Int {
        if threads.count == 1, isDelimited(threads[0]), case .constraint(var matcher) = threads[0].progress {
            // Fast path: all bytes belong to a single part.
            threads[0].progress = .literal(0)
            let count = try matcher.accept(bytes: bytes)
            threads[0].progress = .constraint(matcher)
            if count == bytes.count {
                text += bytes
                self.count += count
                return count
            }
        }
        for (index, byte) in bytes.enumerated() { guard try step(byte) else { return index } }
        return bytes.count
    }

    /// Whether a complete part cannot continue, or nothing may follow it.
    private func isDelimited(_ thread: Thread) -> Bool {
        if case .constraint(_, isObject: true) = graph.nodes[thread.node].part { return true }
        return graph.nodes[thread.node].next.isEmpty
    }

    /// The matcher of the constraint that the text is in, if nothing can follow that constraint.
    var singleConstraint: ConstraintMatcher? {
        guard threads.count == 1, graph.nodes[threads[0].node].next.isEmpty,
            case .constraint(let matcher) = threads[0].progress
        else { return nil }
        return matcher
    }

    /// Whether the text may end here.
    /// - Throws: `ConstraintError` of kind `budget`.
    public func isComplete() throws(ConstraintError) -> Bool {
        if isEnded || count == 0 && graph.isNullable { return true }
        for thread in try open() {
            if case .search(_, mayEnd: true) = graph.nodes[thread.node].part, try !isComplete(thread) { return true }
            if graph.nodes[thread.node].isLast, try isComplete(thread) { return true }
        }
        return false
    }
}
