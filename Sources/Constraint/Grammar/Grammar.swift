/// A context-free grammar over bytes: each rule is a list of alternatives, each alternative a list of symbols.
///
/// Items are positions in alternatives, numbered consecutively: item `i` is before symbol `symbols[i]`; the end of each
/// alternative is an item with the symbol `.end`.
struct Grammar: Sendable {
    enum Symbol: Sendable {
        case bytes(ByteSet)
        /// A text of a regular language, as a term of `terms`.
        case pattern(RegexTerms.ID)
        case rule(Int)
        case end
    }

    private(set) var symbols: [Symbol] = []
    /// First item of each alternative, by rule.
    private(set) var alternatives: [[Int32]] = []
    let root = 0
    /// The terms of patterns; never changed, see `RegexTerms.copy()`.
    let terms: RegexTerms
    /// Whether any text matches.
    private(set) var isSatisfiable = true

    static let maximumSymbols = 100_000

    /// - Parameter rules: Alternatives of each rule; the text must match rule 0.
    /// - Throws: `ConstraintError` if a rule is left-recursive.
    init(
        _ rules: [[[Symbol]]], names: [String], terms: RegexTerms = RegexTerms()
    ) throws(ConstraintError) {
        self.terms = terms
        let productive = Self.productive(rules)
        isSatisfiable = productive[0]
        for rule in rules {
            var starts: [Int32] = []
            for alternative in rule where alternative.allSatisfy({ Self.isProductive($0, productive) }) {
                starts.append(Int32(symbols.count))
                symbols += alternative
                symbols.append(.end)
            }
            alternatives.append(starts)
        }
        try checkRecursion(rules, names)
    }

    private static func isProductive(_ symbol: Symbol, _ productive: [Bool]) -> Bool {
        switch symbol {
        case .bytes(let set): !set.isEmpty
        case .pattern(let term): term != RegexTerms.never
        case .rule(let rule): productive[rule]
        case .end: true
        }
    }

    /// The rules that derive some text. Other rules are dropped, so that every prefix can be completed.
    private static func productive(_ rules: [[[Symbol]]]) -> [Bool] {
        closure(of: rules) { isProductive($0, []) }
    }

    /// The rules with an alternative in which every symbol holds; a rule as a symbol holds if it is one of them. Linear:
    /// each symbol is looked at once.
    ///
    /// - Parameter holds: For symbols other than rules.
    private static func closure(of rules: [[[Symbol]]], _ holds: (Symbol) -> Bool) -> [Bool] {
        var result = [Bool](repeating: false, count: rules.count)
        var found: [Int] = []
        /// The rule of each alternative, and the number of its symbols that do not hold yet.
        var open: [(rule: Int, count: Int)] = []
        /// By rule, the alternatives with it, once for each occurrence.
        var uses = [[Int]](repeating: [], count: rules.count)
        func add(_ rule: Int) {
            guard !result[rule] else { return }
            result[rule] = true
            found.append(rule)
        }
        for (index, rule) in rules.enumerated() {
            for alternative in rule {
                var inner: [Int] = []
                let others = alternative.filter { symbol in
                    guard case .rule(let rule) = symbol else { return true }
                    inner.append(rule)
                    return false
                }
                guard others.allSatisfy(holds) else { continue }
                if inner.isEmpty { add(index) }
                for rule in inner { uses[rule].append(open.count) }
                open.append((index, inner.count))
            }
        }
        while let rule = found.popLast() {
            for alternative in uses[rule] {
                open[alternative].count -= 1
                if open[alternative].count == 0 { add(open[alternative].rule) }
            }
        }
        return result
    }

    private func isNullable(_ symbol: Symbol, _ nullable: [Bool]) -> Bool {
        switch symbol {
        case .bytes, .end: false
        case .pattern(let term): terms.isNullable(term, first: false)
        case .rule(let rule): nullable[rule]
        }
    }

    /// Throws if a rule is left-recursive, which would never terminate.
    private func checkRecursion(_ rules: [[[Symbol]]], _ names: [String]) throws(ConstraintError) {
        let nullable = Self.closure(of: rules) { isNullable($0, []) }
        // For each rule, the rules that it may begin with, and whether something follows them there.
        let begins = rules.map { rule in
            rule.flatMap { alternative -> [(rule: Int, isLast: Bool)] in
                var result: [(rule: Int, isLast: Bool)] = []
                for (place, symbol) in alternative.enumerated() {
                    if case .rule(let inner) = symbol { result.append((inner, place == alternative.count - 1)) }
                    if !isNullable(symbol, nullable) { break }
                }
                return result
            }
        }
        let circles = Self.circles(begins.map { $0.map(\.rule) })
        for (rule, edges) in begins.enumerated() {
            // A rule in last position does not grow the stack, so that recursion is allowed.
            if let edge = edges.first(where: { circles[$0.rule] == circles[rule] && !$0.isLast }) {
                throw ConstraintError(.grammar, names[edge.rule], "the rule is left-recursive")
            }
        }
    }

    /// Strongly connected components: equal numbers for nodes that reach each other (Tarjan, without recursion).
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
