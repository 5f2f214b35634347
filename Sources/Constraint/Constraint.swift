import Synchronization

/// A constraint on text, from which the tokens that may come next are computed at each position.
///
/// Created by `compile`; any number of texts on any threads may share it, and share the states and masks computed so
/// far. A `ConstraintMatcher` follows one text.
public final class Constraint: Sendable {
    /// The constraint in source form.
    public enum Source: Sendable, Hashable {
        /// A JSON Schema, drafts 4 to 2020-12, as JSON text.
        case jsonSchema(String, JSONStyle = .init())
        /// Any JSON object, for `response_format: json_object`.
        case jsonObject(JSONStyle = .init())
        /// A regular expression (ECMA 262) that must match the whole text.
        case regex(String)
        /// A grammar in GBNF, llama.cpp's format; the text must match its rule `root`.
        case grammar(String)
        /// A grammar in Lark's format; the text must match its rule `start`.
        case lark(String, in: TextNotation = .plain)
        /// One of these texts.
        case choice([String])
    }

    /// How the text of a grammar is written down.
    public enum TextNotation: Sendable, Hashable {
        case plain
        /// As a JSON string, with its quotation marks.
        case jsonString
        /// As the only member of a JSON object: `{"name":"text"}`.
        case jsonMember(String)
    }

    /// The JSON notation to accept.
    public struct JSONStyle: Sendable, Hashable {
        /// White space between JSON tokens.
        public enum Whitespace: Sendable, Hashable {
            /// No white space between values.
            case compact
            /// At most one space: after a colon, after a comma and before the text. Covers the two notations that models
            /// are taught, compact JSON and the separators `, ` and `: ` of Python's and the chat templates' writers.
            case separators
            /// Wherever JSON allows it.
            case free
        }

        public var whitespace: Whitespace
        /// Whether to accept every valid JSON text: properties in any order, numbers and characters in any notation. If
        /// false, the canonical notation for models is enforced: properties in the schema's order with additional ones
        /// after them, integers as digits, and characters escaped only where necessary. If true, `format` is an
        /// annotation in schemas that declare draft 2020-12 by `$schema`, as that draft says.
        public var anySpelling: Bool
        /// Whether keywords that cannot be enforced are dropped instead of rejected, and listed in
        /// `Constraint.unenforced`. The constraint then allows everything that the schema allows, and more.
        public var dropsUnenforceable: Bool

        public init(
            whitespace: Whitespace = .separators, anySpelling: Bool = false, dropsUnenforceable: Bool = false
        ) {
            self.whitespace = whitespace
            self.anySpelling = anySpelling
            self.dropsUnenforceable = dropsUnenforceable
        }

        var options: JSONOptions { JSONOptions(whitespace: whitespace, anySpelling: anySpelling) }
    }

    /// The vocabulary that masks refer to.
    public let vocabulary: TokenVocabulary
    /// False if no text satisfies the constraint, as with the schema `false`; masks are then empty from the start.
    ///
    /// True is no guarantee: only the types of the outermost value are checked.
    public let isSatisfiable: Bool
    private let blueprint: Blueprint
    private let runtime: Mutex<Runtime>
    private let start: MachineState
    /// What `bytes` says, counted in the vocabulary's memory as well.
    private let counted = Atomic<Int>(0)

    /// The source from which machines are created; immutable.
    enum Blueprint: Sendable {
        case json(SchemaPlan, JSONOptions)
        case text(StringAtom, RegexTerms)
        case grammar(Grammar)
    }

    /// The machine with its cache of states and masks. Replaced by a new one when it exceeds its budget.
    struct Runtime: Sendable {
        var machine: Machine
        var start: MachineState
        /// Number of replacements: states are valid only in the machine of their epoch.
        var epoch = 0
        var masks: [MachineState: [UInt64]] = [:]
        /// Texts after which a new machine exceeded its budget too, so that no other is tried for them.
        var refused: Set<[UInt8]> = []
        /// Bytes after the last replacement.
        var baseline = 0

        func bytes(_ vocabulary: TokenVocabulary) -> Int { machine.bytes + masks.count * (vocabulary.count / 8 + 200) }
    }

    /// Bytes of all constraints with the same `ConstraintMemory` from which on the larger ones begin anew.
    static let maximumBytes = 256 << 20
    /// Bytes that each constraint may have then.
    static let fairBytes = maximumBytes / 32

    private static let maximumRefused = 100
    /// Units of work of a call apart from what the machine counts.
    private static let unitsPerCall = 4

    /// Ends if its task is cancelled, and after 10 s of processor time.
    ///
    /// - Throws: `ConstraintError`, which names the keyword and its JSON path, or the place in the expression.
    public static func compile(_ source: Source, vocabulary: TokenVocabulary) throws(ConstraintError) -> Constraint {
        guard let allowance = TimeAllowance.current else {
            return try TimeAllowance().run { () throws(ConstraintError) in
                try compile(source, vocabulary: vocabulary)
            }
        }
        let result = Result { () throws(ConstraintError) in try make(source, vocabulary) }
        // Whatever else the error says, the work was not finished.
        if allowance.isOver { throw allowance.error }
        return try result.get()
    }

    private static func make(_ source: Source, _ vocabulary: TokenVocabulary) throws(ConstraintError) -> Constraint {
        switch source {
        case .jsonSchema(let text, let style):
            let plan = try SchemaCompiler.compile(
                Array(text.utf8)[...], dropsUnenforceable: style.dropsUnenforceable,
                enforcesFormats: !style.anySpelling)
            return try Constraint(.json(plan, style.options), vocabulary)
        case .jsonObject(let style):
            let plan = try SchemaCompiler.compile(Array(#"{"type":"object"}"#.utf8)[...])
            return try Constraint(.json(plan, style.options), vocabulary)
        case .regex(let pattern):
            let terms = RegexTerms()
            let term: RegexTerms.ID
            do {
                term = try RegexParser.parse(pattern, into: terms)
            } catch {
                throw ConstraintError(.regex, "", error.message)
            }
            return try Constraint(.text(.pattern(term), terms), vocabulary)
        case .choice(let texts):
            guard !texts.isEmpty else { throw ConstraintError(.choice, "", "at least one text is expected") }
            return try Constraint(.text(.members(StringSet(texts.map { Array($0.utf8) })), RegexTerms()), vocabulary)
        case .grammar(let text): return try Constraint(.grammar(try GBNFReader.read(text)), vocabulary)
        case .lark(let text, let notation):
            return try Constraint(.grammar(try LarkReader.read(text, in: notation)), vocabulary)
        }
    }

    private init(_ blueprint: Blueprint, _ vocabulary: TokenVocabulary) throws(ConstraintError) {
        self.blueprint = blueprint
        self.vocabulary = vocabulary
        let first = Self.makeRuntime(blueprint, epoch: 0)
        if first.machine.work.isStopped { throw first.machine.work.error }
        start = first.start
        runtime = Mutex(first)
        isSatisfiable = runtime.withLock { runtime in
            switch runtime.machine {
            case .json(let machine): machine.isSatisfiable
            case .text(let machine): machine.isSatisfiable
            case .grammar(let machine): machine.isSatisfiable
            }
        }
        runtime.withLock { count($0) }
    }

    deinit { vocabulary.memory.bytes.subtract(counted.load(ordering: .relaxed), ordering: .relaxed) }

    private func count(_ runtime: borrowing Runtime) {
        let bytes = runtime.bytes(vocabulary)
        let before = counted.exchange(bytes, ordering: .relaxed)
        if bytes != before { vocabulary.memory.bytes.add(bytes - before, ordering: .relaxed) }
    }

    private static func makeRuntime(_ blueprint: Blueprint, epoch: Int) -> Runtime {
        switch blueprint {
        case .json(let plan, let options):
            let machine = JSONMachine(plan, options)
            return Runtime(machine: .json(machine), start: .json(machine.start), epoch: epoch)
        case .text(let atom, let terms):
            return Runtime(machine: .text(TextMachine(atom, terms)), start: .text(StringAutomaton.start), epoch: epoch)
        case .grammar(let grammar):
            let machine = GrammarMachine(grammar)
            return Runtime(machine: .grammar(machine), start: .grammar(machine.start), epoch: epoch)
        }
    }

    /// Roughly the bytes of what was worked out for texts so far.
    package var bytes: Int { counted.load(ordering: .relaxed) }

    /// Keywords of a schema that are not enforced, as `#/path: reason`; not more than 16. Unknown values of `format` are
    /// never enforced: they are annotations.
    public var unenforced: [String] {
        if case .json(let plan, _) = blueprint { plan.unenforced } else { [] }
    }

    /// A matcher at the begin of a text.
    ///
    /// Never waits for other texts: whether the machine is still the first one turns out when the matcher is used.
    public func matcher() -> ConstraintMatcher { ConstraintMatcher(self, start, 0) }

    // MARK: For matchers

    /// A state, with the epoch of the machine that it belongs to.
    struct EpochState {
        var state: MachineState
        var epoch: Int
    }

    /// Runs `body` on the current machine. If the machine was replaced since, the text is read again first.
    /// - Parameter text: The text accepted so far.
    /// - Throws: `ConstraintError` of kind `budget`.
    func with<R>(
        _ place: inout EpochState, text: [UInt8], _ body: (inout Runtime, inout MachineState) -> R
    ) throws(ConstraintError) -> R {
        let outcome: Result<R, ConstraintError> = runtime.withLock { runtime in
            let tooManyStates = ConstraintError(
                .budget, "", "following the text takes more states than are granted")
            guard !runtime.refused.contains(text) else { return .failure(tooManyStates) }
            defer { count(runtime) }
            let isLarge = bytes > max(Self.fairBytes, 2 * runtime.baseline)
            if isLarge, vocabulary.memory.bytes.load(ordering: .relaxed) > Self.maximumBytes { replace(&runtime) }
            for _ in 0..<2 {
                if place.epoch == runtime.epoch, !runtime.machine.isExhausted {
                    runtime.machine.work.begin()
                    runtime.machine.work.spend(Self.unitsPerCall)
                    var state = place.state
                    let result = body(&runtime, &state)
                    if !runtime.machine.isExhausted {
                        place.state = state
                        return .success(result)
                    }
                    // The next one who needs the machine replaces it.
                    if runtime.machine.work.isStopped { return .failure(runtime.machine.work.error) }
                }
                if runtime.machine.isExhausted { replace(&runtime) }
                place = EpochState(state: runtime.start, epoch: runtime.epoch)
                let read = runtime.read(text, &place.state, after: [])
                runtime.baseline = max(runtime.baseline, runtime.bytes(vocabulary))
                if runtime.machine.work.isStopped { return .failure(runtime.machine.work.error) }
                guard read == text.count, !runtime.machine.isExhausted else { break }
            }
            if runtime.refused.count < Self.maximumRefused { runtime.refused.insert(text) }
            return .failure(tooManyStates)
        }
        return try outcome.get()
    }

    private func replace(_ runtime: inout Runtime) {
        let refused = runtime.refused
        runtime = Self.makeRuntime(blueprint, epoch: runtime.epoch + 1)
        runtime.refused = refused
    }
}

extension Constraint.Runtime {
    /// Reads bytes up to the first that is not allowed. - Returns: Their number; `state` is then the one after them.
    func read(_ bytes: [UInt8], _ state: inout MachineState, after text: [UInt8]) -> Int {
        switch (machine, state) {
        case (.json(let machine), .json(var current)):
            if machine.needsText { machine.text = text + bytes }
            for (index, byte) in bytes.enumerated() {
                let before = current
                guard machine.step(&current, byte, at: text.count + index) else {
                    state = .json(before)
                    return index
                }
            }
            state = .json(current)
        case (.text(let machine), .text(let current)):
            let (count, last) = Self.read(bytes, current) { machine.step($0, $1) }
            state = .text(last)
            return count
        case (.grammar(let machine), .grammar(let current)):
            let (count, last) = Self.read(bytes, current) { machine.step($0, $1) }
            state = .grammar(last)
            return count
        default: return 0
        }
        return bytes.count
    }

    /// Reads bytes in a machine with numbered states. - Returns: The number of accepted bytes, and the state after
    /// them.
    private static func read(
        _ bytes: [UInt8], _ state: Int32, step: (Int32, UInt8) -> Int32
    ) -> (count: Int, state: Int32) {
        var state = state
        for (index, byte) in bytes.enumerated() {
            let next = step(state, byte)
            guard next >= 0 else { return (index, state) }
            state = next
        }
        return (bytes.count, state)
    }

    func isComplete(_ state: MachineState) -> Bool {
        switch (machine, state) {
        case (.json(let machine), .json(let state)): machine.isComplete(state)
        case (.text(let machine), .text(let state)): machine.isComplete(state)
        case (.grammar(let machine), .grammar(let state)): machine.isComplete(state)
        default: false
        }
    }

    /// Maximum number of cached masks; those that took long or are likely to recur are cached.
    private static let maximumMasks = 256

    mutating func fill(
        _ mask: inout TokenMask, _ state: MachineState, after text: [UInt8], _ vocabulary: TokenVocabulary
    ) {
        var key: MachineState? = state
        if case (.json(let machine), .json(let state)) = (machine, state) {
            key = machine.maskKey(state, longest: vocabulary.text.longest).map { .json($0) }
        }
        if let key, let known = masks[key] {
            mask.words = known
            return
        }
        mask.removeAll()
        var isWorthKeeping = false
        mask.words.withUnsafeMutableBufferPointer { words in
            guard let words = words.baseAddress else { return }
            switch (machine, state) {
            case (.json(let machine), .json(let state)):
                if machine.needsText { machine.text = text }
                let walker = MaskWalker(machine, vocabulary, words, offset: text.count)
                walker.fill(state)
                machine.work.spend(walker.visited / 16)
                isWorthKeeping = walker.visited > 300 || state.mode == .string
            case (.text(let machine), .text(let state)):
                machine.fill(words, from: state, vocabulary)
                isWorthKeeping = true
            case (.grammar(let machine), .grammar(let state)):
                machine.fill(words, from: state, vocabulary)
                isWorthKeeping = true
            default: break
            }
        }
        if isComplete(state) { for token in vocabulary.endOfGeneration { mask.insert(token) } }
        if isWorthKeeping, let key {
            if masks.count >= Self.maximumMasks { masks.removeAll() }
            masks[key] = mask.words
        }
    }
}
