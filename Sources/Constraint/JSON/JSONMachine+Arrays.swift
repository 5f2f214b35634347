/// Cached results for a state of an array.
struct ArrayInfo {
    /// The child for the next item; -1 if no item may follow, -2 if not computed yet.
    var child: Int32 = -2
    var after: [UInt64: Int32] = [:]
    var result: Int32 = -2
}

/// Facts on an array that is being read.
struct ArrayFacts: ContainerFacts {
    let state: ArrayState
    var member: Member?
    let isClosing: Bool

    var failed: Bits { state.failed }
    var open: [Unevaluated] { state.open }
    var count: Int32 { state.count }

    func leaf(_ local: Int, _ positive: Bool, _ machine: JSONMachine, _ evaluation: inout Evaluation) -> Requirements.ID
    {
        let closure = evaluation.closure
        let node = machine.plan.nodes[Int(closure.locals[local].node)]
        guard node.types.contains(.array), node.enumeration == nil else { return constant(false, positive) }
        let rules = node.arrays
        if rules.isFree { return constant(true, positive) }
        var demands = Demands(positive)
        demandMembers(&demands, local, machine) {
            rules.items != nil || rules.prefix.count > Int(count) || rules.isUnique
        }
        demandCount(&demands, rules.minimum, rules.maximum)
        if rules.contains != nil { demands.add(contained(local, rules, positive, machine, closure)) }
        if rules.unevaluated != nil { demandEvaluation(&demands, local, machine, &evaluation) }
        return demands.together(machine.requirements)
    }

    func evaluates(
        _ local: Int, _ positive: Bool, _ evaluators: Bits, _ machine: JSONMachine, _ closure: Closure
    ) -> Requirements.ID {
        if evaluators.contains(local) { return constant(true, positive) }
        guard let slot = member?.contains[local], machine.countsContained(closure, local) else {
            return constant(false, positive)
        }
        return slot < 0 ? constant(true, positive) : machine.requirements.result(slot, positive)
    }

    private func contained(
        _ local: Int, _ rules: SchemaNode.Arrays, _ positive: Bool, _ machine: JSONMachine, _ closure: Closure
    ) -> Requirements.ID {
        let place = machine.containing(closure).firstIndex(of: local) ?? 0
        let found = Int(state.contained[place])
        let (low, high) = (rules.minimumContained, rules.maximumContained)
        if isClosing { return constant(found >= low && found <= high, positive) }
        if found > high { return constant(false, positive) }
        // The current item counts if it matches.
        var (matches, fails) = (Requirements.yes, Requirements.yes)
        if let slot = member?.contains[local] {
            matches = slot < 0 ? Requirements.yes : machine.requirements.result(slot, true)
            fails = slot < 0 ? Requirements.no : machine.requirements.result(slot, false)
        }
        let left = rules.maximum == .max ? Int.max : rules.maximum - Int(state.count)
        if positive {
            var parts: [Requirements.ID] = []
            if member?.contains[local] != nil, found == high { parts.append(fails) }
            if left < low - found {
                parts.append(member?.contains[local] != nil && left == low - found - 1 ? matches : Requirements.no)
            }
            return machine.requirements.all(parts)
        }
        return found >= low && high == .max ? Requirements.no : Requirements.yes
    }
}

extension JSONMachine {
    /// Indices in the closure of the schemas with `contains`.
    func containing(_ closure: Closure) -> [Int] {
        closure.locals.indices.filter { plan.nodes[Int(closure.locals[$0].node)].arrays.contains != nil }
    }

    func countsContained(_ closure: Closure, _ local: Int) -> Bool {
        plan.nodes[Int(closure.locals[local].node)].arrays.containsEvaluates
    }

    func array(_ state: ArrayState) -> Int32 {
        if let id = arrayIDs[state] { return id }
        if arrays.count >= Self.maximumEntries { isFull = true }
        work.spend(4 + state.items.count / 8)
        arrays.append(state)
        arrayInfo.append(ArrayInfo())
        arrayIDs[state] = Int32(arrays.count - 1)
        return Int32(arrays.count - 1)
    }

    /// The initial state of an array; `nil` if no array can be completed.
    func openArray(_ position: Position) -> Int32? {
        if position.arrayStart == -1 {
            var state = ArrayState(position: position.id)
            state.contained = containing(position.closure).map { _ in 0 }
            let id = array(state)
            position.arrayStart = arrayResult(id) >= 0 || itemChild(id) >= 0 ? id : -2
        }
        return position.arrayStart >= 0 ? position.arrayStart : nil
    }

    func arrayResult(_ id: Int32) -> Int32 {
        if arrayInfo[Int(id)].result != -2 { return arrayInfo[Int(id)].result }
        let state = arrays[Int(id)]
        let facts = ArrayFacts(state: state, member: nil, isClosing: true)
        let answer = finish(positions[Int(state.position)], facts).map(result) ?? -1
        arrayInfo[Int(id)].result = answer
        return answer
    }

    private func entered(_ state: ArrayState, _ closure: Closure) -> ArrayState {
        var state = state
        state.count = min(state.count + 1, Int32(clamping: closure.largestIndex))
        return state
    }

    /// The child for the next item; -1 if no item may follow.
    func itemChild(_ id: Int32) -> Int32 {
        if arrayInfo[Int(id)].child != -2 { return arrayInfo[Int(id)].child }
        let state = arrays[Int(id)]
        let position = positions[Int(state.position)]
        let member = member(position.closure, index: Int(state.count))
        let facts = ArrayFacts(state: entered(state, position.closure), member: member, isClosing: false)
        let child = makeChild(position, member, nil, facts)
        arrayInfo[Int(id)].child = child
        return child
    }

    private func member(_ closure: Closure, index: Int) -> Member {
        let member = makeMember(closure) { local in
            let rules = plan.nodes[Int(local.node)].arrays
            let own = index < rules.prefix.count ? rules.prefix[index] : rules.items
            return (own.map { [$0] } ?? [], rules.unevaluated)
        }
        for (local, entry) in closure.locals.enumerated() {
            guard let node = plan.nodes[Int(entry.node)].arrays.contains else { continue }
            member.contains[local] = plan.nodes[Int(node)].isFree ? -1 : member.slot(node)
        }
        return member
    }

    /// The state of the array after an item; `nil` if the array cannot be completed then.
    func endItem(_ frame: Frame, _ child: Int32, _ result: Int32, _ state: inout JSONState, at end: Int) -> Int32? {
        let closure = positions[Int(arrays[Int(frame.state)].position)].closure
        var item: Int32 = -1
        if closure.isUnique {
            work.spend(max(0, end - Int(frame.itemStart)) / 8)
            if end < 0 || frame.itemStart < 0 || Int(frame.itemStart) > end || end > text.count {
                state.isUnsure = true
            } else if work.isStopped {
                return nil
            } else if let value = try? SchemaJSON(parsing: text[Int(frame.itemStart)..<end]) {
                item = self.item(value.canonical)
            }
        } else {
            let key = UInt64(UInt32(bitPattern: child)) << 32 | UInt64(UInt32(bitPattern: result))
            if let known = arrayInfo[Int(frame.state)].after[key] { return known >= 0 ? known : nil }
        }
        let next = after(frame.state, closure, child, result, item)
        if !closure.isUnique {
            let key = UInt64(UInt32(bitPattern: child)) << 32 | UInt64(UInt32(bitPattern: result))
            arrayInfo[Int(frame.state)].after[key] = next ?? -1
        }
        return next
    }

    private func item(_ canonical: [UInt8]) -> Int32 {
        if let id = itemIDs[canonical] { return id }
        if itemIDs.count >= Self.maximumEntries { isFull = true }
        let id = Int32(itemIDs.count)
        itemIDs[canonical] = id
        return id
    }

    private func after(_ id: Int32, _ closure: Closure, _ child: Int32, _ result: Int32, _ item: Int32) -> Int32? {
        guard let member = children[Int(child)].member else { return nil }
        let bits = results[Int(result)]
        var state = entered(arrays[Int(id)], closure)
        var evaluators = Bits()
        for (place, local) in containing(closure).enumerated() {
            guard let slot = member.contains[local], slot < 0 || bits.contains(slot) else { continue }
            if countsContained(closure, local) { evaluators.insert(local) }
            let rules = plan.nodes[Int(closure.locals[local].node)].arrays
            let limit = max(rules.minimumContained, rules.maximumContained == .max ? 0 : rules.maximumContained + 1)
            state.contained[place] = min(state.contained[place] + 1, Int32(clamping: limit))
        }
        settle(member, bits, evaluators: evaluators, &state.failed, &state.open)
        if item >= 0 {
            if state.items.contains(item) {
                for (local, entry) in closure.locals.enumerated() where plan.nodes[Int(entry.node)].arrays.isUnique {
                    state.failed.insert(local)
                }
            } else {
                state.items.append(item)
            }
        }
        let next = array(state)
        return arrayResult(next) >= 0 || itemChild(next) >= 0 ? next : nil
    }

    /// Records where an item begins, in an array whose items must be unique.
    func noteItemStart(_ state: inout JSONState, at offset: Int) {
        let frame = frames[Int(state.frame)]
        guard frame.isArray, frame.itemStart < 0, positions[Int(arrays[Int(frame.state)].position)].closure.isUnique
        else { return }
        var begun = frame
        begun.itemStart = offset < 0 ? Int32.max : Int32(clamping: offset)
        state.frame = self.frame(begun)
    }
}
