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
        /// Value of `clock` when memory was last counted, and the number of counts.
        var counted = (clock: 0, times: 0)

        struct Entry {
            var constraint: Constraint
            /// Value of `clock` at the last use.
            var used: Int
            /// Memory at the last count.
            var bytes = 0
        }
    }

    /// Maximum number of cached constraints: an agent offers hundreds of tools, each with a schema.
    static let capacity = 2048
    /// Maximum bytes of their states and masks together.
    static let maximumBytes = 128 << 20
    /// Counts of the memory of constraints used since the last count, to one of the memory of all.
    static let wholeCountInterval = 32

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
        return compiled.values[place].constraint
    }

    fileprivate mutating func add(_ constraint: Constraint, _ source: Constraint.Source) {
        compiled[source] = Entry(constraint: constraint, used: clock)
        shrink()
    }

    /// Evicts the least recently used constraints until the rest fits `maximumBytes` and `capacity`. They grow while they
    /// are used.
    private mutating func shrink() {
        var total = 0
        let countsAll = counted.times % ConstraintStore.wholeCountInterval == 0
        for place in compiled.indices {
            if countsAll || compiled.values[place].used > counted.clock {
                compiled.values[place].bytes = compiled.values[place].constraint.bytes
            }
            total += compiled.values[place].bytes
        }
        counted = (clock - 1, counted.times + 1)
        guard total > ConstraintStore.maximumBytes || compiled.count > ConstraintStore.capacity else { return }
        for (source, entry) in compiled.sorted(by: { $0.value.used < $1.value.used }) {
            guard total > ConstraintStore.maximumBytes || compiled.count > ConstraintStore.capacity else { return }
            compiled[source] = nil
            total -= entry.bytes
        }
    }
}
