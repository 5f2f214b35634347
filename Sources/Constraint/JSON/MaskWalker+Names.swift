/// The tokens that continue the names an object's schemas mention, from one node in the tree of names.
final class NameTokens {
    /// Tokens that stay in the name, by the automaton's state after them.
    private(set) var runs: [(state: Int32, tokens: [Int32])] = []
    /// Tokens that end a name, with the name and the automaton's state.
    private(set) var closers: [(name: Int32, state: Int32, list: [LexemeMask.Closer])] = []
    /// Trie nodes where an escape begins, with the state before it.
    private(set) var escapes: [(node: Int, state: Int32)] = []
    /// The nodes of `escapes`.
    private(set) var escapeNodes: Set<Int> = []
    private var places: [Int32: Int] = [:]

    init(_ context: KeyContext, from start: Int32, _ vocabulary: TokenVocabulary, style: Int, _ terms: RegexTerms) {
        let (trie, slice, set) = (vocabulary.trie, vocabulary.text, context.closure.nameSet)
        var pending = [(node: 0, state: start, characters: Int32(0))]
        while let (node, state, characters) = pending.popLast() {
            let name = set.member(at: context.automaton.component(state, 0))
            var index = node + 1
            while index < Int(trie.nodes[node].next) {
                let child = trie.nodes[index]
                if child.byte == UInt8(ascii: "\"") {
                    if name >= 0 { close(index, name, state, characters, trie, slice) }
                } else if child.byte == UInt8(ascii: "\\") {
                    escapes.append((index, state))
                    escapeNodes.insert(index)
                } else if child.byte >= 0x20, set.child(of: context.automaton.component(state, 0), child.byte) != nil {
                    let next = context.automaton.step(state, child.byte, terms)
                    if next >= 0 {
                        if child.end >= 0 { runs.append((next, trie.tokens(at: child.end))) }
                        pending.append((index, next, characters + (child.byte & 0xc0 == 0x80 ? 0 : 1)))
                    }
                }
                index = Int(child.next)
            }
        }
        // Reached by another spelling.
        let node = context.automaton.component(start, 0)
        for closer in slice.escapedClosers[style] {
            var (end, state) = (node, start)
            for byte in closer.content {
                end = set.child(of: end, byte) ?? -1
                if end >= 0, state >= 0 { state = context.automaton.step(state, byte, terms) }
            }
            let name = set.member(at: end)
            let characters = closer.content.count { $0 & 0xc0 != 0x80 }
            if name >= 0, state >= 0 { close(name, state, Int32(characters), closer.token, slice) }
        }
    }

    private func close(
        _ node: Int, _ name: Int32, _ state: Int32, _ characters: Int32, _ trie: TokenTrie, _ slice: TextSlice
    ) {
        for index in node..<Int(trie.nodes[node].next) where trie.nodes[index].end >= 0 {
            trie.withTokens(at: trie.nodes[index].end) { close(name, state, characters, $0, slice) }
        }
    }

    private func close(_ name: Int32, _ state: Int32, _ characters: Int32, _ token: Int32, _ slice: TextSlice) {
        if places[name] == nil {
            places[name] = closers.count
            closers.append((name, state, []))
        }
        closers[places[name] ?? 0].list.append(
            .init(token: token, remainder: slice.remainder[Int(token)], characters: characters, state: state))
    }
}

/// Masks inside names.
extension MaskWalker {
    func key(_ state: JSONState) {
        let (object, context) = machine.names(state)
        guard state.text.sub == 0, context.automaton.isBorder(state.text.state) else {
            return walkText(vocabulary.trie, below: 0, from: state)
        }
        if context.isPlain { known(state, object, context) } else { patterns(state, object, context) }
    }

    // MARK: Objects with plain contexts

    private func known(_ state: JSONState, _ object: Int32, _ context: KeyContext) {
        let other = machine.propertyChild(object, KeyOutcome())
        if other >= 0 {
            let free = vocabulary.text.free[style]
            for run in free.runs { union(run.tokens) }
            if let allowed = remainders(state, after: other) {
                free.forEachGroup(byCharacters: false) { add($0, allowed) }
            }
            guard context.automaton.component(state.text.state, 0) >= 0 else { return }
        }
        let names = names(context, state.text.state)
        if other < 0 {
            for run in names.runs where machine.isLiveKey(context, object, run.state) {
                for token in run.tokens { set(token) }
            }
            for escape in names.escapes { walkEscape(escape, state) }
        }
        close(names, state) { name, _ in machine.propertyChild(object, KeyOutcome(name: name)) }
    }

    /// Adds the tokens that end known names.
    private func close(_ names: NameTokens, _ state: JSONState, child: (Int32, LexemeMask.Closer) -> Int32) {
        for (name, _, closers) in names.closers {
            for closer in closers { set(closer.token, if: false) }
            guard let first = closers.first, let allowed = remainders(state, after: child(name, first)) else {
                continue
            }
            closers.withUnsafeBufferPointer { add($0[...], allowed) }
        }
    }

    private func names(_ context: KeyContext, _ text: Int32) -> NameTokens {
        if let known = context.names[text] { return known }
        let names = NameTokens(context, from: text, vocabulary, style: style, machine.terms)
        context.names[text] = names
        visited += names.runs.count
        return names
    }

    /// The remainders that may follow the quote of a name; `nil` if the name is rejected.
    private func remainders(_ state: JSONState, after child: Int32) -> Remainders? {
        var after = state
        return machine.endKey(&after, child) ? remainders(after) : nil
    }

    /// Adds the tokens with an escape at a trie node.
    private func walkEscape(_ escape: (node: Int, state: Int32), _ state: JSONState) {
        let trie = vocabulary.trie
        var after = state
        after.text.state = escape.state
        guard machine.step(&after, UInt8(ascii: "\\"), at: -1) else { return }
        let end = trie.nodes[escape.node].end
        if end >= 0 { trie.withTokens(at: end) { set($0) } }
        walkText(trie, below: escape.node, from: after)
    }

    // MARK: Objects with patterns

    /// Adds the tokens of unknown names, then those that continue a known name.
    private func patterns(_ state: JSONState, _ object: Int32, _ context: KeyContext) {
        let isAlongName = context.automaton.component(state.text.state, 0) >= 0
        let start = isAlongName ? context.automaton.leaving(0, state.text.state) : state.text.state
        guard start >= 0 else { return }
        let names = isAlongName ? names(context, state.text.state) : nil
        let mask = mask(context, start)
        for run in mask.runs where machine.isLiveKey(context, object, run.state) { union(run.tokens) }
        for escape in mask.escapes where names?.escapeNodes.contains(escape.node) != true {
            if machine.isLiveKey(context, object, escape.state) { walkEscape(escape, state) }
        }
        closers(mask, state, object, context)
        guard let names else { return }
        for run in names.runs {
            let isLive = machine.isLiveKey(context, object, run.state)
            for token in run.tokens { set(token, if: isLive) }
        }
        close(names, state) { _, closer in
            let level = context.level(Int(state.text.count &+ closer.characters))
            return machine.propertyChild(object, machine.outcome(context, closer.state, level: level))
        }
        for escape in names.escapes {
            let trie = vocabulary.trie
            for index in escape.node..<Int(trie.nodes[escape.node].next) where trie.nodes[index].end >= 0 {
                trie.withTokens(at: trie.nodes[index].end) { set($0, if: false) }
            }
            walkEscape(escape, state)
        }
    }

    /// Adds the tokens that end a name, by the outcome of the name.
    private func closers(_ mask: LexemeMask, _ state: JSONState, _ object: Int32, _ context: KeyContext) {
        var known: [(child: Int32, allowed: Remainders?)] = []
        mask.forEachGroup(byCharacters: !context.cuts.isEmpty) { closers in
            guard let first = closers.first else { return }
            let level = context.level(Int(state.text.count &+ first.characters))
            let child = machine.propertyChild(object, machine.outcome(context, first.state, level: level))
            guard child >= 0 else { return }
            let place = known.firstIndex { $0.child == child } ?? known.count
            if place == known.count { known.append((child, remainders(state, after: child))) }
            if let allowed = known[place].allowed { add(closers, allowed) }
        }
    }

    /// - Parameter text: A state of the context's automaton that has left the tree of names.
    private func mask(_ context: KeyContext, _ text: Int32) -> LexemeMask {
        if let known = context.masks[text] { return known }
        var builder = LexemeMask.Builder(vocabulary.count)
        let trie = vocabulary.trie
        let (automaton, terms) = (context.automaton, machine.terms)
        let step = { (point: inout TextPoint, byte: UInt8) -> Bool in
            if byte & 0xc0 != 0x80, !context.cuts.isEmpty { point.count &+= 1 }
            point.state = automaton.step(point.state, byte, terms)
            return point.state >= 0
        }
        points[0] = TextPoint(state: text)
        followText(trie, below: 0, points, visited: &visited) { point, byte in
            step(&point, byte)
        } escape: { point, byte, node in
            if point.sub == 0, !automaton.isBorder(point.state) { return false }
            // Without freedom of spelling an escape depends on the names that may still come.
            if !machine.options.anySpelling {
                builder.escapes.append((node, point.state))
                return false
            }
            return machine.escape(&point, byte, free: false) { step(&$0, $1) }
        } content: { end, point in
            trie.withTokens(at: end) { builder.add($0, state: point.state) }
        } close: { node, point in
            if automaton.isBorder(point.state) { close(trie, node, point, &builder, isInEscape: false) }
        } whole: { node, point in
            guard automaton.isBorder(point.state),
                context.loop(point.state, terms).isSuperset(of: trie.contents[node])
            else { return false }
            builder.add(trie.tokens(below: node), state: point.state)
            return true
        }
        let mask = builder.finish()
        if mask.size < machine.maskBytesLeft {
            machine.maskBytesLeft -= mask.size
            context.masks[text] = mask
        }
        return mask
    }
}
