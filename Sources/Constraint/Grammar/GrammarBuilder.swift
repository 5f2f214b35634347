/// Collects the rules of a grammar while its text is read.
struct GrammarBuilder {
    /// Alternatives by rule; `nil` for a rule that is used but not defined yet.
    private var rules: [[[Grammar.Symbol]]?] = [nil]
    private var names: [String]
    private var ids: [String: Int]
    private var symbols = 0
    /// The rule that is being read.
    private var current = 0

    init(root: String) {
        names = [root]
        ids = [root: 0]
    }

    /// The rule of this name, defined or not.
    mutating func rule(_ name: String) -> Grammar.Symbol { .rule(id(name)) }

    private mutating func id(_ name: String) -> Int {
        if let id = ids[name] { return id }
        ids[name] = rules.count
        rules.append(nil)
        names.append(name)
        return rules.count - 1
    }

    /// Begins the definition of a rule, which `define` ends. Errors name it, also those about rules without a name.
    ///
    /// - Throws: `ConstraintError` if it is defined already.
    mutating func begin(_ name: String) throws(ConstraintError) {
        current = id(name)
        guard rules[current] == nil else { throw ConstraintError(.grammar, name, "the rule is defined twice") }
    }

    mutating func define(_ alternatives: [[Grammar.Symbol]]) { rules[current] = alternatives }

    /// Adds a rule without a name.
    mutating func newRule(_ alternatives: [[Grammar.Symbol]]) throws(ConstraintError) -> Grammar.Symbol {
        try count(alternatives.reduce(0) { $0 + $1.count + 1 })
        rules.append(alternatives)
        names.append(names[current])
        return .rule(rules.count - 1)
    }

    /// Counts symbols of alternatives that are still being read.
    mutating func count(_ more: Int) throws(ConstraintError) {
        symbols += more
        guard symbols <= Grammar.maximumSymbols else {
            throw ConstraintError(
                .grammar, names[current], "the grammar has more than \(Grammar.maximumSymbols) symbols")
        }
    }

    /// Repeats all symbols of an item.
    ///
    /// - Parameter maximum: `nil`: unlimited.
    mutating func repeated(
        _ item: [Grammar.Symbol], _ minimum: Int, _ maximum: Int?
    ) throws(ConstraintError) -> [Grammar.Symbol] {
        let unit = item.count == 1 ? item : [try newRule([item])]
        var result: [Grammar.Symbol] = []
        for _ in 0..<minimum { result += unit }
        if let maximum {
            var rest: Grammar.Symbol?
            for _ in 0..<(maximum - minimum) { rest = try newRule([unit + (rest.map { [$0] } ?? []), []]) }
            if let rest { result.append(rest) }
        } else {
            // Right-recursive: rule ::= unit rule | empty.
            let id = rules.count
            _ = try newRule([unit + [.rule(id)], []])
            result.append(.rule(id))
        }
        try count(result.count)
        return result
    }

    /// Replaces direct left recursion: `a: a x | y` matches the same texts as `a: y b` with `b: x b | empty`.
    mutating func removeLeftRecursion() throws(ConstraintError) {
        for (id, rule) in rules.enumerated() {
            var (tails, others) = ([[Grammar.Symbol]](), [[Grammar.Symbol]]())
            for alternative in rule ?? [] {
                if case .rule(id)? = alternative.first {
                    tails.append(Array(alternative.dropFirst()))
                } else {
                    others.append(alternative)
                }
            }
            guard !tails.isEmpty else { continue }
            let rest = rules.count
            current = id
            let alternatives = tails.filter { !$0.isEmpty }.map { $0 + [.rule(rest)] }
            _ = try newRule(alternatives + [[]])
            rules[id] = others.map { $0 + [.rule(rest)] }
        }
    }

    func grammar(_ terms: RegexTerms = RegexTerms()) throws(ConstraintError) -> Grammar {
        var complete: [[[Grammar.Symbol]]] = []
        for (id, rule) in rules.enumerated() {
            guard let rule else { throw ConstraintError(.grammar, names[id], "the rule is not defined") }
            complete.append(rule)
        }
        return try Grammar(complete, names: names, terms: terms)
    }
}
