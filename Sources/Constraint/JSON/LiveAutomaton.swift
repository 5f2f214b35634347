/// A string automaton without dead ends: a byte is rejected if no accepting end can be reached after it.
final class LiveAutomaton {
    let automaton: StringAutomaton
    private var table = TransitionTable()
    private var known: [Int32: Bool] = [:]
    private var loops = LoopTable()
    /// Cached masks.
    var masks: [LexemeKey: LexemeMask] = [:]

    init(_ automaton: StringAutomaton) {
        self.automaton = automaton
        table.grow(to: 1)
    }

    deinit { table.deallocate() }

    /// - Parameter accepts: Whether the content may end in a state; must be the same in every call.
    /// - Returns: The next state; -1 if the byte is rejected.
    @inline(__always)
    func step(_ state: Int32, _ byte: UInt8, _ terms: RegexTerms, accepts: (Int32) -> Bool) -> Int32 {
        let next = table[state, byte]
        return next == TransitionTable.unknown ? make(state, byte, terms, accepts) : next
    }

    @inline(never)
    private func make(_ state: Int32, _ byte: UInt8, _ terms: RegexTerms, _ accepts: (Int32) -> Bool) -> Int32 {
        var next = automaton.step(state, byte, terms)
        if next >= 0, !isLive(next, terms, accepts: accepts) { next = StringAutomaton.refused }
        table.grow(to: Int(next) + 1)
        table[state, byte] = next
        return next
    }

    /// The kinds of content that leave a state unchanged. The state must be between two characters.
    @inline(__always)
    func loop(_ state: Int32, _ terms: RegexTerms, accepts: (Int32) -> Bool) -> ContentKinds {
        loops.kinds(state) { step($0, $1, terms, accepts: accepts) }
    }

    /// Whether every content can be completed from a state, as while a pattern is searched for.
    func isOpen(_ state: Int32, _ terms: RegexTerms, accepts: (Int32) -> Bool) -> Bool {
        guard let search = automaton.search(state, terms) else { return false }
        return isLive(search, terms, accepts: accepts)
    }

    func isLive(_ state: Int32, _ terms: RegexTerms, accepts: (Int32) -> Bool) -> Bool {
        automaton.canReach(state, &known, terms, accepts: accepts)
    }
}
