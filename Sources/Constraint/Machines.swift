/// What a constraint runs on.
///
/// `@unchecked Sendable`: machines change as they read, but are reached only through the lock of their `Constraint`.
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
}

/// Where in its text a matcher is.
enum MachineState: Hashable, Sendable {
    case json(JSONState)
    case text(Int32)
    case grammar(Int32)
}

/// A regular language: one automaton over the whole text.
final class TextMachine {
    private let automaton: StringAutomaton
    private let terms: RegexTerms
    private var known: [Int32: Bool] = [:]

    init(_ atom: StringAtom, _ terms: RegexTerms) {
        self.terms = terms.copy()
        automaton = StringAutomaton([atom], terms)
    }

    var isExhausted: Bool { automaton.isExhausted || terms.isExhausted }

    func step(_ state: Int32, _ byte: UInt8) -> Int32 {
        let next = automaton.step(state, byte, terms)
        return next >= 0 && isLive(next) ? next : -1
    }

    func isLive(_ state: Int32) -> Bool {
        if let answer = known[state] { return answer }
        return automaton.canReach(state, &known, terms) { isComplete($0) }
    }

    func isComplete(_ state: Int32) -> Bool {
        automaton.isBorder(state) && automaton.result(state, 0, terms) >= 0
    }

    func fill(_ words: UnsafeMutablePointer<UInt64>, from state: Int32, _ vocabulary: TokenVocabulary) {
        walk(vocabulary.trie, below: 0, from: state, words, groups: nil) { step($0, $1) }
    }
}

/// Adds to `words` the tokens of a tree below a node. States are numbers, -1 for a refused byte.
@inline(__always)
func walk(
    _ trie: TokenTrie, below root: Int, from state: Int32, _ words: UnsafeMutablePointer<UInt64>, groups: [[Int32]]?,
    step: (Int32, UInt8) -> Int32
) {
    withUnsafeTemporaryAllocation(of: Int32.self, capacity: trie.maximumDepth + 1) { states in
        states[Int(trie.nodes[root].depth)] = state
        trie.withPointers { nodes, starts, tokens in
            var index = root + 1
            let end = Int(nodes[root].next)
            while index < end {
                let node = nodes[index]
                let next = step(states[Int(node.depth) - 1], node.byte)
                guard next >= 0 else {
                    index = Int(node.next)
                    continue
                }
                states[Int(node.depth)] = next
                if node.end >= 0 {
                    if let groups {
                        for entry in Int(starts[Int(node.end)])..<Int(starts[Int(node.end) + 1]) {
                            for token in groups[Int(tokens[entry])] {
                                words[Int(token) >> 6] |= 1 << UInt64(token & 63)
                            }
                        }
                    } else {
                        TokenTrie.add(node.end, starts, tokens, to: words)
                    }
                }
                index += 1
            }
        }
    }
}
