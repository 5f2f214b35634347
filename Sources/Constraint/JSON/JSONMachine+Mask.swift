/// Walks the vocabulary: which tokens may come in a state.
struct MaskWalker {
    let machine: JSONMachine
    let vocabulary: TokenVocabulary
    let words: UnsafeMutablePointer<UInt64>
    /// Length of the text so far.
    let offset: Int
    /// Nodes that were visited.
    var visited = 0
    /// Tokens that have to be tried one by one.
    var unsure: [Int32] = []

    /// Adds the tokens of the tree's part below `node` that may come in `state`.
    /// - Parameters:
    ///   - groups: What the tokens of a tree of remainders stand for.
    ///   - isPlaced: Whether the tree's root is at the end of the text.
    mutating func walk(
        _ trie: TokenTrie, below root: Int, from state: JSONState, groups: [[Int32]]? = nil, isPlaced: Bool
    ) {
        let states = machine.scratch(trie.maximumDepth + 1)
        states[Int(trie.nodes[root].depth)] = state
        let keepsText = machine.needsText && isPlaced
        trie.nodes.withUnsafeBufferPointer { nodes in
            var index = root + 1
            let end = Int(nodes[root].next)
            while index < end {
                let node = nodes[index]
                visited &+= 1
                let level = Int(node.depth)
                states[level] = states[level - 1]
                if keepsText { machine.setText(node.byte, at: offset + level - 1) }
                if machine.step(&states[level], node.byte, at: isPlaced ? offset + level - 1 : -1) {
                    if node.end >= 0 { add(trie, node.end, groups, isUnsure: states[level].isUnsure) }
                    index += 1
                } else {
                    index = Int(node.next)
                }
            }
        }
    }

    @inline(__always)
    mutating func add(_ trie: TokenTrie, _ end: Int32, _ groups: [[Int32]]?, isUnsure: Bool) {
        for entry in Int(trie.starts[Int(end)])..<Int(trie.starts[Int(end) + 1]) {
            let token = trie.tokens[entry]
            let list = groups?[Int(token)]
            if isUnsure {
                unsure += list ?? [token]
            } else if let list {
                for token in list { set(token) }
            } else {
                set(token)
            }
        }
    }

    @inline(__always)
    func set(_ token: Int32) { words[Int(token) >> 6] |= 1 << UInt64(token & 63) }

    func clear(_ token: Int32) { words[Int(token) >> 6] &= ~(1 << UInt64(token & 63)) }

    func union(_ mask: TokenMask) {
        mask.words.withUnsafeBufferPointer { source in
            for index in source.indices { words[index] |= source[index] }
        }
    }

    func union(_ mask: [UInt64]) {
        mask.withUnsafeBufferPointer { source in
            for index in source.indices { words[index] |= source[index] }
        }
    }

    // MARK: By state

    mutating func fill(_ state: JSONState) {
        switch state.mode {
        case .string: string(state)
        case .key: key(state)
        default: other(state)
        }
        // Tokens that end an item whose text is not known before them: each is tried.
        for token in unsure where !tries(token, state) { clear(token) }
    }

    private func tries(_ token: Int32, _ state: JSONState) -> Bool {
        var state = state
        for (index, byte) in vocabulary.bytes[Int(token)].enumerated() {
            if machine.needsText { machine.setText(byte, at: offset + index) }
            guard machine.step(&state, byte, at: offset + index) else { return false }
        }
        set(token)
        return true
    }

    private mutating func other(_ state: JSONState) {
        var isSkipping = false
        switch state.mode {
        case .value, .objectStart, .objectNext, .colon, .arrayStart, .after, .done:
            isSkipping = machine.options.freeWhitespace
        default: break
        }
        guard isSkipping else { return walk(vocabulary.trie, below: 0, from: state, isPlaced: true) }
        union(vocabulary.whitespace.whole)
        walk(
            vocabulary.whitespace.remainders, below: 0, from: state, groups: vocabulary.whitespace.groups,
            isPlaced: false)
        walk(vocabulary.whitespace.others, below: 0, from: state, isPlaced: true)
    }

    /// After a string that admits anything: tokens that close it, from the state behind the quote.
    private mutating func close(_ state: JSONState, _ style: Int) {
        var after = state
        guard machine.step(&after, UInt8(ascii: "\""), at: -1) else { return }
        let slice = vocabulary.text
        if after.isUnsure {
            unsure += slice.groups[style][0]
        } else {
            for token in slice.groups[style][0] { set(token) }
        }
        walk(slice.closing[style], below: 0, from: after, groups: slice.groups[style], isPlaced: false)
    }

    private var style: Int { machine.options.anySpelling ? 1 : 0 }

    private mutating func string(_ state: JSONState) {
        let position = machine.positions[Int(machine.children[Int(state.child)].position)]
        guard let text = position.text, state.sub == 0 else {
            return walk(vocabulary.trie, below: 0, from: state, isPlaced: true)
        }
        let left = text.longest - Int(state.count)
        let isSettled = Int(state.count) >= text.settled && left > vocabulary.text.longest
        if text.isFree, text.automaton.isBorder(state.text) {
            if isSettled {
                union(vocabulary.text.inside[style])
                return close(state, style)
            }
            plain(upTo: left)
            return walk(vocabulary.text.special, below: 0, from: state, isPlaced: true)
        }
        // Content of a string with a pattern: the same wherever the string stands.
        let count = isSettled ? UInt64(UInt32.max) : UInt64(UInt32(bitPattern: state.count))
        let key = UInt64(UInt32(bitPattern: state.text)) << 32 | count
        let mask: TextMask
        if let known = text.masks[key] {
            mask = known
        } else {
            mask = content(state, position, text)
            if text.masks.count < 64 { text.masks[key] = mask }
        }
        union(mask.content)
        for quote in mask.quotes { self.quote(quote, state) }
    }

    private mutating func quote(_ quote: (node: Int32, state: Int32, count: Int32), _ state: JSONState) {
        var after = state
        (after.text, after.count) = (quote.state, quote.count)
        guard machine.step(&after, UInt8(ascii: "\""), at: -1) else { return }
        let end = vocabulary.trie.nodes[Int(quote.node)].end
        if end >= 0 { add(vocabulary.trie, end, nil, isUnsure: after.isUnsure) }
        walk(vocabulary.trie, below: Int(quote.node), from: after, isPlaced: false)
    }

    /// Plain tokens of at most so many characters.
    private func plain(upTo count: Int) {
        let slice = vocabulary.text
        if count <= TextSlice.limit { return union(slice.plainUpTo[max(count, 0)]) }
        union(slice.plainUpTo[TextSlice.limit])
        for entry in slice.longPlain where Int(entry.characters) <= count { set(entry.token) }
    }

    /// Follows the content of a string through the vocabulary, without what comes after its quote.
    private mutating func content(_ state: JSONState, _ position: Position, _ text: TextContext) -> TextMask {
        let mask = TextMask(words: (vocabulary.count + 63) / 64)
        let trie = vocabulary.trie
        let states = machine.scratch(trie.maximumDepth + 1)
        states[0] = state
        mask.content.withUnsafeMutableBufferPointer { content in
            guard let content = content.baseAddress else { return }
            trie.withPointers { nodes, starts, tokens in
                var index = 1
                while index < nodes.count {
                    let node = nodes[index]
                    visited &+= 1
                    let level = Int(node.depth)
                    if node.byte == UInt8(ascii: "\""), states[level - 1].sub == 0 {
                        if text.automaton.isBorder(states[level - 1].text) {
                            mask.quotes.append((Int32(index), states[level - 1].text, states[level - 1].count))
                        }
                        index = Int(node.next)
                        continue
                    }
                    states[level] = states[level - 1]
                    if machine.step(&states[level], node.byte, at: -1) {
                        if node.end >= 0 { TokenTrie.add(node.end, starts, tokens, to: content) }
                        index += 1
                    } else {
                        index = Int(node.next)
                    }
                }
            }
        }
        return mask
    }

    private mutating func key(_ state: JSONState) {
        let object = machine.frames[Int(state.frame)].state
        let context = machine.keyContext(machine.positions[Int(machine.objects[Int(object)].position)].closure)
        guard context.isPlain, state.sub == 0, context.automaton.isBorder(state.text),
            machine.propertyChild(object, KeyOutcome()) >= 0
        else { return walk(vocabulary.trie, below: 0, from: state, isPlaced: true) }
        // Any name may come. The known ones, as far as they begin like this, are gone through one by one.
        union(vocabulary.text.inside[style])
        var other = state
        var after = state
        other.text = machine.otherText(context)
        after = other
        if machine.step(&after, UInt8(ascii: "\""), at: -1) {
            for token in vocabulary.text.groups[style][0] { set(token) }
            walk(
                vocabulary.text.closing[style], below: 0, from: after, groups: vocabulary.text.groups[style],
                isPlaced: false)
        }
        let names = context.automaton.component(state.text, 0)
        if names >= 0, !context.closure.names.isEmpty { known(names, state, context) }
    }

    /// Corrects the mask where a token goes along a known name and ends it, or escapes something on the way.
    private mutating func known(_ names: Int32, _ state: JSONState, _ context: KeyContext) {
        let trie = vocabulary.trie
        let set = context.closure.nameSet
        var pending = [(node: 0, name: names, state: state)]
        while let (node, name, state) = pending.popLast() {
            if set.member(at: name) >= 0, let quote = trie.child(of: node, UInt8(ascii: "\"")) {
                redo(quote, state)
            }
            if machine.options.anySpelling
                || set.children(of: name).contains(where: { StringSyntax.mustBeEscaped.contains($0.byte) }),
                let escape = trie.child(of: node, UInt8(ascii: "\\"))
            {
                redo(escape, state)
            }
            for (byte, next) in set.children(of: name) {
                guard byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"),
                    let child = trie.child(of: node, byte)
                else { continue }
                var after = state
                if machine.step(&after, byte, at: -1) { pending.append((child, next, after)) }
            }
        }
    }

    /// Works out anew the tokens at and below a node, which is reached in `state` before its byte.
    private mutating func redo(_ node: Int, _ state: JSONState) {
        let trie = vocabulary.trie
        for index in node..<Int(trie.nodes[node].next) where trie.nodes[index].end >= 0 {
            let end = Int(trie.nodes[index].end)
            for entry in Int(trie.starts[end])..<Int(trie.starts[end + 1]) { clear(trie.tokens[entry]) }
        }
        var after = state
        guard machine.step(&after, trie.nodes[node].byte, at: -1) else { return }
        if trie.nodes[node].end >= 0 { add(trie, trie.nodes[node].end, nil, isUnsure: false) }
        walk(trie, below: node, from: after, isPlaced: false)
    }
}

extension JSONMachine {
    /// The state of the key automaton in which no known name can come any more.
    func otherText(_ context: KeyContext) -> Int32 {
        if context.other < 0 {
            // A byte after which no name goes on.
            var text = StringAutomaton.start
            while context.automaton.component(text, 0) >= 0 {
                let taken = Set(context.closure.nameSet.children(of: context.automaton.component(text, 0)).map(\.byte))
                let byte = (UInt8(0x20)...0x7e).first { !taken.contains($0) } ?? 0x7f
                text = context.automaton.step(text, byte, plan.terms)
            }
            context.other = text
        }
        return context.other
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
