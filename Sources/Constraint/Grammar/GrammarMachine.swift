/// Parses text by a grammar. A state is a set of stacks, since the text may match in several ways.
///
/// Stacks share their lower parts and are numbered, as are sets of them. Without left recursion every stack is finite;
/// a rule in last position does not make it deeper.
final class GrammarMachine {
    private struct Stack: Hashable {
        let item: Int32
        /// What is left of the item's pattern; -1 for other items.
        var term: RegexTerms.ID = -1
        /// The stack to continue with after the item's alternative; -1 at the bottom.
        let parent: Int32
    }

    private let grammar: Grammar
    private let terms: RegexTerms
    private var stacks: [Stack] = []
    private var stackIDs: [Stack: Int32] = [:]
    private var states: [[Int32]] = []
    private var complete: [Bool] = []
    private var stateIDs: [[Int32]: Int32] = [:]
    private var table = TransitionTable()
    private(set) var start: Int32 = 0
    private var isFull = false
    /// Whether it has too many states, or has to end: later answers are not exact.
    var isExhausted: Bool { isFull || work.isStopped }
    let work = WorkMeter()

    static let maximumStates = 40_000
    static let maximumStacks = 400_000
    /// Maximum number of simultaneous parses.
    static let maximumWays = 2_000
    /// Stacks that may be gone through in all.
    private static let maximumWork = 10_000_000
    private var workLeft = maximumWork

    var bytes: Int { terms.bytes + stacks.count * 48 + states.count * 1200 + (Self.maximumWork - workLeft) * 8 }

    init(_ grammar: Grammar) {
        self.grammar = grammar
        terms = grammar.terms.copy(work)
        var (found, isComplete) = (Set<Int32>(), false)
        for item in grammar.alternatives[grammar.root] { expand(stack(item, -1), &found, &isComplete) }
        start = state(found, isComplete)
        guard start < 0 else { return }
        // No text matches, or too many ways were found: a state in which nothing is allowed.
        states.append([])
        complete.append(false)
        table.grow(to: 1)
        start = 0
    }

    deinit { table.deallocate() }

    var isSatisfiable: Bool { grammar.isSatisfiable }

    /// The number of a stack with an item on top, before its first byte.
    private func stack(_ item: Int32, _ parent: Int32) -> Int32 {
        if case .pattern(let term) = grammar.symbols[Int(item)] {
            return number(Stack(item: item, term: term, parent: parent))
        }
        return number(Stack(item: item, parent: parent))
    }

    private func number(_ stack: Stack) -> Int32 {
        if let id = stackIDs[stack] { return id }
        if stacks.count >= Self.maximumStacks { isFull = true }
        stacks.append(stack)
        stackIDs[stack] = Int32(stacks.count - 1)
        return Int32(stacks.count - 1)
    }

    private func state(_ found: Set<Int32>, _ isComplete: Bool) -> Int32 {
        guard !isExhausted, states.count < Self.maximumStates else {
            isFull = true
            return -1
        }
        // -1 marks completeness as part of the state's key.
        let list = found.sorted() + (isComplete ? [-1] : [])
        if list.isEmpty { return -1 }
        if let id = stateIDs[list] { return id }
        states.append(found.sorted())
        table.grow(to: states.count)
        complete.append(isComplete)
        stateIDs[list] = Int32(states.count - 1)
        return Int32(states.count - 1)
    }

    /// Adds all stacks that expect a byte and are reached from `stack` without reading one.
    private func expand(_ stack: Int32, _ found: inout Set<Int32>, _ isComplete: inout Bool) {
        var (pending, seen) = ([stack], Set([stack]))
        while let id = pending.popLast() {
            work.spend()
            workLeft -= 1
            if workLeft < 0 || found.count > Self.maximumWays || seen.count > 4 * Self.maximumWays || isExhausted {
                isFull = true
                return
            }
            let top = stacks[Int(id)]
            switch grammar.symbols[Int(top.item)] {
            case .bytes: found.insert(id)
            case .pattern:
                if top.term != RegexTerms.empty { found.insert(id) }
                guard terms.isNullable(top.term, first: false) else { continue }
                let next = self.stack(top.item + 1, top.parent)
                if seen.insert(next).inserted { pending.append(next) }
            case .end:
                if top.parent < 0 {
                    isComplete = true
                } else if seen.insert(top.parent).inserted {
                    pending.append(top.parent)
                }
            case .rule(let rule):
                var parent = self.stack(top.item + 1, top.parent)
                // Nothing follows in the alternative: replace it, so that the stack does not grow.
                if case .end = grammar.symbols[Int(top.item) + 1] { parent = top.parent }
                for item in grammar.alternatives[rule] {
                    let next = self.stack(item, parent)
                    if seen.insert(next).inserted { pending.append(next) }
                }
            }
        }
    }

    /// - Returns: The state after the byte; -1 if it is not allowed.
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
            switch grammar.symbols[Int(top.item)] {
            case .bytes(let set) where set.contains(byte):
                expand(stack(top.item + 1, top.parent), &found, &isComplete)
            case .pattern:
                let rest = terms.derivative(top.term, byte)
                guard rest != RegexTerms.never else { continue }
                expand(number(Stack(item: top.item, term: rest, parent: top.parent)), &found, &isComplete)
            default: continue
            }
        }
        if terms.isExhausted { isFull = true }
        let next = self.state(found, isComplete)
        table[state, byte] = next
        return next
    }

    func isComplete(_ state: Int32) -> Bool { complete[Int(state)] }

    func fill(_ words: UnsafeMutablePointer<UInt64>, from state: Int32, _ vocabulary: TokenVocabulary) {
        walk(vocabulary.trie, from: state, words) { step($0, $1) }
    }
}
