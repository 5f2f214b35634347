/// Masks inside strings.
extension MaskWalker {
    func string(_ state: JSONState) {
        let position = machine.positions[Int(machine.children[Int(state.child)].position)]
        guard let text = position.text else { return }
        let left = text.longest - Int(state.text.count)
        let mask = mask(text, position, state.text, left)
        // Within an escape the mask already contains the limit.
        for run in mask.runs { union(run.tokens, ofAtMost: state.text.sub == 0 ? left : .max) }

        // After the closing quote, the allowed remainders depend only on the string's result.
        var known: [(result: Int32, allowed: Remainders?)] = []
        mask.forEachGroup(byCharacters: !text.cuts.isEmpty) { closers in
            guard let first = closers.first else { return }
            let level = text.level(Int(state.text.count &+ first.characters))
            let result = machine.textResult(text, first.state, level: level, position)
            guard result >= 0 else { return }
            let place = known.firstIndex { $0.result == result } ?? known.count
            if place == known.count {
                var after = state
                let isTaken = machine.endValue(&after, result, at: -1)
                known.append((result, isTaken ? remainders(after) : nil))
            }
            if let allowed = known[place].allowed { add(closers, allowed, ofAtMost: left) }
        }
    }

    private func mask(_ text: TextContext, _ position: Position, _ point: TextPoint, _ left: Int) -> LexemeMask {
        if text.isFree, point.sub == 0, text.automaton.isBorder(point.state) { return vocabulary.text.free[style] }
        let isBounded = point.sub != 0 && left < vocabulary.text.longest
        let key = LexemeKey(state: point.state, sub: point.sub, code: point.code, limit: isBounded ? left : .max)
        if let known = text.live.masks[key] { return known }
        let mask = makeMask(text, position, key)
        if mask.size < machine.maskBytesLeft {
            machine.maskBytesLeft -= mask.size
            text.live.masks[key] = mask
        }
        return mask
    }

    private func makeMask(_ text: TextContext, _ position: Position, _ key: LexemeKey) -> LexemeMask {
        var builder = LexemeMask.Builder(vocabulary.count)
        let isOpen = key.sub == 0 && machine.isOpen(text, key.state, position)
        if isOpen { builder.add(vocabulary.text.plain, state: StringAutomaton.start) }
        let trie = isOpen ? vocabulary.text.special : vocabulary.trie
        let isBounded = key.limit != .max
        points[0] = TextPoint(state: key.state, count: 0, sub: key.sub, code: key.code)
        followText(trie, below: 0, points, visited: &visited) { point, byte in
            machine.content(&point, byte, text, position, limit: key.limit, counts: true)
        } escape: { point, byte, _ in
            machine.escape(&point, byte, text, position, limit: key.limit, counts: true)
        } content: { end, _ in
            trie.withTokens(at: end) { builder.add($0, state: StringAutomaton.start) }
        } close: { node, point in
            guard text.automaton.isBorder(point.state) else { return }
            close(trie, node, point, &builder, isInEscape: key.sub != 0)
        } whole: { node, point in
            guard !isBounded, text.automaton.isBorder(point.state),
                machine.loop(text, point.state, position).isSuperset(of: trie.contents[node])
            else { return false }
            builder.add(trie.tokens(below: node), state: StringAutomaton.start)
            return true
        }
        return builder.finish()
    }

    /// Adds the tokens in which a node's quote is the closing one.
    func close(
        _ trie: TokenTrie, _ node: Int, _ point: TextPoint, _ builder: inout LexemeMask.Builder, isInEscape: Bool
    ) {
        let slice = vocabulary.text
        let length = Int(trie.nodes[node].depth)
        for index in node..<Int(trie.nodes[node].next) where trie.nodes[index].end >= 0 {
            for token in trie.tokens(at: trie.nodes[index].end) {
                // Within an escape, the first quote may be part of the escape.
                let remainder =
                    isInEscape
                    ? slice.number(ofRemainder: vocabulary.bytes[Int(token)][length...]) : slice.remainder[Int(token)]
                guard let remainder, remainder >= 0 else { continue }
                builder.close(
                    .init(token: token, remainder: remainder, characters: point.count, state: point.state))
            }
        }
    }
}
