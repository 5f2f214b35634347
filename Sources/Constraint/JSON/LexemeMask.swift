/// The tokens that go on a string or a name from one state of its automaton: the same wherever the string stands.
final class LexemeMask: Sendable {
    /// Tokens that stay inside.
    struct Run: Sendable {
        /// The automaton's state after them; of strings always the start, since which one it is makes no difference.
        let state: Int32
        let tokens: TokenSet
    }

    /// A token with the closing quote in it.
    struct Closer: Sendable {
        let token: Int32
        /// What follows the quote: a number of `TextSlice`.
        let remainder: Int32
        /// Characters before the quote.
        let characters: Int32
        /// The automaton's state before the quote.
        let state: Int32
    }

    let runs: [Run]
    /// Those of the same state and number of characters stand together.
    let closers: [Closer]
    /// Nodes of the vocabulary's tree at which an escape begins, and the state before it; only where what they lead to
    /// depends on more than the automaton.
    let escapes: [(node: Int, state: Int32)]
    /// Bytes of memory, about.
    var size: Int { runs.reduce(16 * closers.count + 16 * escapes.count + 64) { $0 + $1.tokens.size } }

    private init(_ runs: [Run], _ closers: [Closer], _ escapes: [(node: Int, state: Int32)]) {
        (self.runs, self.closers, self.escapes) = (runs, closers, escapes)
    }

    /// Collects what a walk over the vocabulary finds.
    struct Builder {
        private var tokens: [(state: Int32, token: Int32)] = []
        private var closers: [Closer] = []
        var escapes: [(node: Int, state: Int32)] = []

        @inline(__always)
        mutating func add(_ token: Int32, state: Int32) { tokens.append((state, token)) }
        mutating func close(_ closer: Closer) { closers.append(closer) }

        func finish(tokenCount: Int) -> LexemeMask {
            var (lists, places, last) = ([(state: Int32, list: [Int32])](), [Int32: Int](), -1)
            for (state, token) in tokens {
                if last < 0 || lists[last].state != state {
                    last = places[state] ?? lists.count
                    if last == lists.count {
                        places[state] = last
                        lists.append((state, []))
                    }
                }
                lists[last].list.append(token)
            }
            let sorted = closers.sorted { ($0.state, $0.characters) < ($1.state, $1.characters) }
            let runs = lists.map { Run(state: $0.state, tokens: TokenSet($0.list, tokenCount: tokenCount)) }
            return LexemeMask(runs, sorted, escapes)
        }
    }

    /// Calls `body` with the closers that leave the automaton in the same state, after as many characters if these count.
    func forEachGroup(byCharacters: Bool, _ body: (UnsafeBufferPointer<Closer>.SubSequence) -> Void) {
        closers.withUnsafeBufferPointer { closers in
            var start = 0
            for index in 1..<max(closers.count + 1, 1) {
                if index < closers.count, closers[index].state == closers[start].state,
                    !byCharacters || closers[index].characters == closers[start].characters
                {
                    continue
                }
                body(closers[start..<index])
                start = index
            }
        }
    }
}

/// Which mask is wanted: where in the string the text is, and most characters that may follow if that decides.
struct LexemeKey: Hashable {
    var state: Int32
    var sub: UInt8
    var code: UInt16
    var limit: Int
}
