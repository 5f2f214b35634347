/// How names are read in objects with a given closure.
final class KeyContext {
    /// Owns the context; the machine owns both.
    unowned let closure: Closure
    /// Atom 0 is the set of known names, then the patterns, then the atoms of `propertyNames`.
    let automaton: StringAutomaton
    let places: [Int: Int]
    let cuts: [Int]
    /// Whether all unknown names have the same outcome.
    let isPlain: Bool
    var outcomes: [UInt64: KeyOutcome] = [:]
    /// By state of the automaton: if the context is plain, tokens that continue known names; otherwise the mask.
    var names: [Int32: NameTokens] = [:]
    var masks: [Int32: LexemeMask] = [:]
    /// Outcomes of unknown names, with the states of the automaton from which a name can have them.
    var common: [(outcome: KeyOutcome, reachable: [Int32: Bool])] = [(KeyOutcome(), [:])]
    static let maximumCommon = 2
    private var loops = LoopTable()

    init(closure: Closure, automaton: StringAutomaton, places: [Int: Int], cuts: [Int]) {
        self.closure = closure
        self.automaton = automaton
        self.places = places
        self.cuts = cuts
        isPlain = closure.patterns.isEmpty && closure.nameSchemas.isEmpty
    }

    func level(_ count: Int) -> Int { cuts.count { $0 <= count } }

    /// The kinds of content that leave a state of the automaton unchanged. The state must be between two characters.
    @inline(__always)
    func loop(_ state: Int32, _ terms: RegexTerms) -> ContentKinds {
        loops.kinds(state) { automaton.step($0, $1, terms) }
    }
}

extension JSONMachine {
    func keyContext(_ closure: Closure) -> KeyContext {
        if let known = closure.keys { return known }
        var atoms: [StringAtom] = [.members(closure.nameSet)]
        var (places, cuts) = ([Int: Int](), Set<Int>())
        func add(_ atom: Int) {
            guard places[atom] == nil else { return }
            places[atom] = atoms.count
            atoms.append(self.atom(atom))
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
            closure: closure, automaton: StringAutomaton(atoms, terms, budget), places: places, cuts: cuts.sorted())
        closure.keys = context
        return context
    }

    /// The outcome of a name that ends in this state of the automaton.
    func outcome(_ context: KeyContext, _ text: Int32, level: Int) -> KeyOutcome {
        let key = UInt64(UInt32(bitPattern: text)) << 32 | UInt64(level)
        if let known = context.outcomes[key] { return known }
        var outcome = KeyOutcome()
        outcome.name = context.automaton.result(text, 0, terms)
        for (index, atom) in context.closure.patterns.enumerated() {
            if let place = context.places[atom], context.automaton.result(text, place, terms) >= 0 {
                outcome.patterns.insert(index)
            }
        }
        let facts = StringFacts(
            matches: { atom in
                context.places[atom].map { context.automaton.result(text, $0, self.terms) >= 0 } ?? false
            },
            isAtLeast: { count in count == 0 || context.cuts.firstIndex(of: count).map { $0 < level } ?? false })
        for (index, entry) in context.closure.nameSchemas.enumerated() {
            var evaluation = Evaluation(closure([entry.node]))
            if evaluation.value(0, true, self, facts) != Requirements.yes { outcome.refusals.insert(index) }
        }
        context.outcomes[key] = outcome
        if outcome.name < 0, context.common.count < KeyContext.maximumCommon, outcome != context.common[0].outcome {
            context.common.append((outcome, [:]))
        }
        return outcome
    }

    func beginKey(_ state: inout JSONState) -> Bool {
        (state.mode, state.text) = (.key, TextPoint())
        return takesAnotherProperty(frames[Int(state.frame)].state)
    }

    /// Whether a name with this prefix can be completed. - Parameter text: State of the context's automaton.
    func isLiveKey(_ context: KeyContext, _ object: Int32, _ text: Int32) -> Bool {
        if context.isPlain {
            return takesOtherNames(object) || isLiveName(context, object, context.automaton.component(text, 0))
        }
        if let known = objectInfo[Int(object)].liveKeys[text] { return known }
        if isCommonlyLive(context, object, text) {
            objectInfo[Int(object)].liveKeys[text] = true
            return true
        }
        var known = objectInfo[Int(object)].liveKeys
        let count = known.count
        objectInfo[Int(object)].liveKeys = [:]
        let answer = context.automaton.canReach(text, &known, terms) { end in
            (0...context.cuts.count).contains { level in
                propertyChild(object, outcome(context, end, level: level)) >= 0
            }
        }
        objectBytes += (known.count - count) * 16
        objectInfo[Int(object)].liveKeys = known
        return answer
    }

    /// Whether the name can have one of the `common` outcomes that the object accepts.
    private func isCommonlyLive(_ context: KeyContext, _ object: Int32, _ text: Int32) -> Bool {
        for index in context.common.indices {
            let outcome = context.common[index].outcome
            guard propertyChild(object, outcome) >= 0 else { continue }
            var known = context.common[index].reachable
            context.common[index].reachable = [:]
            let isReachable = context.automaton.canReach(text, &known, terms) { end in
                (0...context.cuts.count).contains { self.outcome(context, end, level: $0) == outcome }
            }
            context.common[index].reachable = known
            if isReachable { return true }
        }
        return false
    }

    /// Whether the object accepts a name that no schema mentions.
    @inline(__always)
    func takesOtherNames(_ object: Int32) -> Bool { propertyChild(object, KeyOutcome()) >= 0 }

    /// Whether a known name below this node of the tree of names is accepted.
    private func isLiveName(_ context: KeyContext, _ object: Int32, _ node: Int32) -> Bool {
        let set = context.closure.nameSet
        // Names outside of this range are refused; most subtrees have no others.
        let first = options.anySpelling ? 0 : objects[Int(object)].last + 1
        let last = options.anySpelling ? .max : lastName(object)
        guard first <= last, node >= 0, set.hasMember(in: first...last, below: node) else { return false }
        if let known = objectInfo[Int(object)].liveKeys[node] { return known }
        // Parents are recorded so that the whole path is known to be live once an end is found.
        var (pending, parents) = ([node], [node: Int32(-1)])
        while let current = pending.popLast() {
            let name = set.member(at: current)
            let isLive = objectInfo[Int(object)].liveKeys[current]
            if isLive ?? (name >= 0 && propertyChild(object, KeyOutcome(name: name)) >= 0) {
                var at = current
                while at >= 0 {
                    objectInfo[Int(object)].liveKeys[at] = true
                    at = parents[at] ?? -1
                }
                return true
            }
            if isLive != nil { continue }
            for (_, child) in set.children(of: current) where set.hasMember(in: first...last, below: child) {
                parents[child] = current
                pending.append(child)
            }
        }
        for node in parents.keys { objectInfo[Int(object)].liveKeys[node] = false }
        objectBytes += parents.count * 16
        return false
    }

    func key(_ state: inout JSONState, _ byte: UInt8) -> Bool {
        let object = frames[Int(state.frame)].state
        let context = keyContext(positions[Int(objects[Int(object)].position)].closure)
        if state.text.sub != 0 || byte == UInt8(ascii: "\\") {
            return keyEscape(&state.text, byte, context, object)
        }
        guard byte == UInt8(ascii: "\"") else {
            return byte >= 0x20 && keyContent(&state.text, byte, context, object)
        }
        return endKey(&state, context, object)
    }

    /// Reads the quote that closes a name.
    private func endKey(_ state: inout JSONState, _ context: KeyContext, _ object: Int32) -> Bool {
        guard context.automaton.isBorder(state.text.state) else { return false }
        let level = context.level(Int(state.text.count))
        return endKey(&state, propertyChild(object, outcome(context, state.text.state, level: level)))
    }

    /// - Parameter child: The child for the name; -1 if it is rejected.
    func endKey(_ state: inout JSONState, _ child: Int32) -> Bool {
        guard child >= 0 else { return false }
        (state.mode, state.child, state.text) = (.colon, child, TextPoint())
        return true
    }

    @inline(__always)
    func keyContent(_ point: inout TextPoint, _ byte: UInt8, _ context: KeyContext, _ object: Int32) -> Bool {
        if byte & 0xc0 != 0x80, !context.cuts.isEmpty { point.count &+= 1 }
        point.state = context.automaton.step(point.state, byte, terms)
        return point.state >= 0 && isLiveKey(context, object, point.state)
    }

    /// Reads a byte of an escape in a name, backslash included.
    func keyEscape(_ point: inout TextPoint, _ byte: UInt8, _ context: KeyContext, _ object: Int32) -> Bool {
        let isFree = context.isPlain && takesOtherNames(object)
        if point.sub == 0 {
            guard context.automaton.isBorder(point.state) else { return false }
            if !options.anySpelling, !isFree {
                let isTaken = StringSyntax.mustBeEscaped.contains { byte in
                    let next = context.automaton.step(point.state, byte, terms)
                    return next >= 0 && isLiveKey(context, object, next)
                }
                guard isTaken else { return false }
            }
        }
        return escape(&point, byte, free: isFree) { keyContent(&$0, $1, context, object) }
    }
}
