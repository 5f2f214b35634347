import Constraint
import Synchronization
import Tokenizer

/// A model's vocabulary in the form that constraints need, built on first use, and the recently compiled constraints.
final class ConstraintStore: Sendable {
    fileprivate struct Contents {
        var vocabulary: TokenVocabulary?
        var compiled: [Constraint.Source: Entry] = [:]
        /// Number of uses so far.
        var clock = 0

        struct Entry {
            let constraint: Constraint
            /// Roughly those of the source and what it was compiled to.
            let sourceBytes: Int
            /// Value of `clock` at the last use.
            var used: Int
            var bytes: Int { sourceBytes + constraint.bytes }
        }
    }

    /// Maximum number of cached constraints: an agent offers hundreds of tools, each with a schema.
    static let capacity = 2048
    /// Maximum bytes of their states and masks together.
    static let maximumBytes = 128 << 20
    /// Uses after which the memory is counted again, since constraints grow while they are used.
    static let countInterval = 32

    private let contents = Mutex(Contents())
    /// Control tokens of the model's tool call markup.
    private let markers: Set<Int32>

    init(markers: Set<Int32>) { self.markers = markers }

    func constraint(
        _ source: Constraint.Source, _ tokenizer: TextTokenizer
    ) throws(ConstraintError) -> Constraint {
        if let known = contents.withLock({ $0.use(source) }) { return known }
        // Outside the lock: a large schema takes time, and must not block other requests.
        let new = try Constraint.compile(source, vocabulary: vocabulary(of: tokenizer))
        return contents.withLock { contents in
            if let known = contents.use(source) { return known }
            contents.add(new, source)
            return new
        }
    }

    /// Bytes of the cached constraints.
    var bytes: Int { contents.withLock { $0.bytes } }

    /// Whether this is this model's vocabulary.
    func isOurs(_ vocabulary: TokenVocabulary) -> Bool { contents.withLock { $0.vocabulary === vocabulary } }

    func vocabulary(of tokenizer: TextTokenizer) -> TokenVocabulary {
        contents.withLock { contents in
            if let made = contents.vocabulary { return made }
            let new = TokenVocabulary(tokenizer, spoken: markers)
            contents.vocabulary = new
            return new
        }
    }
}

extension ConstraintStore.Contents {
    fileprivate mutating func use(_ source: Constraint.Source) -> Constraint? {
        clock += 1
        guard let place = compiled.index(forKey: source) else { return nil }
        compiled.values[place].used = clock
        let constraint = compiled.values[place].constraint
        if clock.isMultiple(of: ConstraintStore.countInterval) { shrink() }
        return constraint
    }

    fileprivate mutating func add(_ constraint: Constraint, _ source: Constraint.Source) {
        compiled[source] = Entry(constraint: constraint, sourceBytes: 24 * source.length, used: clock)
        shrink()
    }

    fileprivate var bytes: Int { compiled.values.reduce(0) { $0 + $1.bytes } }

    /// Evicts the least recently used constraints until the rest fits `maximumBytes` and `capacity`.
    private mutating func shrink() {
        var total = bytes
        guard total > ConstraintStore.maximumBytes || compiled.count > ConstraintStore.capacity else { return }
        for (source, entry) in compiled.sorted(by: { $0.value.used < $1.value.used }) {
            guard total > ConstraintStore.maximumBytes || compiled.count > ConstraintStore.capacity else { return }
            compiled[source] = nil
            total -= entry.bytes
        }
    }
}

extension Constraint.Source {
    /// Bytes of its text.
    fileprivate var length: Int {
        switch self {
        case .jsonSchema(let text, _), .regex(let text), .grammar(let text), .lark(let text, _): text.utf8.count
        case .choice(let texts): texts.reduce(0) { $0 + $1.utf8.count + 8 }
        case .jsonObject: 0
        }
    }
}
