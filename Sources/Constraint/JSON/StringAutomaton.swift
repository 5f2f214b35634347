/// Limit on the total states of the automata of one machine.
final class StateBudget {
    private var left: Int
    private let count: Int
    /// Whether a state was refused: what the automata answer from then on is no longer exact.
    private(set) var isExhausted = false
    let work: WorkMeter

    init(_ work: WorkMeter, _ count: Int = 30_000) {
        self.work = work
        self.count = count
        left = count
    }

    /// Roughly what the states hold: each has a line of two tables.
    var bytes: Int { (count - left) * 2300 }

    /// - Parameter atoms: Of the automaton. A state with thousands counts as several.
    func take(atoms: Int) -> Bool {
        let cost = 1 + atoms / 512
        work.spend(8 * cost)
        if left < cost { isExhausted = true } else { left -= cost }
        return !isExhausted
    }
}

/// Matches several languages of strings at once, over the bytes of a string's content. States are created when reached.
final class StringAutomaton {
    /// Indices in `SchemaPlan.atoms`, or own sets.
    let atoms: [StringAtom]
    /// Per state: the UTF-8 state, then one number per atom. For a set the node in its tree, -1 if no member matches;
    /// for a pattern the term, complemented (so negative) at the beginning of the text.
    private var states: [[Int32]] = []
    private var ids: [[Int32]: Int32] = [:]
    private var borders: [Bool] = []
    private var table = TransitionTable()

    static let start: Int32 = 0
    static let refused: Int32 = -1
    private let budget: StateBudget
    /// For each byte the smallest byte that patterns and UTF-8 do not distinguish from it.
    private let representative: [UInt8]
    /// The bytes of each representative.
    private let classes: [UInt8: [UInt8]]
    /// Remaining states that searches may visit, weighted by parts; afterwards everything counts as reachable.
    private var searches = 60_000

    init(_ atoms: [StringAtom], _ terms: RegexTerms, _ budget: StateBudget) {
        self.atoms = atoms
        self.budget = budget
        (representative, classes) = Self.classes(atoms, terms)
        let start =
            [0]
            + atoms.map { atom -> Int32 in
                switch atom {
                case .pattern(let term): ~term
                case .members: StringSet.root
                }
            }
        _ = intern(start)
    }

    deinit { table.deallocate() }

    private static func classes(
        _ atoms: [StringAtom], _ terms: RegexTerms
    ) -> (representative: [UInt8], classes: [UInt8: [UInt8]]) {
        var sets: Set<ByteSet> = []
        for case .pattern(let term) in atoms { sets.formUnion(terms.byteSets(of: term)) }
        // UTF-8 distinguishes these.
        let borders: [ClosedRange<UInt8>] = [
            0...0x7f, 0x80...0x8f, 0x90...0x9f, 0xa0...0xbf, 0xc2...0xdf, 0xe0...0xe0, 0xe1...0xec, 0xed...0xed,
            0xee...0xef, 0xf0...0xf0, 0xf1...0xf3, 0xf4...0xf4,
        ]
        var ids = [Int](repeating: 0, count: 256)
        for set in borders.map({ ByteSet($0) }) + sets {
            var next: [Int: Int] = [:]
            for byte in 0..<256 {
                let key = 2 * ids[byte] + (set.contains(UInt8(byte)) ? 1 : 0)
                if next[key] == nil { next[key] = next.count }
                ids[byte] = next[key] ?? 0
            }
        }
        var first: [Int: UInt8] = [:]
        let representative = (0..<256).map { byte -> UInt8 in
            if let known = first[ids[byte]] { return known }
            first[ids[byte]] = UInt8(byte)
            return UInt8(byte)
        }
        return (representative, Dictionary(grouping: UInt8.min...UInt8.max) { representative[Int($0)] })
    }

    private func intern(_ state: [Int32]) -> Int32 {
        if let id = ids[state] { return id }
        guard states.isEmpty || budget.take(atoms: atoms.count) else { return Self.refused }
        let id = Int32(states.count)
        states.append(state)
        borders.append(state[0] == 0)
        table.grow(to: states.count)
        ids[state] = id
        return id
    }

    /// - Returns: `refused` if the content is not UTF-8.
    @inline(__always)
    func step(_ state: Int32, _ byte: UInt8, _ terms: RegexTerms) -> Int32 {
        let known = table[state, byte]
        return known == TransitionTable.unknown ? make(state, byte, terms) : known
    }

    @inline(never)
    private func make(_ state: Int32, _ byte: UInt8, _ terms: RegexTerms) -> Int32 {
        var next = states[Int(state)]
        let utf8 = UTF8State.step(UInt8(next[0]), byte)
        var result = Self.refused
        if utf8 != UTF8State.refused {
            next[0] = Int32(utf8)
            for (index, atom) in atoms.enumerated() {
                let at = next[index + 1]
                switch atom {
                case .pattern:
                    let byte = representative[Int(byte)]
                    next[index + 1] = at < 0 ? terms.derivative(~at, byte, first: true) : terms.derivative(at, byte)
                case .members(let set): next[index + 1] = set.child(of: at, byte) ?? -1
                }
            }
            result = intern(next)
        }
        // Bytes of a class lead to the same state, except bytes that continue a member of a set.
        let others = isInSet(state, byte) ? [byte] : classes[representative[Int(byte)]] ?? [byte]
        for other in others where other == byte || !isInSet(state, other) { table[state, other] = result }
        return result
    }

    /// Whether a set has a member that continues with the byte.
    private func isInSet(_ state: Int32, _ byte: UInt8) -> Bool {
        atoms.indices.contains { index in
            if case .members(let set) = atoms[index] {
                set.child(of: states[Int(state)][index + 1], byte) != nil
            } else {
                false
            }
        }
    }

    /// Whether the content may end here as far as UTF-8 is concerned.
    @inline(__always)
    func isBorder(_ state: Int32) -> Bool { borders[Int(state)] }

    /// For a set the complete member, for a pattern 0 if it matches; else -1.
    func result(_ state: Int32, _ atom: Int, _ terms: RegexTerms) -> Int32 {
        let at = states[Int(state)][atom + 1]
        switch atoms[atom] {
        case .pattern: return terms.isNullable(at < 0 ? ~at : at, first: at < 0) ? 0 : -1
        case .members(let set): return set.member(at: at)
        }
    }

    func component(_ state: Int32, _ atom: Int) -> Int32 { states[Int(state)][atom + 1] }

    /// The same state after leaving the tree of a set; `refused` if there are too many states.
    func leaving(_ atom: Int, _ state: Int32) -> Int32 {
        var next = states[Int(state)]
        next[atom + 1] = -1
        return intern(next)
    }

    /// The state in which every pattern is only being searched for, as in this state; `nil` if some pattern is not a
    /// search. Every continuation of this state matches at least what it matches from the returned one.
    func search(_ state: Int32, _ terms: RegexTerms) -> Int32? {
        guard isBorder(state) else { return nil }
        var next = states[Int(state)]
        for (index, atom) in atoms.enumerated() {
            guard case .pattern = atom, let term = terms.search(in: next[index + 1]) else { return nil }
            next[index + 1] = term
        }
        let result = intern(next)
        return result >= 0 ? result : nil
    }

    /// Total parts of the state's patterns. A pattern that may begin anywhere gains a part for each possible beginning.
    private func parts(of state: Int32, _ terms: RegexTerms) -> Int {
        zip(atoms, states[Int(state)].dropFirst()).reduce(0) { sum, pair in
            guard case .pattern = pair.0 else { return sum }
            return sum + terms.parts(of: pair.1 < 0 ? ~pair.1 : pair.1)
        }
    }

    /// Whether a state for which `accepts` is true can be reached. Results are cached in `known`.
    ///
    /// Visits at most `limit` states, fewer if they have many parts; beyond that, the answer is true.
    func canReach(
        _ state: Int32, _ known: inout [Int32: Bool], _ terms: RegexTerms, limit: Int = 3_000,
        accepts: (Int32) -> Bool
    ) -> Bool {
        if let answer = known[state] { return answer }
        var parents: [Int32: Int32] = [state: -1]
        var pending = [state]
        var visited = 0
        func succeed(_ end: Int32) {
            var at = end
            while at >= 0 {
                known[at] = true
                at = parents[at] ?? -1
            }
        }
        while let current = pending.popLast() {
            let cost = 1 + parts(of: current, terms) / 16
            visited += cost
            budget.work.spend(cost)
            searches -= cost
            if visited > limit || searches < 0 {
                known[state] = true
                return true
            }
            if isBorder(current), accepts(current) {
                succeed(current)
                return true
            }
            for byte in representatives(current) {
                let next = step(current, byte, terms)
                if next < 0 || parents[next] != nil { continue }
                if let answer = known[next] {
                    if !answer { continue }
                    known[next] = true
                    succeed(current)
                    return true
                }
                parents[next] = current
                pending.append(next)
            }
        }
        // No visited state leads to an accepting one.
        for state in parents.keys { known[state] = false }
        return false
    }

    /// Bytes to try: those that continue a set come last, so that they are popped first.
    private func representatives(_ state: Int32) -> [UInt8] {
        var result: [UInt8] = []
        var isOpen = atoms.isEmpty
        for (index, atom) in atoms.enumerated() {
            switch atom {
            case .members(let set): result += set.children(of: states[Int(state)][index + 1]).map(\.byte)
            case .pattern(let term): if term != RegexTerms.never { isOpen = true }
            }
        }
        if isOpen { return classes.keys.sorted(by: >) + result }
        // A byte outside of all sets, to cover what is in none of them.
        let outside: [ClosedRange<UInt8>] = isBorder(state) ? [0x20...0x7e] : [0x80...0x8f, 0x90...0x9f, 0xa0...0xbf]
        return outside.compactMap { $0.first { !result.contains($0) } } + result
    }
}
