/// A context-free grammar over bytes: rules of alternatives of symbols.
///
/// Items are places in alternatives, numbered through: item `i` stands before symbol `symbols[i]`; the end of each
/// alternative is an item with the symbol `.end`.
struct Grammar: Sendable {
    enum Symbol: Sendable {
        case bytes(ByteSet)
        case rule(Int)
        case end
    }

    private(set) var symbols: [Symbol] = []
    /// First item of each alternative, by rule.
    private(set) var alternatives: [[Int32]] = []
    let root = 0
    /// Whether any text fits.
    private(set) var isSatisfiable = true

    static let maximumSymbols = 100_000

    /// - Parameter rules: Alternatives of each rule; rule 0 is the text.
    /// - Throws: `ConstraintError` where a rule begins with itself.
    init(_ rules: [[[Symbol]]], names: [String]) throws(ConstraintError) {
        let productive = Self.productive(rules)
        isSatisfiable = productive[0]
        for rule in rules {
            var starts: [Int32] = []
            for alternative in rule where alternative.allSatisfy({ Self.isProductive($0, productive) }) {
                starts.append(Int32(symbols.count))
                symbols += alternative + [.end]
            }
            alternatives.append(starts)
        }
        try checkRecursion(rules, names)
    }

    private static func isProductive(_ symbol: Symbol, _ productive: [Bool]) -> Bool {
        switch symbol {
        case .bytes(let set): !set.isEmpty
        case .rule(let rule): productive[rule]
        case .end: true
        }
    }

    /// The rules from which some text can be made: others are left out, so that no beginning is a dead end.
    private static func productive(_ rules: [[[Symbol]]]) -> [Bool] {
        var result = [Bool](repeating: false, count: rules.count)
        var isChanged = true
        while isChanged {
            isChanged = false
            for (index, rule) in rules.enumerated() where !result[index] {
                if rule.contains(where: { $0.allSatisfy { isProductive($0, result) } }) {
                    result[index] = true
                    isChanged = true
                }
            }
        }
        return result
    }

    /// Rules that begin with themselves could be entered without end.
    private func checkRecursion(_ rules: [[[Symbol]]], _ names: [String]) throws(ConstraintError) {
        var nullable = [Bool](repeating: false, count: rules.count)
        var isChanged = true
        while isChanged {
            isChanged = false
            for (index, rule) in rules.enumerated() where !nullable[index] {
                let isEmpty = rule.contains { alternative in
                    alternative.allSatisfy { if case .rule(let inner) = $0 { nullable[inner] } else { false } }
                }
                if isEmpty {
                    nullable[index] = true
                    isChanged = true
                }
            }
        }
        // Rules with which a rule may begin, and whether something follows them there.
        let begins = rules.map { rule in
            rule.flatMap { alternative -> [(rule: Int, isLast: Bool)] in
                var result: [(rule: Int, isLast: Bool)] = []
                for (place, symbol) in alternative.enumerated() {
                    guard case .rule(let inner) = symbol else { break }
                    result.append((inner, place == alternative.count - 1))
                    if !nullable[inner] { break }
                }
                return result
            }
        }
        let circles = Self.circles(begins.map { $0.map(\.rule) })
        for (rule, edges) in begins.enumerated() {
            // In the last place a rule takes the place of its own, so that no stack grows.
            if let edge = edges.first(where: { circles[$0.rule] == circles[rule] && !$0.isLast }) {
                throw ConstraintError(.grammar, names[edge.rule], "the rule begins with itself (left recursion)")
            }
        }
    }

    /// The same number for nodes that can reach each other (Tarjan's algorithm, without recursion).
    private static func circles(_ edges: [[Int]]) -> [Int] {
        var (order, low) = ([Int](repeating: -1, count: edges.count), [Int](repeating: 0, count: edges.count))
        var (result, open, counter) = ([Int](repeating: -1, count: edges.count), [Int](), 0)
        for root in edges.indices where order[root] < 0 {
            var path = [(node: root, next: 0)]
            while let (node, next) = path.last {
                if next == 0, order[node] < 0 {
                    (order[node], low[node]) = (counter, counter)
                    counter += 1
                    open.append(node)
                }
                if next < edges[node].count {
                    path[path.count - 1].next += 1
                    let target = edges[node][next]
                    if order[target] < 0 {
                        path.append((target, 0))
                    } else if result[target] < 0 {
                        low[node] = min(low[node], order[target])
                    }
                    continue
                }
                path.removeLast()
                if let parent = path.last { low[parent.node] = min(low[parent.node], low[node]) }
                if low[node] == order[node] {
                    while let member = open.popLast() {
                        result[member] = node
                        if member == node { break }
                    }
                }
            }
        }
        return result
    }
}
