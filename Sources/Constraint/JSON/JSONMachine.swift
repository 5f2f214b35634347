/// Reads JSON byte by byte under a schema.
///
/// JSON's syntax is deterministic, so there is always one state: the stack of open containers, and the position in or
/// between values. The requirements of the schemas are kept with the containers (`ObjectState`, `ArrayState`) and
/// passed to each value as a `Position`. Everything is created when first reached and numbered, so that states are
/// small values and results are computed once.
///
/// Not thread-safe: `Constraint` guards it.
final class JSONMachine {
    let plan: SchemaPlan
    let terms: RegexTerms
    let work = WorkMeter()
    let budget: StateBudget
    let options: JSONOptions
    let requirements: Requirements

    private(set) var closures: [Closure] = []
    private var closureIDs: [[SchemaNode.ID]: Int32] = [:]
    private(set) var positions: [Position] = []
    private struct PositionKey: Hashable {
        let slots: [SchemaNode.ID]
        let requirement: Requirements.ID
    }
    private var positionIDs: [PositionKey: Int32] = [:]
    var children: [Child] = []
    private(set) var frames: [Frame] = []
    /// By frame: whether the allowed text depends on earlier text, because items of this or an enclosing container must
    /// be unique.
    private var needTexts: [Bool] = []
    private var frameIDs: [Frame: Int32] = [:]

    var objects: [ObjectState] = []
    var objectIDs: [ObjectState: Int32] = [:]
    var objectInfo: [ObjectInfo] = []
    /// Estimated bytes of all cached `ObjectInfo` and of the names in `objects`; counts towards `entries`.
    var objectBytes = 0
    var members: [MemberKey: Member] = [:]

    var arrays: [ArrayState] = []
    var arrayIDs: [ArrayState: Int32] = [:]
    var arrayInfo: [ArrayInfo] = []
    var itemIDs: [[UInt8]: Int32] = [:]

    private(set) var results: [Bits] = [Bits()]
    private var resultIDs: [Bits: Int32] = [Bits(): 0]

    /// The text so far and, while the vocabulary is walked, its continuation; only kept if items must be unique.
    var text: [UInt8] = []
    let needsText: Bool
    /// Whether the tables exceed the budget: later answers are not exact.
    var isExhausted: Bool { isFull || budget.isExhausted || terms.isExhausted || work.isStopped }
    var isFull = false
    static let maximumEntries = 400_000

    private(set) var start: JSONState

    /// The remainders that may follow a quote, by the state after it.
    var remainders: [JSONState: MaskWalker.Remainders] = [:]
    /// Bytes that masks of strings and names may still take; beyond, they are worked out each time.
    var maskBytesLeft = JSONMachine.maximumMaskBytes
    private static let maximumMaskBytes = 24 << 20

    var bytes: Int {
        budget.bytes + terms.bytes + entries * 200 + Self.maximumMaskBytes - maskBytesLeft
    }

    init(_ plan: SchemaPlan, _ options: JSONOptions) {
        self.plan = plan
        terms = plan.terms.copy(work)
        budget = StateBudget(work)
        requirements = Requirements(work)
        self.options = options
        needsText = plan.nodes.contains { $0.arrays.isUnique }
        frames = [Frame(parent: -1, child: -1, isArray: false, state: -1)]
        needTexts = [false]
        start = JSONState(frame: 0, child: 0)
        var slots = [plan.root]
        if plan.nodes[Int(plan.root)].isFree { slots = [] }
        let requirement = slots.isEmpty ? Requirements.yes : requirements.result(0, true)
        children = [Child(position: position(slots, requirement).id, member: nil, outcome: nil)]
        // Where no value may follow, neither may a space.
        start.takesSpace = options.whitespace == .separators && isSatisfiable
    }

    /// Total entries of all tables.
    var entries: Int {
        frames.count + objects.count + arrays.count + children.count + itemIDs.count + positions.count * 4
            + requirements.formulas.count + objectBytes / 200
    }

    /// Whether any text is valid, judged without looking into values.
    var isSatisfiable: Bool { !positions[Int(children[0].position)].types.isEmpty }

    // MARK: Interning

    func frame(_ frame: Frame) -> Int32 {
        if let id = frameIDs[frame] { return id }
        if frames.count >= Self.maximumEntries { isFull = true }
        work.spend(4)
        frames.append(frame)
        let isUnique = frame.isArray && positions[Int(arrays[Int(frame.state)].position)].closure.isUnique
        needTexts.append(isUnique || needTexts[Int(frame.parent)])
        frameIDs[frame] = Int32(frames.count - 1)
        return Int32(frames.count - 1)
    }

    /// A representative of the states with the same mask; `nil` if the mask depends on earlier text too.
    /// - Parameter longest: Maximum characters of a token.
    func maskKey(_ state: JSONState, longest: Int) -> JSONState? {
        if needsText, needTexts[Int(state.frame)] { return nil }
        guard state.mode == .string, state.text.count > 0, state.text.sub == 0,
            let text = positions[Int(children[Int(state.child)].position)].text
        else { return state }
        // Lengths between two cuts are equivalent if no token reaches the next cut.
        let (count, level) = (Int(state.text.count), text.level(Int(state.text.count)))
        guard level == text.cuts.count || count + longest < text.cuts[level] else { return state }
        var key = state
        key.text.count = level == 0 ? 0 : Int32(clamping: text.cuts[level - 1])
        return key
    }

    func result(_ bits: Bits) -> Int32 {
        if let id = resultIDs[bits] { return id }
        results.append(bits)
        resultIDs[bits] = Int32(results.count - 1)
        return Int32(results.count - 1)
    }

    func closure(_ nodes: [SchemaNode.ID]) -> Closure {
        if let id = closureIDs[nodes] { return closures[Int(id)] }
        let closure = Closure(id: Int32(closures.count), nodes, plan)
        work.spend(closure.locals.count + closure.names.count)
        closureIDs[nodes] = closure.id
        closures.append(closure)
        return closure
    }

    func position(_ slots: [SchemaNode.ID], _ requirement: Requirements.ID) -> Position {
        let key = PositionKey(slots: slots, requirement: requirement)
        if let id = positionIDs[key] { return positions[Int(id)] }
        work.spend(16)
        let position = Position(
            id: Int32(positions.count), slots: slots, requirement: requirement, closure: closure(slots))
        positionIDs[key] = position.id
        positions.append(position)
        prepare(position)
        return position
    }

    /// The results of the slots from exact facts, if they satisfy the position.
    func finish(_ position: Position, _ facts: some Facts) -> Bits? {
        var evaluation = Evaluation(position.closure)
        var bits = Bits()
        for (slot, local) in position.closure.slots.enumerated()
        where evaluation.value(local, true, self, facts) == Requirements.yes {
            bits.insert(slot)
        }
        return requirements.holds(position.requirement, bits) ? bits : nil
    }

    /// The position's requirement after substituting the facts on the value.
    func residual(_ position: Position, _ facts: some Facts) -> Requirements.ID {
        var evaluation = Evaluation(position.closure)
        return requirements.substitute(position.requirement) { slot, isValid in
            evaluation.value(position.closure.slots[slot], isValid, self, facts)
        }
    }

    private func prepare(_ position: Position) {
        for type: TypeSet in [.integer, .fraction, .string, .array, .object]
        where residual(position, TypeFacts(type: type)) != Requirements.no {
            position.types.insert(type)
        }
        for (index, value) in [nil, false, true].enumerated() {
            position.literals[index] = finish(position, LiteralFacts(value: value))
        }
        if position.literals[0] != nil { position.types.insert(.null) }
        if position.literals[1] != nil || position.literals[2] != nil { position.types.insert(.boolean) }
        if !position.types.isDisjoint(with: .number) { prepareNumbers(position) }
        if position.types.contains(.string) {
            let text = makeText(position)
            position.text = text
            if text.longest < 0 || !isLive(text, position) { position.types.remove(.string) }
        }
    }

    // MARK: Strings

    private func makeText(_ position: Position) -> TextContext {
        var (used, cuts) = (Set<Int>(), Set<Int>())
        for local in position.closure.locals {
            let node = plan.nodes[Int(local.node)]
            guard node.types.contains(.string) else { continue }
            if let list = node.enumeration {
                if let strings = list.strings { used.insert(strings) }
                continue
            }
            used.formUnion(node.strings.atoms)
            if node.strings.minimum > 0 { cuts.insert(node.strings.minimum) }
            if node.strings.maximum != .max { cuts.insert(node.strings.maximum + 1) }
        }
        let atoms = used.sorted()
        let places = Dictionary(uniqueKeysWithValues: atoms.enumerated().map { ($1, $0) })
        let text = TextContext(automaton(atoms, position), places: places, cuts: cuts.sorted())
        // Find the longest allowed length from above, with unconstrained atoms.
        text.longest = -1
        for level in stride(from: text.cuts.count, through: 0, by: -1) {
            let facts = StringFacts(matches: nil) { count in
                count == 0 || text.cuts.firstIndex(of: count).map { $0 < level } ?? true
            }
            if residual(position, facts) != Requirements.no {
                text.longest = level == text.cuts.count ? .max : text.cuts[level] - 1
                break
            }
        }
        return text
    }

    private lazy var freeAutomaton = LiveAutomaton(StringAutomaton([], terms, budget))
    /// Automata of strings that match all of some atoms, by those atoms.
    private var conjunctions: [[Int]: LiveAutomaton] = [:]

    private var formats: [Int: StringAtom] = [:]

    /// - Parameter index: In the plan's atoms.
    func atom(_ index: Int) -> StringAtom {
        switch plan.atoms[index] {
        case .text(let atom): return atom
        case .format(let source):
            if let known = formats[index] { return known }
            // Fails only if the terms are exhausted, which ends the work.
            let atom = StringAtom.pattern((try? RegexParser.search(source, in: terms)) ?? RegexTerms.never)
            formats[index] = atom
            return atom
        }
    }

    /// - Parameter atoms: Indices in the plan.
    private func automaton(_ atoms: [Int], _ position: Position) -> LiveAutomaton {
        if atoms.isEmpty { return freeAutomaton }
        // Positions that require all atoms to match share an automaton: the accepting states are the same.
        let isShared = isConjunction(position)
        if isShared, let known = conjunctions[atoms] { return known }
        let live = LiveAutomaton(StringAutomaton(atoms.map(atom), terms, budget))
        if isShared { conjunctions[atoms] = live }
        return live
    }

    /// Whether a string must satisfy all schemas of the position.
    private func isConjunction(_ position: Position) -> Bool {
        guard position.slots.count == 1, position.requirement == requirements.result(0, true) else { return false }
        return position.closure.locals.allSatisfy { local in
            let node = plan.nodes[Int(local.node)]
            guard node.types.contains(.string), node.enumeration.map({ $0.strings != nil }) ?? true else {
                return false
            }
            return local.applicators.allSatisfy { if case .all = $0 { true } else { false } }
        }
    }

    /// Whether the position accepts any string.
    private func isLive(_ text: TextContext, _ position: Position) -> Bool {
        text.isFree || text.live.isLive(StringAutomaton.start, terms) { mayEnd(text, $0, position) }
    }

    /// Whether a string of some length may end in a state.
    private func mayEnd(_ text: TextContext, _ state: Int32, _ position: Position) -> Bool {
        (0...text.cuts.count).contains { textResult(text, state, level: $0, position) >= 0 }
    }

    /// The state after a byte of content; -1 if it is not allowed or no accepted string continues this way.
    @inline(__always)
    func next(_ text: TextContext, _ state: Int32, _ byte: UInt8, _ position: Position) -> Int32 {
        if text.isFree { return text.automaton.step(state, byte, terms) }
        return text.live.step(state, byte, terms) { mayEnd(text, $0, position) }
    }

    /// The kinds of content that leave a state unchanged. The state must be between two characters.
    @inline(__always)
    func loop(_ text: TextContext, _ state: Int32, _ position: Position) -> ContentKinds {
        text.live.loop(state, terms) { mayEnd(text, $0, position) }
    }

    /// Whether every continuation can be completed.
    func isOpen(_ text: TextContext, _ state: Int32, _ position: Position) -> Bool {
        !text.isFree && isConjunction(position) && text.live.isOpen(state, terms) { mayEnd(text, $0, position) }
    }

    /// Number of the results of a string that ends here; -1 if it must not.
    func textResult(_ text: TextContext, _ state: Int32, level: Int, _ position: Position) -> Int32 {
        let key = UInt64(UInt32(bitPattern: text.isFree ? 0 : state)) << 32 | UInt64(level)
        if let known = text.results[key] { return known }
        let facts = StringFacts(
            matches: { atom in
                text.places[atom].map { text.automaton.result(state, $0, self.terms) >= 0 } ?? false
            },
            isAtLeast: { count in count == 0 || text.cuts.firstIndex(of: count).map { $0 < level } ?? false })
        let answer = finish(position, facts).map(result) ?? -1
        text.results[key] = answer
        return answer
    }
}

/// The JSON notation to accept.
struct JSONOptions: Sendable, Hashable {
    var whitespace = Constraint.JSONStyle.Whitespace.separators
    /// Whether properties may come in any order, and numbers and strings in any notation. If not, properties come in
    /// the schema's order, integers are digits only, and characters are escaped only where necessary.
    var anySpelling = false
}

/// The position in a JSON text.
struct JSONState: Hashable {
    enum Mode: UInt8 {
        /// Before a value.
        case value
        /// After `{`, after a comma in an object, in a name, after a name.
        case objectStart, objectNext, key, colon
        /// After `[`.
        case arrayStart
        /// After a value in a container.
        case after
        case string, number, literal
        /// The text is complete.
        case done
    }

    var frame: Int32
    /// The current or next value; undefined while a name is read.
    var child: Int32
    var mode = Mode.value
    /// In numbers the syntax state; in literals which one and how far.
    var sub: UInt8 = 0
    /// In strings and names.
    var text = TextPoint()
    /// Whether an item has ended whose text is unknown, so that it may equal another.
    var isUnsure = false
    /// Whether a space may come next.
    var takesSpace = false
    var number = NumberState()

    init(frame: Int32, child: Int32) {
        self.frame = frame
        self.child = child
    }
}
