/// The tokens that continue a string or a name from one state of its automaton; independent of the string's context.
final class LexemeMask: Sendable {
    /// Tokens that stay inside the string.
    struct Run: Sendable {
        /// State of the automaton after them; in free strings always the start, as states make no difference there.
        let state: Int32
        let tokens: TokenSet
    }

    /// A token that contains the closing quote.
    struct Closer: Sendable {
        let token: Int32
        /// Number in `TextSlice` of the text after the quote.
        let remainder: Int32
        /// Characters before the quote.
        let characters: Int32
        /// State of the automaton before the quote.
        let state: Int32
    }

    let runs: [Run]
    /// Grouped by state and number of characters.
    let closers: [Closer]
    /// Trie nodes where an escape begins, with the state before it; only if more than the automaton matters after it.
    let escapes: [(node: Int, state: Int32)]
    /// Approximate bytes of memory.
    var size: Int { runs.reduce(16 * closers.count + 16 * escapes.count + 64) { $0 + $1.tokens.size } }

    private init(_ runs: [Run], _ closers: [Closer], _ escapes: [(node: Int, state: Int32)]) {
        (self.runs, self.closers, self.escapes) = (runs, closers, escapes)
    }

    /// Collects the results of a walk over the vocabulary.
    struct Builder {
        private let tokenCount: Int
        private var runs: [(state: Int32, tokens: TokenSet.Builder)] = []
        private var wholeRuns: [Run] = []
        /// Index in `runs` by state, and that of the last run extended.
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

        /// Adds several tokens.
        mutating func add(_ tokens: ArraySlice<Int32>, state: Int32) {
            let index = place(state)
            for token in tokens { runs[index].tokens.insert(token) }
        }

        /// Adds a set as a separate run.
        mutating func add(_ set: TokenMask, state: Int32) {
            wholeRuns.append(Run(state: state, tokens: .many(set.words)))
        }

        mutating func close(_ closer: Closer) { closers.append(closer) }

        func finish() -> LexemeMask {
            let sorted = closers.sorted { ($0.state, $0.characters) < ($1.state, $1.characters) }
            return LexemeMask(wholeRuns + runs.map { Run(state: $0.state, tokens: $0.tokens.set) }, sorted, escapes)
        }
    }

    /// Calls `body` with each group of closers of equal state and, if characters count, equal length.
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

/// Key of a cached mask: the position in the string and, if it matters, the maximum number of further characters.
struct LexemeKey: Hashable {
    var state: Int32
    var sub: UInt8
    var code: UInt16
    var limit: Int
}
