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
        private let tokenCount: Int
        private var runs: [(state: Int32, tokens: TokenSet.Builder)] = []
        private var wholeRuns: [Run] = []
        /// Index in `runs` by state, and of the last one that was added to.
        private var places: [Int32: Int] = [:]
        private var last = -1
        private var closers: [Closer] = []
        var escapes: [(node: Int, state: Int32)] = []

        init(_ tokenCount: Int) { self.tokenCount = tokenCount }

        @inline(__always)
        private mutating func place(_ state: Int32) -> Int {
            if last >= 0, runs[last].state == state { return last }
            last = places[state] ?? runs.count
            if last == runs.count {
                places[state] = last
                runs.append((state, TokenSet.Builder(tokenCount)))
            }
            return last
        }

        @inline(__always)
        mutating func add(_ token: Int32, state: Int32) { runs[place(state)].tokens.insert(token) }

        /// Adds several.
        mutating func add(_ tokens: ArraySlice<Int32>, state: Int32) {
            let index = place(state)
            for token in tokens { runs[index].tokens.insert(token) }
        }

        /// Adds a set as a run of its own.
        mutating func add(_ set: TokenMask, state: Int32) {
            wholeRuns.append(Run(state: state, tokens: .many(set.words)))
        }

        mutating func close(_ closer: Closer) { closers.append(closer) }

        func finish() -> LexemeMask {
            let sorted = closers.sorted { ($0.state, $0.characters) < ($1.state, $1.characters) }
            return LexemeMask(wholeRuns + runs.map { Run(state: $0.state, tokens: $0.tokens.set) }, sorted, escapes)
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
