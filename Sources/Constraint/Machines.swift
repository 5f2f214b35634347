/// The machine of a constraint.
///
/// `@unchecked Sendable`: machines change while they read, but are accessed only under the lock of their `Constraint`.
enum Machine: @unchecked Sendable {
    case json(JSONMachine)
    case text(TextMachine)
    case grammar(GrammarMachine)

    var isExhausted: Bool {
        switch self {
        case .json(let machine): machine.isExhausted || machine.entries > JSONMachine.maximumEntries
        case .text(let machine): machine.isExhausted
        case .grammar(let machine): machine.isExhausted
        }
    }

    /// Counts what it does.
    var work: WorkMeter {
        switch self {
        case .json(let machine): machine.work
        case .text(let machine): machine.work
        case .grammar(let machine): machine.work
        }
    }

    /// Roughly what it holds of what it has worked out.
    var bytes: Int {
        switch self {
        case .json(let machine): machine.bytes
        case .text(let machine): machine.bytes
        case .grammar(let machine): machine.bytes
        }
    }
}

/// The position of a matcher in its text.
enum MachineState: Hashable, Sendable {
    case json(JSONState)
    case text(Int32)
    case grammar(Int32)
}

/// A regular language: one automaton over the whole text.
final class TextMachine {
    private let live: LiveAutomaton
    private let terms: RegexTerms
    private let budget: StateBudget
    let work = WorkMeter()

    init(_ atom: StringAtom, _ terms: RegexTerms) {
        self.terms = terms.copy(work)
        budget = StateBudget(work)
        live = LiveAutomaton(StringAutomaton([atom], terms, budget))
    }

    var isExhausted: Bool { budget.isExhausted || terms.isExhausted || work.isStopped }
    var bytes: Int { budget.bytes + terms.bytes }
    var isSatisfiable: Bool { live.isLive(StringAutomaton.start, terms, accepts: isComplete) }

    @inline(__always)
    func step(_ state: Int32, _ byte: UInt8) -> Int32 { live.step(state, byte, terms, accepts: isComplete) }

    func isComplete(_ state: Int32) -> Bool {
        live.automaton.isBorder(state) && live.automaton.result(state, 0, terms) >= 0
    }

    func fill(_ words: UnsafeMutablePointer<UInt64>, from state: Int32, _ vocabulary: TokenVocabulary) {
        walk(vocabulary.trie, from: state, words) { step($0, $1) }
    }
}

/// Adds the allowed tokens of a trie to `words`. States are numbers; -1 is a rejected byte.
@inline(__always)
func walk(
    _ trie: TokenTrie, from state: Int32, _ words: UnsafeMutablePointer<UInt64>, step: (Int32, UInt8) -> Int32
) {
    withUnsafeTemporaryAllocation(of: Int32.self, capacity: trie.maximumDepth + 1) { states in
        states[0] = state
        trie.withPointers { nodes, starts, tokens in
            var index = 1
            while index < nodes.count {
                let node = nodes[index]
                let next = step(states[Int(node.depth) - 1], node.byte)
                guard next >= 0 else {
                    index = Int(node.next)
                    continue
                }
                states[Int(node.depth)] = next
                if node.end >= 0 { TokenTrie.add(node.end, starts, tokens, to: words) }
                index += 1
            }
        }
    }
}
