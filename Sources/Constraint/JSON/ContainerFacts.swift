/// Facts on an object or array that is being read.
protocol ContainerFacts: Facts {
    /// Schemas of the closure that are violated by a member.
    var failed: Bits { get }
    var open: [Unevaluated] { get }
    /// Number of parts, including the current one, capped at the largest number that makes a difference.
    var count: Int32 { get }
    /// The current property or item; `nil` between them.
    var member: Member? { get }
    /// Whether no more parts follow.
    var isClosing: Bool { get }

    /// The condition under which a schema evaluates the current member.
    /// - Parameter evaluators: Schemas that evaluate it unconditionally.
    func evaluates(
        _ local: Int, _ positive: Bool, _ evaluators: Bits, _ machine: JSONMachine, _ closure: Closure
    ) -> Requirements.ID
}

/// Combines the requirements of a schema's keywords: all of them if the schema must be satisfied, else any violation.
struct Demands {
    typealias ID = Requirements.ID
    let positive: Bool
    private var parts: [ID] = []

    init(_ positive: Bool) { self.positive = positive }

    /// - Parameters:
    ///   - holds: Requirement for the keyword to be satisfied.
    ///   - fails: Requirement for the keyword to be violated.
    mutating func add(_ holds: ID, _ fails: ID) { parts.append(positive ? holds : fails) }
    mutating func add(_ isTrue: Bool) {
        parts.append(isTrue == positive ? Requirements.yes : Requirements.no)
    }
    /// Undecided: later parts may still satisfy or violate the keyword.
    mutating func addOpen() { parts.append(Requirements.yes) }
    mutating func add(_ member: ID) { parts.append(member) }

    func together(_ requirements: Requirements) -> ID {
        positive ? requirements.all(parts) : requirements.any(parts)
    }
}

extension ContainerFacts {
    func evaluates(
        _ local: Int, _ positive: Bool, _ evaluators: Bits, _ machine: JSONMachine, _ closure: Closure
    ) -> Requirements.ID {
        constant(evaluators.contains(local), positive)
    }

    /// The schemas of members. - Parameter mayFailLater: Whether a later member may violate one.
    func demandMembers(_ demands: inout Demands, _ local: Int, _ machine: JSONMachine, mayFailLater: () -> Bool) {
        if failed.contains(local) { return demands.add(false) }
        if isClosing { return demands.add(true) }
        let slots = member?.required[local] ?? []
        if demands.positive {
            demands.add(machine.requirements.all(slots.map { machine.requirements.result($0, true) }))
        } else {
            let fails = slots.map { machine.requirements.result($0, false) }
            demands.add(mayFailLater() ? Requirements.yes : machine.requirements.any(fails))
        }
    }

    /// `minProperties`, `maxItems` and similar keywords.
    func demandCount(_ demands: inout Demands, _ minimum: Int, _ maximum: Int) {
        let count = Int(count)
        if minimum > 0 {
            if isClosing {
                demands.add(count >= minimum)
            } else {
                demands.add(Requirements.yes, count >= minimum ? Requirements.no : Requirements.yes)
            }
        }
        if maximum != .max {
            if isClosing || count > maximum { demands.add(count <= maximum) } else { demands.addOpen() }
        }
    }

    /// `unevaluatedProperties` and `unevaluatedItems`.
    func demandEvaluation(
        _ demands: inout Demands, _ local: Int, _ machine: JSONMachine, _ evaluation: inout Evaluation
    ) {
        let (positive, closure) = (demands.positive, evaluation.closure)
        for record in open where Int(record.local) == local {
            demands.add(
                evaluation.evaluated(local, positive, machine, self) { other, positive in
                    constant(record.evaluators.contains(other), positive)
                })
        }
        for entry in member?.conditional ?? [] where entry.local == local {
            guard let slot = entry.slot else { continue }
            let evaluates = { (other: Int, positive: Bool) in
                self.evaluates(other, positive, entry.evaluators, machine, closure)
            }
            let ways = [
                machine.requirements.result(slot, positive), evaluates(local, positive),
                evaluation.evaluated(local, positive, machine, self, evaluates),
            ]
            demands.add(positive ? machine.requirements.any(ways) : machine.requirements.all(ways))
        }
        if !isClosing { demands.addOpen() }
    }
}

extension JSONMachine {
    /// Collects the schemas for a member of a container.
    /// - Parameter applied: The schemas that a schema of the closure applies to the member, and its `unevaluated…`.
    func makeMember(
        _ closure: Closure, _ applied: (Closure.Local) -> (nodes: [SchemaNode.ID], unevaluated: SchemaNode.ID?)
    ) -> Member {
        let member = Member()
        var evaluators = Bits()
        var unevaluated: [(local: Int, node: SchemaNode.ID)] = []
        for (local, entry) in closure.locals.enumerated() {
            let (nodes, rest) = applied(entry)
            if !nodes.isEmpty || rest != nil { evaluators.insert(local) }
            if nodes.isEmpty, let rest { unevaluated.append((local, rest)) }
            let slots = nodes.filter { !plan.nodes[Int($0)].isFree }.map(member.slot)
            if !slots.isEmpty { member.required[local] = slots }
        }
        for (local, node) in unevaluated {
            var others = evaluators
            others.remove(local)
            let slot = plan.nodes[Int(node)].isFree ? nil : member.slot(node)
            member.conditional.append(.init(local: local, slot: slot, evaluators: others))
        }
        return member
    }

    /// The child for a member that begins; -1 if the container could then not be completed.
    /// - Parameter facts: Facts on the container, with this member already counted.
    func makeChild(_ position: Position, _ member: Member, _ outcome: KeyOutcome?, _ facts: some ContainerFacts)
        -> Int32
    {
        let requirement = residual(position, facts)
        if requirement == Requirements.no { return -1 }
        let inner = self.position(member.slots, requirement)
        if inner.types.isEmpty { return -1 }
        children.append(Child(position: inner.id, member: member, outcome: outcome))
        return Int32(children.count - 1)
    }

    /// Records violations by a finished member. - Parameter evaluators: Schemas that evaluate it because of its value.
    func settle(_ member: Member, _ bits: Bits, evaluators: Bits, _ failed: inout Bits, _ open: inout [Unevaluated]) {
        for (local, slots) in member.required where !slots.allSatisfy(bits.contains) { failed.insert(local) }
        for entry in member.conditional {
            guard let slot = entry.slot, !bits.contains(slot) else { continue }
            if evaluators.contains(entry.local) { continue }
            let all = entry.evaluators.union(evaluators)
            if all.isEmpty {
                failed.insert(entry.local)
            } else {
                let record = Unevaluated(local: Int32(entry.local), evaluators: all)
                if !open.contains(record) { open.append(record) }
            }
        }
    }
}
