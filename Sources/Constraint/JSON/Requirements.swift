/// Requirements on a value: formulas over the results of the schemas applied to it.
///
/// Formulas are hash-consed and numbered, in negation normal form; undecided facts count as favourable.
final class Requirements {
    typealias ID = Int32

    enum Formula: Hashable {
        case no
        case yes
        /// The schema in slot `slot` of the value is satisfied, or is violated.
        case result(slot: Int32, isValid: Bool)
        case all([ID])
        case any([ID])
        /// Exactly one of the schemas is satisfied. `holds[i]`: the i-th is satisfied; `fails[i]`: it is violated.
        case one(holds: [ID], fails: [ID])
    }

    static let no: ID = 0
    static let yes: ID = 1

    private(set) var formulas: [Formula] = [.no, .yes]
    private var ids: [Formula: ID] = [.no: 0, .yes: 1]

    private let work: WorkMeter

    init(_ work: WorkMeter) { self.work = work }

    private func intern(_ formula: Formula) -> ID {
        if let id = ids[formula] { return id }
        work.spend(8)
        formulas.append(formula)
        ids[formula] = ID(formulas.count - 1)
        return ID(formulas.count - 1)
    }

    func result(_ slot: Int, _ isValid: Bool) -> ID { intern(.result(slot: Int32(slot), isValid: isValid)) }

    func all(_ list: [ID]) -> ID {
        var parts: Set<ID> = []
        work.spend(1 + list.count / 8)
        for id in list {
            if id == Self.no { return Self.no }
            if id == Self.yes { continue }
            if case .all(let inner) = formulas[Int(id)] { parts.formUnion(inner) } else { parts.insert(id) }
        }
        if parts.count <= 1 { return parts.first ?? Self.yes }
        if isContradictory(parts) { return Self.no }
        return intern(.all(parts.sorted()))
    }

    func any(_ list: [ID]) -> ID {
        var parts: Set<ID> = []
        work.spend(1 + list.count / 8)
        for id in list {
            if id == Self.yes { return Self.yes }
            if id == Self.no { continue }
            if case .any(let inner) = formulas[Int(id)] { parts.formUnion(inner) } else { parts.insert(id) }
        }
        if parts.count <= 1 { return parts.first ?? Self.no }
        return intern(.any(parts.sorted()))
    }

    private func isContradictory(_ parts: Set<ID>) -> Bool {
        parts.contains { id in
            guard case .result(let slot, true) = formulas[Int(id)] else { return false }
            return ids[.result(slot: slot, isValid: false)].map(parts.contains) ?? false
        }
    }

    /// Exactly one holds.
    func one(_ pairs: [(holds: ID, fails: ID)]) -> ID {
        let certain = pairs.indices.filter { pairs[$0].fails == Self.no }
        if certain.count > 1 { return Self.no }
        if let only = certain.first {
            return all(pairs.indices.map { $0 == only ? pairs[$0].holds : pairs[$0].fails })
        }
        let (open, closed) = (pairs.filter { $0.holds != Self.no }, pairs.filter { $0.holds == Self.no })
        let others = closed.map(\.fails)
        if open.isEmpty { return Self.no }
        if open.count == 1 { return all(others + [open[0].holds]) }
        if open.allSatisfy({ $0.holds == Self.yes && $0.fails == Self.yes }) { return all(others) }
        return all(others + [intern(.one(holds: open.map(\.holds), fails: open.map(\.fails)))])
    }

    /// None or more than one holds.
    func notOne(_ pairs: [(holds: ID, fails: ID)]) -> ID {
        let none = all(pairs.map(\.fails))
        let open = pairs.filter { $0.holds != Self.no }
        if none == Self.yes || open.count(where: { $0.holds == Self.yes }) > 1 || open.count > 64 { return Self.yes }
        var parts = [none]
        for i in open.indices {
            for j in open.indices where j > i { parts.append(all([open[i].holds, open[j].holds])) }
        }
        return any(parts)
    }

    func holds(_ id: ID, _ results: Bits) -> Bool {
        work.spend()
        if work.isStopped { return false }
        switch formulas[Int(id)] {
        case .no: return false
        case .yes: return true
        case .result(let slot, let isValid): return results.contains(Int(slot)) == isValid
        case .all(let list): return list.allSatisfy { holds($0, results) }
        case .any(let list): return list.contains { holds($0, results) }
        case .one(let positive, let negative):
            let certain = negative.count { !holds($0, results) }
            return certain == 1 ? true : certain == 0 && positive.contains { holds($0, results) }
        }
    }

    /// The formula with each result replaced by `value`.
    func substitute(_ id: ID, _ value: (Int, Bool) -> ID) -> ID {
        work.spend()
        if work.isStopped { return id }
        switch formulas[Int(id)] {
        case .no, .yes: return id
        case .result(let slot, let isValid): return value(Int(slot), isValid)
        case .all(let list):
            var parts: [ID] = []
            for part in list { parts.append(substitute(part, value)) }
            return all(parts)
        case .any(let list):
            var parts: [ID] = []
            for part in list { parts.append(substitute(part, value)) }
            return any(parts)
        case .one(let positive, let negative):
            var pairs: [(holds: ID, fails: ID)] = []
            for (a, b) in zip(positive, negative) { pairs.append((substitute(a, value), substitute(b, value))) }
            return one(pairs)
        }
    }
}
