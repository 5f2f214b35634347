/// Computes the requirements of the schemas that apply to a value, from facts on the value.
///
/// A leaf gives the requirements of a schema's own keywords; applicators combine them. While a value is being read,
/// leaves are formulas over the current part, and undecided facts count as favourable.
struct Evaluation {
    typealias ID = Requirements.ID

    /// Presence of a property; `open` if it may still come.
    enum Presence { case present, absent, open }

    let closure: Closure
    private var memo: [ID]

    init(_ closure: Closure) {
        self.closure = closure
        memo = Array(repeating: -1, count: 2 * closure.locals.count)
    }

    /// - Parameter positive: Whether the schema must be satisfied; if not, it must be violated.
    mutating func value(_ local: Int, _ positive: Bool, _ machine: JSONMachine, _ facts: some Facts) -> ID {
        let key = 2 * local + (positive ? 1 : 0)
        if memo[key] >= 0 { return memo[key] }
        machine.work.spend(machine.plan.nodes[Int(closure.locals[local].node)].weight)
        if machine.work.isStopped { return Requirements.yes }
        var parts = [facts.leaf(local, positive, machine, &self)]
        let decided = positive ? Requirements.no : Requirements.yes
        if parts[0] != decided {
            for applicator in closure.locals[local].applicators {
                let member = self.value(applicator, positive, machine, facts)
                parts.append(member)
                if member == decided { break }
            }
        }
        let result = positive ? machine.requirements.all(parts) : machine.requirements.any(parts)
        memo[key] = result
        return result
    }

    private mutating func value(
        _ applicator: Closure.Applicator, _ positive: Bool, _ machine: JSONMachine, _ facts: some Facts
    ) -> ID {
        switch applicator {
        case .all(let list): return combine(list, positive, conjunction: positive, machine, facts)
        case .any(let list): return combine(list, positive, conjunction: !positive, machine, facts)
        case .one(let list):
            var pairs: [(holds: ID, fails: ID)] = []
            for local in list {
                pairs.append((value(local, true, machine, facts), value(local, false, machine, facts)))
            }
            return positive ? machine.requirements.one(pairs) : machine.requirements.notOne(pairs)
        case .not(let local): return value(local, !positive, machine, facts)
        case .conditional(let condition, let then, let otherwise):
            let neutral = positive ? Requirements.yes : Requirements.no
            let yes = [
                value(condition, true, machine, facts), then.map { value($0, positive, machine, facts) } ?? neutral,
            ]
            let no = [
                value(condition, false, machine, facts),
                otherwise.map { value($0, positive, machine, facts) } ?? neutral,
            ]
            return machine.requirements.any([machine.requirements.all(yes), machine.requirements.all(no)])
        case .dependent(let name, let local):
            switch facts.presence(of: name, closure) {
            case .present: return value(local, positive, machine, facts)
            case .absent: return positive ? Requirements.yes : Requirements.no
            case .open: return positive ? Requirements.yes : value(local, false, machine, facts)
            }
        }
    }

    private mutating func combine(
        _ list: [Int], _ positive: Bool, conjunction: Bool, _ machine: JSONMachine, _ facts: some Facts
    ) -> ID {
        var parts: [ID] = []
        let decided = conjunction ? Requirements.no : Requirements.yes
        for local in list {
            let member = value(local, positive, machine, facts)
            if member == decided { return decided }
            parts.append(member)
        }
        return conjunction ? machine.requirements.all(parts) : machine.requirements.any(parts)
    }

    /// The condition under which a property or item counts as evaluated for `unevaluatedProperties` or `…Items` of a
    /// schema: a schema that it applies evaluates it, reached through satisfied schemas only.
    /// - Parameter evaluates: Whether the schema with this index in the closure itself evaluates it.
    mutating func evaluated(
        _ local: Int, _ positive: Bool, _ machine: JSONMachine, _ facts: some Facts, _ evaluates: (Int, Bool) -> ID
    ) -> ID {
        var known: [Int: ID] = [:]
        return evaluated(local, positive, machine, facts, evaluates, &known)
    }

    /// - Parameter known: Results by schema: many may apply the same one, also indirectly.
    private mutating func evaluated(
        _ local: Int, _ positive: Bool, _ machine: JSONMachine, _ facts: some Facts, _ evaluates: (Int, Bool) -> ID,
        _ known: inout [Int: ID]
    ) -> ID {
        if let id = known[local] { return id }
        var ways: [ID] = []
        for applicator in closure.locals[local].applicators {
            switch applicator {
            case .all(let list), .any(let list), .one(let list):
                for child in list {
                    ways.append(way(child, nil, positive, machine, facts, evaluates, &known))
                }
            case .not: break
            case .conditional(let condition, let then, let otherwise):
                ways.append(way(condition, nil, positive, machine, facts, evaluates, &known))
                if let then { ways.append(way(then, (condition, true), positive, machine, facts, evaluates, &known)) }
                if let otherwise {
                    ways.append(way(otherwise, (condition, false), positive, machine, facts, evaluates, &known))
                }
            case .dependent(let name, let child):
                switch facts.presence(of: name, closure) {
                case .present: ways.append(way(child, nil, positive, machine, facts, evaluates, &known))
                case .open: ways.append(Requirements.yes)
                case .absent: break
                }
            }
        }
        let result = positive ? machine.requirements.any(ways) : machine.requirements.all(ways)
        known[local] = result
        return result
    }

    private mutating func way(
        _ child: Int, _ condition: (local: Int, holds: Bool)?, _ positive: Bool, _ machine: JSONMachine,
        _ facts: some Facts, _ evaluates: (Int, Bool) -> ID, _ known: inout [Int: ID]
    ) -> ID {
        machine.work.spend()
        var parts = [value(child, positive, machine, facts)]
        if let condition { parts.append(value(condition.local, condition.holds == positive, machine, facts)) }
        let own = evaluates(child, positive)
        let inner = evaluated(child, positive, machine, facts, evaluates, &known)
        parts.append(positive ? machine.requirements.any([own, inner]) : machine.requirements.all([own, inner]))
        return positive ? machine.requirements.all(parts) : machine.requirements.any(parts)
    }
}

/// Facts on a value.
protocol Facts {
    /// Requirements of the keywords of one schema, without its applicators.
    func leaf(_ local: Int, _ positive: Bool, _ machine: JSONMachine, _ evaluation: inout Evaluation) -> Requirements.ID
    func presence(of name: [UInt8], _ closure: Closure) -> Evaluation.Presence
}

extension Facts {
    func presence(of name: [UInt8], _ closure: Closure) -> Evaluation.Presence { .absent }

    func constant(_ isTrue: Bool, _ positive: Bool) -> Requirements.ID {
        isTrue == positive ? Requirements.yes : Requirements.no
    }
}

/// Facts of a value of which only the type is known.
struct TypeFacts: Facts {
    let type: TypeSet

    func leaf(_ local: Int, _ positive: Bool, _ machine: JSONMachine, _ evaluation: inout Evaluation) -> Requirements.ID
    {
        let node = machine.plan.nodes[Int(evaluation.closure.locals[local].node)]
        guard !node.types.isDisjoint(with: type) else { return constant(false, positive) }
        if let list = node.enumeration {
            let isPossible =
                switch type {
                case .null: list.null
                case .boolean: list.isTrue || list.isFalse
                case .string: list.strings != nil
                case .array, .object: false
                default: !list.numbers.isEmpty
                }
            if !isPossible { return constant(false, positive) }
            if type == .null { return constant(true, positive) }
            return Requirements.yes
        }
        let isFree =
            switch type {
            case .string: node.strings.isFree
            case .array: node.arrays.isFree
            case .object: node.objects.isFree
            case .null, .boolean: true
            default: node.numbers.isFree && (node.types.isSuperset(of: type))
            }
        if isFree { return constant(true, positive) }
        if positive {
            if type == .string, node.strings.minimum > node.strings.maximum { return Requirements.no }
            if type == .object, node.objects.minimum > node.objects.maximum { return Requirements.no }
            if type == .array, node.arrays.minimum > node.arrays.maximum { return Requirements.no }
        }
        return Requirements.yes
    }
}

/// `true`, `false` or `null`.
struct LiteralFacts: Facts {
    /// `nil`: the value is `null`.
    let value: Bool?

    func leaf(_ local: Int, _ positive: Bool, _ machine: JSONMachine, _ evaluation: inout Evaluation) -> Requirements.ID
    {
        let node = machine.plan.nodes[Int(evaluation.closure.locals[local].node)]
        guard node.types.contains(value == nil ? .null : .boolean) else { return constant(false, positive) }
        guard let list = node.enumeration else { return constant(true, positive) }
        return constant(value.map { $0 ? list.isTrue : list.isFalse } ?? list.null, positive)
    }
}

struct NumberFacts: Facts {
    let value: Decimal

    func leaf(_ local: Int, _ positive: Bool, _ machine: JSONMachine, _ evaluation: inout Evaluation) -> Requirements.ID
    {
        let node = machine.plan.nodes[Int(evaluation.closure.locals[local].node)]
        return constant(isValid(node), positive)
    }

    private func isValid(_ node: SchemaNode) -> Bool {
        guard node.types.contains(value.isInteger ? .integer : .fraction) else { return false }
        if let list = node.enumeration { return list.numbers.contains(value) }
        let rules = node.numbers
        return rules.lower.allSatisfy { bound in
            let order = Decimal.compare(value, bound.value)
            return bound.isExclusive ? order > 0 : order >= 0
        }
            && rules.upper.allSatisfy { bound in
                let order = Decimal.compare(value, bound.value)
                return bound.isExclusive ? order < 0 : order <= 0
            } && rules.multiples.allSatisfy { value.isMultiple(of: $0) }
    }
}

/// Facts on a string: results of its atoms, and its length; `nil` if unknown.
struct StringFacts: Facts {
    /// Whether an atom of the plan matches.
    let matches: ((Int) -> Bool)?
    /// Whether the string has at least this many characters.
    let isAtLeast: ((Int) -> Bool)?

    func leaf(_ local: Int, _ positive: Bool, _ machine: JSONMachine, _ evaluation: inout Evaluation) -> Requirements.ID
    {
        let node = machine.plan.nodes[Int(evaluation.closure.locals[local].node)]
        guard node.types.contains(.string) else { return constant(false, positive) }
        var isCertain = true
        if let list = node.enumeration {
            guard let strings = list.strings else { return constant(false, positive) }
            if let matches { return constant(matches(strings), positive) }
            return Requirements.yes
        }
        let rules = node.strings
        if rules.minimum > 0 || rules.maximum != .max {
            if let isAtLeast {
                let fits = isAtLeast(rules.minimum) && (rules.maximum == .max || !isAtLeast(rules.maximum + 1))
                if !fits { return constant(false, positive) }
            } else {
                isCertain = false
            }
        }
        if !rules.atoms.isEmpty {
            if let matches {
                if !rules.atoms.allSatisfy(matches) { return constant(false, positive) }
            } else {
                isCertain = false
            }
        }
        return isCertain ? constant(true, positive) : Requirements.yes
    }
}
