/// Computes the mask of a state.
///
/// Inside strings and names, a token's effect depends only on the automaton; it is precomputed (`TextSlice.free`) or
/// computed once (`LexemeMask`). The rest is walked: tokens between values, and text after a closing quote.
final class MaskWalker {
    let machine: JSONMachine
    let vocabulary: TokenVocabulary
    /// Output: the mask, or temporarily a set of remainders.
    var words: UnsafeMutablePointer<UInt64>
    /// Tokens (or remainders) that end an item whose text begins before them: each is tested separately.
    var unsure: [Int32] = []
    /// Length of the text so far.
    private let offset: Int
    /// Number of visited nodes.
    var visited = 0
    /// Nesting depth of walks of strings and of remainders, which is limited to protect the stack.
    private var nesting = 0
    private static let maximumNesting = 16
    private static let maximumRemainders = 2_000
    private let states: UnsafeMutablePointer<JSONState>
    let points: UnsafeMutablePointer<TextPoint>

    /// - Parameter offset: Length of the text so far.
    init(
        _ machine: JSONMachine, _ vocabulary: TokenVocabulary, _ words: UnsafeMutablePointer<UInt64>, offset: Int
    ) {
        (self.machine, self.vocabulary, self.words, self.offset) = (machine, vocabulary, words, offset)
        // The trees of remainders are never deeper than the tree of tokens.
        states = .allocate(capacity: vocabulary.trie.maximumDepth + 1)
        points = .allocate(capacity: vocabulary.trie.maximumDepth + 1)
    }

    deinit {
        states.deallocate()
        points.deallocate()
    }

    /// Index in `TextSlice`'s arrays: 1 if escapes may be written in any way.
    var style: Int { machine.options.anySpelling ? 1 : 0 }

    func fill(_ state: JSONState) {
        switch state.mode {
        case .string: string(state)
        case .key: key(state)
        default: other(state)
        }
        for token in unsure { set(token, if: tries(token, state)) }
    }

    private func tries(_ token: Int32, _ state: JSONState) -> Bool {
        var state = state
        for (index, byte) in vocabulary.bytes[Int(token)].enumerated() {
            if machine.needsText { machine.setText(byte, at: offset + index) }
            guard machine.step(&state, byte, at: offset + index) else { return false }
        }
        return true
    }

    // MARK: Sets of tokens

    @inline(__always)
    func set(_ token: Int32, if isAllowed: Bool = true) {
        let bit: UInt64 = 1 << UInt64(token & 63)
        if isAllowed { words[Int(token) >> 6] |= bit } else { words[Int(token) >> 6] &= ~bit }
    }

    private func union(_ mask: [UInt64]) {
        mask.withUnsafeBufferPointer { source in
            for index in source.indices { words[index] |= source[index] }
        }
    }

    /// - Parameter limit: Only tokens of at most this many characters are added.
    func union(_ tokens: TokenSet, ofAtMost limit: Int = .max) {
        let isBounded = limit < vocabulary.text.longest
        switch tokens {
        case .few(let list):
            for token in list where !isBounded || Int(vocabulary.text.characters[Int(token)]) <= limit { set(token) }
        case .many(let mask):
            guard isBounded else { return union(mask) }
            let (short, more) = vocabulary.text.tokens(ofAtMost: limit)
            for index in mask.indices { words[index] |= mask[index] & short[index] }
            for token in more where mask[Int(token) >> 6] >> UInt64(token & 63) & 1 != 0 { set(token) }
        }
    }

    @inline(__always)
    private func add(
        _ end: Int32, _ starts: UnsafePointer<Int32>, _ tokens: UnsafePointer<Int32>, isUnsure: Bool
    ) {
        guard isUnsure else { return TokenTrie.add(end, starts, tokens, to: words) }
        for index in Int(starts[Int(end)])..<Int(starts[Int(end) + 1]) { unsure.append(tokens[index]) }
    }

    // MARK: Walking

    /// Adds the tokens below `root` that may come in `state`.
    /// - Parameter isPlaced: Whether the trie's root is at the end of the text.
    func walk(_ trie: TokenTrie, below root: Int, from state: JSONState, isPlaced: Bool = false) {
        states[Int(trie.nodes[root].depth)] = state
        let keepsText = machine.needsText && isPlaced
        nesting += 1
        trie.withPointers { nodes, starts, tokens in
            var index = root + 1
            let end = Int(nodes[root].next)
            while index < end {
                let node = nodes[index]
                visited &+= 1
                let level = Int(node.depth)
                let next = states + level
                next.pointee = states[level - 1]
                if keepsText { machine.setText(node.byte, at: offset + level - 1) }
                guard machine.step(&next.pointee, node.byte, at: isPlaced ? offset + level - 1 : -1) else {
                    index = Int(node.next)
                    continue
                }
                if node.end >= 0 { add(node.end, starts, tokens, isUnsure: next.pointee.isUnsure) }
                let isText = next.pointee.mode == .string || next.pointee.mode == .key
                if isText, Int(node.next) > index + 1, nesting < Self.maximumNesting {
                    walkText(trie, below: index, from: next.pointee)
                    index = Int(node.next)
                } else {
                    index += 1
                }
            }
        }
        nesting -= 1
    }

    /// As `walk`, for a root inside a string or a name.
    func walkText(_ trie: TokenTrie, below root: Int, from state: JSONState) {
        points[Int(trie.nodes[root].depth)] = state.text
        // A count of its own: `close` changes `visited` while `followText` has exclusive access to its counter.
        var count = 0
        defer { visited &+= count }
        let content = { (end: Int32, point: TextPoint) in
            trie.withPointers { _, starts, tokens in self.add(end, starts, tokens, isUnsure: state.isUnsure) }
        }
        let close = { (node: Int, point: TextPoint) in
            var after = state
            after.text = point
            guard self.machine.step(&after, UInt8(ascii: "\""), at: -1) else { return }
            trie.withPointers { nodes, starts, tokens in
                let end = nodes[node].end
                if end >= 0 { self.add(end, starts, tokens, isUnsure: after.isUnsure) }
                if Int(nodes[node].next) > node + 1 { self.walk(trie, below: node, from: after) }
            }
        }
        if state.mode == .string {
            let position = machine.positions[Int(machine.children[Int(state.child)].position)]
            guard let text = position.text else { return }
            followText(trie, below: root, points, visited: &count) { point, byte in
                machine.content(&point, byte, text, position, limit: text.longest, counts: text.counts)
            } escape: { point, byte, _ in
                machine.escape(&point, byte, text, position, limit: text.longest, counts: text.counts)
            } content: {
                content($0, $1)
            } close: {
                close($0, $1)
            }
        } else {
            let (object, context) = machine.names(state)
            followText(trie, below: root, points, visited: &count) { point, byte in
                machine.keyContent(&point, byte, context, object)
            } escape: { point, byte, _ in
                machine.keyEscape(&point, byte, context, object)
            } content: {
                content($0, $1)
            } close: {
                close($0, $1)
            }
        }
    }

    /// Masks between values and at their beginnings.
    private func other(_ state: JSONState) {
        var isSkipping = false
        switch state.mode {
        case .value, .objectStart, .objectNext, .colon, .arrayStart, .after, .done:
            isSkipping = machine.options.whitespace == .free
        default: break
        }
        guard isSkipping else { return walk(vocabulary.trie, below: 0, from: state, isPlaced: true) }
        let slice = vocabulary.whitespace
        union(slice.whole.words)
        let found = collect(slice.groups.count) { walk(slice.remainders, below: 0, from: state) }
        found.forEach { group in for token in slice.groups[Int(group)] { set(token) } }
        for group in found.unsure { unsure += slice.groups[Int(group)] }
        walk(slice.others, below: 0, from: state, isPlaced: true)
    }

    // MARK: Text after a closing quote

    /// Numbers of the remainders that a walk found.
    struct Remainders {
        var words: [UInt64]
        var unsure: Set<Int32> = []

        /// Calls `body` with each number except the unsure ones.
        @inline(__always)
        func forEach(_ body: (Int32) -> Void) {
            for (index, word) in words.enumerated() {
                var rest = word
                while rest != 0 {
                    body(Int32(index << 6 | rest.trailingZeroBitCount))
                    rest &= rest - 1
                }
            }
        }
    }

    /// Runs a walk that fills a set of numbers below `count` instead of the mask.
    private func collect(_ count: Int, _ walk: () -> Void) -> Remainders {
        var result = Remainders(words: [UInt64](repeating: 0, count: (count + 63) / 64 + 1))
        let (mask, before) = (words, unsure)
        unsure = []
        result.words.withUnsafeMutableBufferPointer { buffer in
            if let base = buffer.baseAddress { words = base }
            walk()
        }
        result.unsure = Set(unsure)
        (words, unsure) = (mask, before)
        return result
    }

    /// The remainders that may follow a quote after which the text is in `state`.
    func remainders(_ state: JSONState) -> Remainders {
        if let known = machine.remainders[state] { return known }
        let slice = vocabulary.text
        var result = collect(slice.remainderCount) { walk(slice.remainders, below: 0, from: state) }
        if state.isUnsure { result.unsure.insert(0) } else { result.words[0] |= 1 }
        if machine.remainders.count >= Self.maximumRemainders { machine.remainders.removeAll() }
        machine.remainders[state] = result
        return result
    }

    /// Adds the closers whose remainder is allowed.
    /// - Parameter limit: Only closers of at most this many characters are added.
    func add(
        _ closers: UnsafeBufferPointer<LexemeMask.Closer>.SubSequence, _ allowed: Remainders, ofAtMost limit: Int = .max
    ) {
        allowed.words.withUnsafeBufferPointer { bits in
            for closer in closers where Int(closer.characters) <= limit {
                let number = closer.remainder
                if bits[Int(number) >> 6] >> UInt64(number & 63) & 1 != 0 {
                    set(closer.token)
                } else if !allowed.unsure.isEmpty, allowed.unsure.contains(number) {
                    unsure.append(closer.token)
                }
            }
        }
    }
}

extension JSONMachine {
    /// The object whose name is read, with its context.
    func names(_ state: JSONState) -> (object: Int32, context: KeyContext) {
        let object = frames[Int(state.frame)].state
        return (object, keyContext(positions[Int(objects[Int(object)].position)].closure))
    }

    func setText(_ byte: UInt8, at index: Int) {
        if index < text.count {
            text[index] = byte
        } else {
            while text.count < index { text.append(0) }
            text.append(byte)
        }
    }
}
