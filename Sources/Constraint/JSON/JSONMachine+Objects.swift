/// What was worked out about a state of an object.
struct ObjectInfo {
    /// The child for each outcome of a name; -1 where the name is refused.
    var children: [KeyOutcome: Int32] = [:]
    /// States after a child with a result.
    var after: [UInt64: Int32] = [:]
    /// Number of the results with which the object closes, -1 if it must not; -2 if not known.
    var result: Int32 = -2
    /// Whether a property may follow.
    var takesAnother: Bool?
    /// Whether names that begin with the text of a state of the key automaton can be completed.
    var liveKeys: [Int32: Bool] = [:]
    var otherChild: Int32 = -2
}

struct PartKey: Hashable {
    let closure: Int32
    let outcome: KeyOutcome
}

/// How names are read in the objects of a closure.
final class KeyContext {
    let closure: Closure
    /// Atom 0 is the set of names, then the patterns, then the atoms of `propertyNames`.
    let automaton: StringAutomaton
    let places: [Int: Int]
    let cuts: [Int]
    /// Whether all names that are not in the set have the same outcome.
    let isPlain: Bool
    var outcomes: [UInt64: KeyOutcome] = [:]
    /// A state in which no known name can come any more, -1 if not known.
    var other: Int32 = -1

    init(closure: Closure, automaton: StringAutomaton, places: [Int: Int], cuts: [Int]) {
        self.closure = closure
        self.automaton = automaton
        self.places = places
        self.cuts = cuts
        isPlain = closure.patterns.isEmpty && closure.nameSchemas.isEmpty
    }

    func level(_ count: Int) -> Int { cuts.count { $0 <= count } }
}

/// What is known of an object while it is written.
struct ObjectFacts: Facts {
    let state: ObjectState
    /// The property that is being written; `state` counts it already.
    var part: Part?
    /// Whether no more properties come.
    let isClosing: Bool
    let inOrder: Bool

    func presence(of name: [UInt8], _ closure: Closure) -> Evaluation.Presence {
        guard let index = closure.nameIndex[name] else { return .absent }
        if state.seen.contains(index) { return .present }
        return isOpen(index) ? .open : .absent
    }

    private func isOpen(_ name: Int) -> Bool {
        !isClosing && !state.seen.contains(name) && (!inOrder || Int32(name) > state.last)
    }

    func leaf(_ local: Int, _ positive: Bool, _ machine: JSONMachine, _ evaluation: inout Evaluation) -> Requirements.ID
    {
        let closure = evaluation.closure
        let node = machine.plan.nodes[Int(closure.locals[local].node)]
        guard node.types.contains(.object), node.enumeration == nil else { return constant(false, positive) }
        let rules = node.objects
        if rules.isFree { return constant(true, positive) }
        var parts: [Requirements.ID] = []
        func demand(_ holds: Requirements.ID, _ fails: Requirements.ID) { parts.append(positive ? holds : fails) }
        func demand(_ isTrue: Bool) { parts.append(constant(isTrue, positive)) }
        let (no, yes) = (Requirements.no, Requirements.yes)

        if state.failed.contains(local) {
            demand(false)
        } else if isClosing {
            demand(true)
        } else {
            let slots = part?.required[local] ?? []
            let holds = machine.requirements.all(slots.map { machine.requirements.result($0, true) })
            let fails =
                mayFailLater(rules, closure)
                ? yes : machine.requirements.any(slots.map { machine.requirements.result($0, false) })
            demand(holds, fails)
        }
        for name in rules.required { demandName(name, closure, demand) }
        for entry in rules.dependentRequired {
            switch presence(of: entry.name, closure) {
            case .present: for name in entry.required { demandName(name, closure, demand) }
            case .absent: break
            case .open: demand(yes, yes)
            }
        }
        let count = Int(state.count)
        if rules.minimum > 0 {
            if isClosing { demand(count >= rules.minimum) } else { demand(yes, count >= rules.minimum ? no : yes) }
        }
        if rules.maximum != .max {
            if isClosing || count > rules.maximum { demand(count <= rules.maximum) } else { demand(yes, yes) }
            let missing = rules.required.count { presence(of: $0, closure) != .present }
            if !isClosing, count + missing > rules.maximum { demand(false) }
        }
        if rules.unevaluated != nil {
            for record in state.open where Int(record.local) == local {
                let way = evaluation.evaluated(local, positive, machine, self) { other, positive in
                    constant(record.evaluators.contains(other), positive)
                }
                parts.append(way)
            }
            for entry in part?.conditional ?? [] where entry.local == local {
                guard let slot = entry.slot else { continue }
                let own = machine.requirements.result(slot, positive)
                let way = evaluation.evaluated(local, positive, machine, self) { other, positive in
                    constant(entry.evaluators.contains(other), positive)
                }
                parts.append(positive ? machine.requirements.any([own, way]) : machine.requirements.all([own, way]))
            }
            if !isClosing { demand(yes, yes) }
        }
        return positive ? machine.requirements.all(parts) : machine.requirements.any(parts)
    }

    private func demandName(
        _ name: [UInt8], _ closure: Closure, _ demand: (Requirements.ID, Requirements.ID) -> Void
    ) {
        switch presence(of: name, closure) {
        case .present: demand(Requirements.yes, Requirements.no)
        case .absent: demand(Requirements.no, Requirements.yes)
        case .open: demand(Requirements.yes, Requirements.yes)
        }
    }

    /// Whether a property that is still to come may violate `properties`, `additionalProperties` or their like.
    private func mayFailLater(_ rules: SchemaNode.Objects, _ closure: Closure) -> Bool {
        if rules.additional != nil || !rules.patterns.isEmpty || rules.names != nil { return true }
        return rules.properties.contains { property in closure.nameIndex[property.name].map(isOpen) ?? false }
    }
}

extension JSONMachine {
    func object(_ state: ObjectState) -> Int32 {
        if let id = objectIDs[state] { return id }
        if objects.count >= Self.maximumEntries { isExhausted = true }
        let id = Int32(objects.count)
        objects.append(state)
        objectInfo.append(ObjectInfo())
        objectIDs[state] = id
        return id
    }

    /// The state of an object that begins, `nil` if none can be completed.
    func openObject(_ position: Position) -> Int32? {
        if position.objectStart == -1 {
            let id = object(ObjectState(position: position.id))
            position.objectStart = objectResult(id) >= 0 || takesAnotherProperty(id) ? id : -2
        }
        return position.objectStart >= 0 ? position.objectStart : nil
    }

    /// The number of the results with which the object closes here, -1 if it must not.
    func objectResult(_ id: Int32) -> Int32 {
        if objectInfo[Int(id)].result != -2 { return objectInfo[Int(id)].result }
        let state = objects[Int(id)]
        let facts = ObjectFacts(state: state, part: nil, isClosing: true, inOrder: !options.anySpelling)
        let answer = finish(positions[Int(state.position)], facts).map(result) ?? -1
        objectInfo[Int(id)].result = answer
        return answer
    }

    func keyContext(_ closure: Closure) -> KeyContext {
        if let known = keyContexts[closure.id] { return known }
        var atoms: [StringAtom] = [.members(closure.nameSet)]
        var (places, cuts) = ([Int: Int](), Set<Int>())
        func add(_ atom: Int) {
            guard places[atom] == nil else { return }
            places[atom] = atoms.count
            atoms.append(plan.atoms[atom])
        }
        closure.patterns.forEach(add)
        for (_, node) in closure.nameSchemas {
            for local in self.closure([node]).locals {
                let schema = plan.nodes[Int(local.node)]
                if let strings = schema.enumeration?.strings { add(strings) }
                schema.strings.atoms.forEach(add)
                if schema.strings.minimum > 0 { cuts.insert(schema.strings.minimum) }
                if schema.strings.maximum != .max { cuts.insert(schema.strings.maximum + 1) }
            }
        }
        let context = KeyContext(
            closure: closure, automaton: StringAutomaton(atoms, plan.terms), places: places, cuts: cuts.sorted())
        keyContexts[closure.id] = context
        return context
    }

    /// What a name means that ends in this state of the automaton.
    func outcome(_ context: KeyContext, _ text: Int32, level: Int) -> KeyOutcome {
        let key = UInt64(UInt32(bitPattern: text)) << 32 | UInt64(level)
        if let known = context.outcomes[key] { return known }
        var outcome = KeyOutcome()
        outcome.name = context.automaton.result(text, 0, plan.terms)
        for (index, atom) in context.closure.patterns.enumerated() {
            if let place = context.places[atom], context.automaton.result(text, place, plan.terms) >= 0 {
                outcome.patterns.insert(index)
            }
        }
        let facts = StringFacts(
            matches: { atom in
                context.places[atom].map { context.automaton.result(text, $0, self.plan.terms) >= 0 } ?? false
            },
            isAtLeast: { count in count == 0 || context.cuts.firstIndex(of: count).map { $0 < level } ?? false })
        for (index, entry) in context.closure.nameSchemas.enumerated() {
            var evaluation = Evaluation(closure([entry.node]))
            if evaluation.value(0, true, self, facts) != Requirements.yes { outcome.refusals.insert(index) }
        }
        context.outcomes[key] = outcome
        return outcome
    }

    // MARK: Properties

    /// The schemas for a property with such a name.
    private func part(_ closure: Closure, _ outcome: KeyOutcome) -> Part {
        let key = PartKey(closure: closure.id, outcome: outcome)
        if let known = parts[key] { return known }
        let part = Part()
        var evaluators = Bits()
        var unevaluated: [(local: Int, node: SchemaNode.ID)] = []
        let name = outcome.name >= 0 ? closure.names[Int(outcome.name)] : nil
        for (local, entry) in closure.locals.enumerated() {
            let rules = plan.nodes[Int(entry.node)].objects
            var nodes: [SchemaNode.ID] = []
            if let name, let own = rules.properties.first(where: { $0.name == name }) { nodes.append(own.schema) }
            for pattern in rules.patterns {
                if let index = closure.patterns.firstIndex(of: pattern.atom), outcome.patterns.contains(index) {
                    nodes.append(pattern.schema)
                }
            }
            if nodes.isEmpty, let additional = rules.additional { nodes.append(additional) }
            if !nodes.isEmpty || rules.unevaluated != nil { evaluators.insert(local) }
            if nodes.isEmpty, let node = rules.unevaluated { unevaluated.append((local, node)) }
            let slots = nodes.filter { !plan.nodes[Int($0)].isFree }.map(part.slot)
            if !slots.isEmpty { part.required[local] = slots }
        }
        for (local, node) in unevaluated {
            var others = evaluators
            others.remove(local)
            let slot = plan.nodes[Int(node)].isFree ? nil : part.slot(node)
            part.conditional.append(.init(local: local, slot: slot, evaluators: others))
        }
        for (index, entry) in closure.nameSchemas.enumerated() where outcome.refusals.contains(index) {
            part.refused.insert(entry.local)
        }
        parts[key] = part
        return part
    }

    private func entered(_ state: ObjectState, _ closure: Closure, _ outcome: KeyOutcome, _ part: Part) -> ObjectState {
        var state = state
        state.count = min(state.count + 1, Int32(clamping: closure.largestCount))
        if outcome.name >= 0 { state.seen.insert(Int(outcome.name)) }
        if !options.anySpelling { state.last = outcome.name >= 0 ? outcome.name : Int32(closure.names.count) }
        state.failed.formUnion(part.refused)
        return state
    }

    /// The child for a property whose name has this outcome, -1 if it is refused.
    func propertyChild(_ id: Int32, _ outcome: KeyOutcome) -> Int32 {
        if outcome.name < 0, outcome.patterns.isEmpty, outcome.refusals.isEmpty {
            if objectInfo[Int(id)].otherChild == -2 { objectInfo[Int(id)].otherChild = makeChild(id, outcome) }
            return objectInfo[Int(id)].otherChild
        }
        if let known = objectInfo[Int(id)].children[outcome] { return known }
        let child = makeChild(id, outcome)
        objectInfo[Int(id)].children[outcome] = child
        return child
    }

    private func makeChild(_ id: Int32, _ outcome: KeyOutcome) -> Int32 {
        let state = objects[Int(id)]
        let position = positions[Int(state.position)]
        let closure = position.closure
        if outcome.name >= 0 {
            if state.seen.contains(Int(outcome.name)) { return -1 }
            if !options.anySpelling, outcome.name <= state.last { return -1 }
        }
        let part = part(closure, outcome)
        let facts = ObjectFacts(
            state: entered(state, closure, outcome, part), part: part, isClosing: false, inOrder: !options.anySpelling)
        let requirement = residual(position, facts)
        if requirement == Requirements.no { return -1 }
        let inner = self.position(part.slots, requirement)
        if inner.types.isEmpty { return -1 }
        children.append(Child(position: inner.id, part: part, outcome: outcome))
        return Int32(children.count - 1)
    }

    /// The state of the object after a property, `nil` if it cannot be completed with it.
    func endProperty(_ id: Int32, _ child: Int32, _ result: Int32) -> Int32? {
        let key = UInt64(UInt32(bitPattern: child)) << 32 | UInt64(UInt32(bitPattern: result))
        if let known = objectInfo[Int(id)].after[key] { return known >= 0 ? known : nil }
        let (bits, entry) = (results[Int(result)], children[Int(child)])
        var next: Int32 = -1
        if let part = entry.part, let outcome = entry.outcome {
            let closure = positions[Int(objects[Int(id)].position)].closure
            var state = entered(objects[Int(id)], closure, outcome, part)
            settle(part, bits, evaluators: Bits(), &state.failed, &state.open)
            next = object(state)
            if objectResult(next) < 0, !takesAnotherProperty(next) { next = -1 }
        }
        objectInfo[Int(id)].after[key] = next
        return next >= 0 ? next : nil
    }

    /// Enters what a finished part violates. - Parameter evaluators: Schemas that evaluate it by its value.
    func settle(_ part: Part, _ bits: Bits, evaluators: Bits, _ failed: inout Bits, _ open: inout [Unevaluated]) {
        for (local, slots) in part.required where !slots.allSatisfy(bits.contains) { failed.insert(local) }
        for entry in part.conditional {
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

    func takesAnotherProperty(_ id: Int32) -> Bool {
        if let known = objectInfo[Int(id)].takesAnother { return known }
        let context = keyContext(positions[Int(objects[Int(id)].position)].closure)
        let answer = isLiveKey(context, id, StringAutomaton.start)
        objectInfo[Int(id)].takesAnother = answer
        return answer
    }

    // MARK: Names

    func beginKey(_ state: inout JSONState) -> Bool {
        (state.mode, state.sub, state.code, state.text, state.count) = (.key, 0, 0, 0, 0)
        return takesAnotherProperty(frames[Int(state.frame)].state)
    }

    func isLiveKey(_ context: KeyContext, _ object: Int32, _ text: Int32) -> Bool {
        if context.isPlain, propertyChild(object, KeyOutcome()) >= 0 { return true }
        if let known = objectInfo[Int(object)].liveKeys[text] { return known }
        if context.isPlain, context.automaton.component(text, 0) < 0 { return false }
        var known = objectInfo[Int(object)].liveKeys
        objectInfo[Int(object)].liveKeys = [:]
        let answer = context.automaton.canReach(text, &known, plan.terms) { end in
            (0...context.cuts.count).contains { level in
                propertyChild(object, outcome(context, end, level: level)) >= 0
            }
        }
        if context.automaton.isExhausted || plan.terms.isExhausted { isExhausted = true }
        objectInfo[Int(object)].liveKeys = known
        return answer
    }

    func key(_ state: inout JSONState, _ byte: UInt8) -> Bool {
        let object = frames[Int(state.frame)].state
        let context = keyContext(positions[Int(objects[Int(object)].position)].closure)
        if state.sub == 0, byte != UInt8(ascii: "\\") {
            guard byte == UInt8(ascii: "\"") else {
                return byte >= 0x20 && keyContent(&state, byte, context, object)
            }
            guard context.automaton.isBorder(state.text) else { return false }
            let child = propertyChild(object, outcome(context, state.text, level: context.level(Int(state.count))))
            guard child >= 0 else { return false }
            (state.mode, state.child, state.text, state.count) = (.colon, child, 0, 0)
            return true
        }
        if state.sub == 0 {
            guard context.automaton.isBorder(state.text) else { return false }
            if !options.anySpelling,
                !StringSyntax.mustBeEscaped.contains(where: { byte in
                    let next = context.automaton.step(state.text, byte, plan.terms)
                    return next >= 0 && isLiveKey(context, object, next)
                })
            {
                return false
            }
        }
        var escape = Escape(state)
        switch escape.step(byte, needed: !options.anySpelling, free: false) {
        case .refused: return false
        case .inside:
            (state.sub, state.code) = (escape.sub, escape.code)
            return true
        case .character(let character):
            (state.sub, state.code) = (0, 0)
            for byte in CharacterSet.encode(character) where !keyContent(&state, byte, context, object) { return false }
            return true
        }
    }

    private func keyContent(_ state: inout JSONState, _ byte: UInt8, _ context: KeyContext, _ object: Int32) -> Bool {
        if byte & 0xc0 != 0x80, !context.cuts.isEmpty { state.count &+= 1 }
        let next = context.automaton.step(state.text, byte, plan.terms)
        guard next >= 0 else { return false }
        state.text = next
        return isLiveKey(context, object, next)
    }
}
