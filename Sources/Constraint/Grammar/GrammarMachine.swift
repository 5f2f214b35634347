/// Reads text after a grammar: a set of stacks, as the text may fit in several ways at once.
///
/// Stacks share their lower parts and are numbered, as are sets of them. Rules that do not begin with themselves make
/// every stack finite; a rule in the last place of another does not make it deeper.
final class GrammarMachine {
    private struct Stack: Hashable {
        let item: Int32
        /// What goes on once the item's alternative is through, -1 at the bottom.
        let parent: Int32
    }

    private let grammar: Grammar
    private var stacks: [Stack] = []
    private var stackIDs: [Stack: Int32] = [:]
    private var states: [[Int32]] = []
    private var complete: [Bool] = []
    private var stateIDs: [[Int32]: Int32] = [:]
    private var table = TransitionTable()
    private(set) var start: Int32 = 0
    private(set) var isExhausted = false

    static let maximumStates = 40_000
    static let maximumStacks = 400_000
    /// Ways in which a text may fit at once.
    static let maximumWays = 2_000
    /// Stacks that may be gone through in all.
    private static let maximumWork = 10_000_000
    private var work = maximumWork

    var bytes: Int { stacks.count * 48 + states.count * 1200 + (Self.maximumWork - work) * 8 }

    init(_ grammar: Grammar) {
        self.grammar = grammar
        var (found, isComplete) = (Set<Int32>(), false)
        for item in grammar.alternatives[grammar.root] { expand(stack(item, -1), &found, &isComplete) }
        start = state(found, isComplete)
    }

    var isSatisfiable: Bool { grammar.isSatisfiable }

    private func stack(_ item: Int32, _ parent: Int32) -> Int32 {
        let stack = Stack(item: item, parent: parent)
        if let id = stackIDs[stack] { return id }
        if stacks.count >= Self.maximumStacks { isExhausted = true }
        stacks.append(stack)
        stackIDs[stack] = Int32(stacks.count - 1)
        return Int32(stacks.count - 1)
    }

    private func state(_ found: Set<Int32>, _ isComplete: Bool) -> Int32 {
        guard !isExhausted, states.count < Self.maximumStates else {
            isExhausted = true
            return -1
        }
        // The mark of completeness goes in with the stacks.
        let list = found.sorted() + (isComplete ? [-1] : [])
        if list.isEmpty { return -1 }
        if let id = stateIDs[list] { return id }
        states.append(found.sorted())
        table.grow(to: states.count)
        complete.append(isComplete)
        stateIDs[list] = Int32(states.count - 1)
        return Int32(states.count - 1)
    }

    /// Adds the stacks that wait for a byte, reached from one without reading any.
    private func expand(_ stack: Int32, _ found: inout Set<Int32>, _ isComplete: inout Bool) {
        var (pending, seen) = ([stack], Set([stack]))
        while let id = pending.popLast() {
            work -= 1
            if work < 0 || found.count > Self.maximumWays || seen.count > 4 * Self.maximumWays || isExhausted {
                isExhausted = true
                return
            }
            let top = stacks[Int(id)]
            switch grammar.symbols[Int(top.item)] {
            case .bytes: found.insert(id)
            case .end:
                if top.parent < 0 {
                    isComplete = true
                } else if seen.insert(top.parent).inserted {
                    pending.append(top.parent)
                }
            case .rule(let rule):
                var parent = self.stack(top.item + 1, top.parent)
                // Nothing follows: the rule takes the place of the alternative it is in.
                if case .end = grammar.symbols[Int(top.item) + 1] { parent = top.parent }
                for item in grammar.alternatives[rule] {
                    let next = self.stack(item, parent)
                    if seen.insert(next).inserted { pending.append(next) }
                }
            }
        }
    }

    /// - Returns: The state after the byte, -1 if it is refused.
    @inline(__always)
    func step(_ state: Int32, _ byte: UInt8) -> Int32 {
        let known = table[state, byte]
        return known == TransitionTable.unknown ? make(state, byte) : known
    }

    @inline(never)
    private func make(_ state: Int32, _ byte: UInt8) -> Int32 {
        var (found, isComplete) = (Set<Int32>(), false)
        for id in states[Int(state)] {
            let top = stacks[Int(id)]
            guard case .bytes(let set) = grammar.symbols[Int(top.item)], set.contains(byte) else { continue }
            expand(stack(top.item + 1, top.parent), &found, &isComplete)
        }
        let next = self.state(found, isComplete)
        table[state, byte] = next
        return next
    }

    func isComplete(_ state: Int32) -> Bool { complete[Int(state)] }

    func fill(_ words: UnsafeMutablePointer<UInt64>, from state: Int32, _ vocabulary: TokenVocabulary) {
        walk(vocabulary.trie, from: state, words) { step($0, $1) }
    }
}
