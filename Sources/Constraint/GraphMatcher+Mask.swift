extension GraphMatcher {
    /// Maximum trie nodes to visit for tokens that cross from one part into the next.
    private static let maximumVisits = 50_000

    /// Replaces `mask` by the tokens that may come next; end tokens are included if the text is complete.
    /// - Throws: `ConstraintError` of kind `budget`.
    public func mask(into mask: inout TokenMask) throws(ConstraintError) {
        let vocabulary = graph.vocabulary
        if mask.count != vocabulary.count { mask = TokenMask(count: vocabulary.count) } else { mask.removeAll() }
        guard !isEnded else { return }
        if var matcher = singleConstraint { return try matcher.mask(into: &mask) }
        var one = TokenMask(count: vocabulary.count)
        for thread in try open() {
            switch (graph.nodes[thread.node].part, thread.progress) {
            case (.constraint(_, let isObject), .constraint(var matcher)):
                try matcher.mask(into: &one)
                for token in vocabulary.endOfGeneration { one.remove(token) }
                mask.formUnion(one)
                if isObject {
                    try test(vocabulary.tokens(continuingAfter: UInt8(ascii: "}")), &mask)
                } else {
                    try walk(from: thread, &mask)
                }
            case (.search(let markers, _), .search):
                guard try !isComplete(thread) else { continue }
                for token in 0..<Int32(vocabulary.count) { mask.insert(token) }
                for token in vocabulary.endOfGeneration { mask.remove(token) }
                for byte in Set(markers.compactMap(\.marker.bytes.last)) {
                    try test(vocabulary.tokens(continuingAfter: byte), &mask)
                }
            default: try walk(from: thread, &mask)
            }
        }
        try test(Array(vocabulary.spoken.keys), &mask)
        if try isComplete() { for token in vocabulary.endOfGeneration { mask.insert(token) } }
    }

    /// Adds tokens after checking each one separately.
    private func test(_ tokens: [Int32], _ mask: inout TokenMask) throws(ConstraintError) {
        var matcher = self
        for token in tokens where !graph.vocabulary.endOfGeneration.contains(token) {
            if try matcher.allows(token) { mask.insert(token) } else { mask.remove(token) }
        }
    }

    /// Adds the tokens that a thread's part allows, and those that continue into the parts after it.
    private func walk(from thread: Thread, _ mask: inout TokenMask) throws(ConstraintError) {
        var start = withoutText()
        start.threads = [thread]
        let trie = graph.vocabulary.trie
        var path = [start]
        var (index, visits) = (1, 0)
        while index < trie.nodes.count {
            let node = trie.nodes[index]
            path.removeLast(path.count - Int(node.depth))
            var next = path[path.count - 1]
            visits += 1
            guard visits <= Self.maximumVisits else { return }
            guard try next.accept(bytes: [node.byte]) == 1 else {
                index = Int(node.next)
                continue
            }
            if node.end >= 0 {
                for entry in Int(trie.starts[Int(node.end)])..<Int(trie.starts[Int(node.end) + 1]) {
                    mask.insert(trie.tokens[entry])
                }
            }
            path.append(next)
            index += 1
        }
    }

    /// The bytes that must come next, up to the first choice or possible end.
    /// - Parameter limit: Approximate maximum number of bytes.
    /// - Throws: `ConstraintError` of kind `budget`.
    public func forcedBytes(limit: Int = 512) throws(ConstraintError) -> [UInt8] {
        guard !isEnded else { return [] }
        if var matcher = singleConstraint { return try matcher.forcedBytes(limit: limit) }
        var current = withoutText()
        while current.text.count < limit, try !current.isComplete() {
            var next: [UInt8] = []
            for thread in try current.open() {
                guard let forced = try current.forced(thread) else { return current.text }
                if next.isEmpty { next = forced }
                guard forced.isEmpty || forced == next else { return current.text }
            }
            guard !next.isEmpty, try current.accept(bytes: next) == next.count else { break }
        }
        return current.text
    }

    /// The first offset in the forced text `bytes` at which an allowed token begins that extends beyond them; their number
    /// if there is none. From there on, their tokens may depend on the text that the model writes next.
    /// - Throws: `ConstraintError` of kind `budget`.
    public func firstCrossing(of bytes: [UInt8]) throws(ConstraintError) -> Int {
        var after = withoutText()
        guard try after.accept(bytes: bytes) == bytes.count else { return 0 }
        var visits = Self.maximumCrossingVisits
        for (offset, node) in graph.vocabulary.crossings(of: bytes) {
            if try after.allowsToken(below: node, &visits) { return offset }
        }
        return bytes.count
    }

    /// Maximum trie nodes that are visited for a forced text; a search that reaches it assumes an allowed token.
    private static let maximumCrossingVisits = 2_000

    /// Whether some token below a trie node is allowed, given that the text up to the node was accepted.
    private func allowsToken(below root: Int, _ visits: inout Int) throws(ConstraintError) -> Bool {
        let trie = graph.vocabulary.trie
        let (depth, end) = (Int(trie.nodes[root].depth), Int(trie.nodes[root].next))
        var (path, index) = ([self], root + 1)
        while index < end {
            let node = trie.nodes[index]
            path.removeLast(path.count - (Int(node.depth) - depth))
            var next = path[path.count - 1]
            visits -= 1
            guard visits >= 0 else { return true }
            guard try next.accept(bytes: [node.byte]) == 1 else {
                index = Int(node.next)
                continue
            }
            if node.end >= 0 { return true }
            path.append(next)
            index += 1
        }
        return false
    }

    /// The bytes with which a thread's part must continue; empty at its end, `nil` if there is a choice.
    private func forced(_ thread: Thread) throws(ConstraintError) -> [UInt8]? {
        switch (graph.nodes[thread.node].part, thread.progress) {
        case (.literal(let bytes), .literal(let count)): return Array(bytes[count...])
        case (.search, .search): return try isComplete(thread) ? [] : nil
        case (_, .constraint(var matcher)):
            var only: UInt8?
            for byte in UInt8.min...UInt8.max where try matcher.allows(bytes: [byte]) {
                guard only == nil else { return nil }
                only = byte
            }
            return only.map { [$0] } ?? []
        default: return nil
        }
    }
}
