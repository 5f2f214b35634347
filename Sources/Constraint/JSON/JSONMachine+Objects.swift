/// Cached results for a state of an object.
struct ObjectInfo {
    /// The child for each outcome of a name; -1 if the name is rejected.
    var children: [KeyOutcome: Int32] = [:]
    /// The state after a child, by child and its result.
    var after: [UInt64: Int32] = [:]
    /// Number of the object's results if it closes here; -1 if it must not, -2 if not computed yet.
    var result: Int32 = -2
    /// Whether a property may follow.
    var takesAnother: Bool?
    /// Whether names can be completed, by state of the key automaton.
    var liveKeys: [Int32: Bool] = [:]
    var otherChild: Int32 = -2
    /// Index of the last name that the next property may have; -2 if not computed yet.
    var lastName: Int32 = -2
}

struct MemberKey: Hashable {
    let closure: Int32
    let outcome: KeyOutcome
}

/// Facts on an object that is being read.
struct ObjectFacts: ContainerFacts {
    let state: ObjectState
    var member: Member?
    let isClosing: Bool
    let inOrder: Bool

    var failed: Bits { state.failed }
    var open: [Unevaluated] { state.open }
    var count: Int32 { state.count }

    func presence(of name: [UInt8], _ closure: Closure) -> Evaluation.Presence {
        guard let index = closure.nameIndex[name] else { return .absent }
        if state.seen.contains(index) { return .present }
        return isOpen(index) ? .open : .absent
    }

    private func isOpen(_ name: Int) -> Bool {
        !isClosing && !state.seen.contains(name) && (!inOrder || Int32(name) > state.last)
    }

    /// Whether one of these names is absent and cannot come any more.
    private func lacks(_ names: Bits) -> Bool {
        if isClosing { return names.hasElement(notIn: state.seen) }
        return inOrder && names.hasElement(in: 0..<Int(state.last) + 1, notIn: state.seen)
    }

    /// Demands that all of these names are present.
    private func demand(_ names: Bits, _ demands: inout Demands) {
        if lacks(names) {
            demands.add(false)
        } else if !isClosing, names.hasElement(notIn: state.seen) {
            demands.addOpen()
        } else {
            demands.add(true)
        }
    }

    func leaf(_ local: Int, _ positive: Bool, _ machine: JSONMachine, _ evaluation: inout Evaluation) -> Requirements.ID
    {
        let own = evaluation.closure.locals[local]
        let node = machine.plan.nodes[Int(own.node)]
        guard node.types.contains(.object), node.enumeration == nil else { return constant(false, positive) }
        let rules = node.objects
        if rules.isFree { return constant(true, positive) }
        var demands = Demands(positive)
        demandMembers(&demands, local, machine) { mayFailLater(rules, own) }
        demand(own.required, &demands)
        for entry in own.dependentRequired {
            if state.seen.contains(entry.name) {
                demand(entry.required, &demands)
            } else if isOpen(entry.name) {
                demands.addOpen()
            }
        }
        demandCount(&demands, rules.minimum, rules.maximum)
        if rules.maximum != .max, !isClosing {
            let missing = own.required.count(notIn: state.seen)
            if Int(state.count) + missing > rules.maximum { demands.add(false) }
        }
        if rules.unevaluated != nil { demandEvaluation(&demands, local, machine, &evaluation) }
        return demands.together(machine.requirements)
    }

    /// Whether a later property may violate `properties`, `additionalProperties` or similar keywords.
    private func mayFailLater(_ rules: SchemaNode.Objects, _ own: Closure.Local) -> Bool {
        if rules.additional != nil || !rules.patterns.isEmpty || rules.names != nil { return true }
        let first = inOrder ? Int(state.last) + 1 : 0
        return !isClosing && own.declared.hasElement(in: first..<Int.max, notIn: state.seen)
    }
}

extension JSONMachine {
    func object(_ state: ObjectState) -> Int32 {
        if let id = objectIDs[state] { return id }
        if objects.count >= Self.maximumEntries { isFull = true }
        work.spend(4 + state.seen.words.count / 8)
        let id = Int32(objects.count)
        objectBytes += state.seen.words.count * 8
        objects.append(state)
        objectInfo.append(ObjectInfo())
        objectIDs[state] = id
        return id
    }

    /// The initial state of an object; `nil` if no object can be completed.
    func openObject(_ position: Position) -> Int32? {
        if position.objectStart == -1 {
            let id = object(ObjectState(position: position.id))
            position.objectStart = objectResult(id) >= 0 || takesAnotherProperty(id) ? id : -2
        }
        return position.objectStart >= 0 ? position.objectStart : nil
    }

    /// Number of the object's results if it closes here; -1 if it must not.
    func objectResult(_ id: Int32) -> Int32 {
        if objectInfo[Int(id)].result != -2 { return objectInfo[Int(id)].result }
        let state = objects[Int(id)]
        let facts = ObjectFacts(state: state, member: nil, isClosing: true, inOrder: !options.anySpelling)
        let answer = finish(positions[Int(state.position)], facts).map(result) ?? -1
        objectInfo[Int(id)].result = answer
        return answer
    }

    // MARK: Properties

    /// The schemas for a property whose name has this outcome.
    private func member(_ closure: Closure, _ outcome: KeyOutcome) -> Member {
        let key = MemberKey(closure: closure.id, outcome: outcome)
        if let known = members[key] { return known }
        let member = makeMember(closure) { local in
            let rules = plan.nodes[Int(local.node)].objects
            var nodes: [SchemaNode.ID] = []
            if let own = local.properties[outcome.name] { nodes.append(own) }
            for pattern in rules.patterns {
                if let index = closure.patternIndex[pattern.atom], outcome.patterns.contains(index) {
                    nodes.append(pattern.schema)
                }
            }
            if nodes.isEmpty, let additional = rules.additional { nodes.append(additional) }
            return (nodes, rules.unevaluated)
        }
        for (index, entry) in closure.nameSchemas.enumerated() where outcome.refusals.contains(index) {
            member.refused.insert(entry.local)
        }
        members[key] = member
        return member
    }

    private func entered(_ state: ObjectState, _ closure: Closure, _ outcome: KeyOutcome, _ member: Member)
        -> ObjectState
    {
        var state = state
        state.count = min(state.count + 1, Int32(clamping: closure.largestCount))
        if outcome.name >= 0 { state.seen.insert(Int(outcome.name)) }
        if !options.anySpelling { state.last = outcome.name >= 0 ? outcome.name : Int32(closure.names.count) }
        state.failed.formUnion(member.refused)
        return state
    }

    /// The child for a property whose name has this outcome; -1 if it is rejected.
    func propertyChild(_ id: Int32, _ outcome: KeyOutcome) -> Int32 {
        if outcome.name < 0, outcome.patterns.isEmpty, outcome.refusals.isEmpty {
            if objectInfo[Int(id)].otherChild == -2 { objectInfo[Int(id)].otherChild = makeChild(id, outcome) }
            return objectInfo[Int(id)].otherChild
        }
        // Not cached: most names may be of this kind.
        if outcome.name >= 0, !mayBeNext(id, outcome.name) { return -1 }
        if let known = objectInfo[Int(id)].children[outcome] { return known }
        let child = makeChild(id, outcome)
        objectInfo[Int(id)].children[outcome] = child
        objectBytes += 60
        return child
    }

    /// Whether the next property may have this name, judged by the names that are then missing.
    @inline(__always)
    private func mayBeNext(_ id: Int32, _ name: Int32) -> Bool {
        if options.anySpelling { return !objects[Int(id)].seen.contains(Int(name)) }
        return name > objects[Int(id)].last && name <= lastName(id)
    }

    /// Index of the last name that the next property may have: with a later one, names would be missing that are required.
    ///
    /// Names that may still come count as favourable, so a later name is never judged better than an earlier one.
    func lastName(_ id: Int32) -> Int32 {
        if objectInfo[Int(id)].lastName != -2 { return objectInfo[Int(id)].lastName }
        let state = objects[Int(id)]
        let position = positions[Int(state.position)]
        func isPossible(_ name: Int32) -> Bool {
            var before = state
            before.last = name - 1
            let facts = ObjectFacts(state: before, member: nil, isClosing: false, inOrder: true)
            return residual(position, facts) != Requirements.no
        }
        // `low` is possible or before the first name; `high` is not, or the number of names.
        var (low, high) = (state.last, Int32(position.closure.names.count))
        if low + 1 < high {
            if isPossible(high - 1) { low = high - 1 } else { high -= 1 }
        }
        while low + 1 < high {
            let middle = low + (high - low) / 2
            if isPossible(middle) { low = middle } else { high = middle }
        }
        objectInfo[Int(id)].lastName = low
        return low
    }

    private func makeChild(_ id: Int32, _ outcome: KeyOutcome) -> Int32 {
        let state = objects[Int(id)]
        let position = positions[Int(state.position)]
        let closure = position.closure
        let member = member(closure, outcome)
        let facts = ObjectFacts(
            state: entered(state, closure, outcome, member), member: member, isClosing: false,
            inOrder: !options.anySpelling)
        return makeChild(position, member, outcome, facts)
    }

    /// The state of the object after a property; `nil` if the object cannot be completed then.
    func endProperty(_ id: Int32, _ child: Int32, _ result: Int32) -> Int32? {
        let key = UInt64(UInt32(bitPattern: child)) << 32 | UInt64(UInt32(bitPattern: result))
        if let known = objectInfo[Int(id)].after[key] { return known >= 0 ? known : nil }
        let (bits, entry) = (results[Int(result)], children[Int(child)])
        var next: Int32 = -1
        if let member = entry.member, let outcome = entry.outcome {
            let closure = positions[Int(objects[Int(id)].position)].closure
            var state = entered(objects[Int(id)], closure, outcome, member)
            settle(member, bits, evaluators: Bits(), &state.failed, &state.open)
            next = object(state)
            if objectResult(next) < 0, !takesAnotherProperty(next) { next = -1 }
        }
        objectInfo[Int(id)].after[key] = next
        return next >= 0 ? next : nil
    }

    func takesAnotherProperty(_ id: Int32) -> Bool {
        if let known = objectInfo[Int(id)].takesAnother { return known }
        let context = keyContext(positions[Int(objects[Int(id)].position)].closure)
        let answer = isLiveKey(context, id, StringAutomaton.start)
        objectInfo[Int(id)].takesAnother = answer
        return answer
    }
}
