package import Constraint
import Synchronization
package import Tokenizer

/// A model's vocabulary in the form that constraints need, built on first use, and the recently compiled constraints.
///
/// The control tokens that a constraint may write are those of the answer's markup. The templates of requests may have
/// others than the model's, so that there may be several vocabularies.
package final class ConstraintStore: Sendable {
    fileprivate struct Contents {
        /// The most recently used one comes last.
        var vocabularies: [(markers: Set<Int32>, vocabulary: TokenVocabulary)] = []
        /// Those, and evicted ones that are still in use.
        var made: [WeakVocabulary] = []
        var compiled: [Key: Entry] = [:]
        /// Number of uses so far.
        var clock = 0
        /// Bytes of `compiled` when they were counted last, and of what has been added since.
        var counted = 0

        struct WeakVocabulary { weak var vocabulary: TokenVocabulary? }

        struct Key: Hashable {
            let source: Constraint.Source
            let markers: Set<Int32>
        }

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
    /// Maximum number of vocabularies, which take 15 MB for 128,000 tokens.
    static let vocabularies = 4
    /// Maximum bytes of their states and masks together.
    static let maximumBytes = 128 << 20
    /// Uses after which the memory is counted again, since constraints grow while they are used.
    static let countInterval = 64

    private let contents = Mutex(Contents())
    private let own: Set<Int32>
    /// Of all its vocabularies together.
    private let memory = ConstraintMemory()

    /// - Parameter own: Control tokens of the model's own markup, whose vocabulary is never evicted.
    package init(own: Set<Int32>) { self.own = own }

    /// - Parameter markers: Control tokens that count as their text.
    package func constraint(
        _ source: Constraint.Source, _ tokenizer: TextTokenizer, markers: Set<Int32>
    ) throws(ConstraintError) -> Constraint {
        let vocabulary = vocabulary(of: tokenizer, markers: markers)
        let key = Contents.Key(source: source, markers: markers)
        if let known = contents.withLock({ $0.use(key, vocabulary) }) { return known }
        // Outside the lock: a large schema takes time, and must not block other requests.
        let new = try Constraint.compile(source, vocabulary: vocabulary)
        return contents.withLock { contents in
            if let known = contents.use(key, vocabulary) { return known }
            contents.add(new, key)
            return new
        }
    }

    /// Bytes of the cached constraints.
    package var bytes: Int { contents.withLock { $0.bytes } }

    /// Whether this is a vocabulary of this model.
    package func isOurs(_ vocabulary: TokenVocabulary) -> Bool {
        contents.withLock { $0.made.contains { $0.vocabulary === vocabulary } }
    }

    /// - Parameter markers: Control tokens that count as their text.
    package func vocabulary(of tokenizer: TextTokenizer, markers: Set<Int32>) -> TokenVocabulary {
        contents.withLock { contents in
            if let index = contents.vocabularies.firstIndex(where: { $0.markers == markers }) {
                let known = contents.vocabularies.remove(at: index)
                contents.vocabularies.append(known)
                return known.vocabulary
            }
            let new = TokenVocabulary(tokenizer, spoken: markers, memory: memory)
            contents.add(new, markers, sparing: own)
            return new
        }
    }
}

extension ConstraintStore.Contents {
    fileprivate mutating func add(
        _ vocabulary: TokenVocabulary, _ markers: Set<Int32>, sparing own: Set<Int32>
    ) {
        if vocabularies.count == ConstraintStore.vocabularies,
            let index = vocabularies.firstIndex(where: { $0.markers != own })
        {
            let evicted = vocabularies.remove(at: index).markers
            for key in compiled.keys where key.markers == evicted { compiled[key] = nil }
        }
        vocabularies.append((markers, vocabulary))
        made.removeAll { $0.vocabulary == nil }
        made.append(WeakVocabulary(vocabulary: vocabulary))
    }

    /// - Parameter vocabulary: That of the key's markers. It may have been evicted and made anew.
    fileprivate mutating func use(_ key: Key, _ vocabulary: TokenVocabulary) -> Constraint? {
        clock += 1
        if clock.isMultiple(of: ConstraintStore.countInterval) { counted = bytes }
        guard let place = compiled.index(forKey: key), compiled.values[place].constraint.vocabulary === vocabulary
        else { return nil }
        compiled.values[place].used = clock
        let constraint = compiled.values[place].constraint
        shrink()
        return constraint
    }

    fileprivate mutating func add(_ constraint: Constraint, _ key: Key) {
        let entry = Entry(constraint: constraint, sourceBytes: 24 * key.source.length, used: clock)
        compiled[key] = entry
        counted += entry.bytes
        shrink()
    }

    fileprivate var bytes: Int { compiled.values.reduce(0) { $0 + $1.bytes } }

    /// If the constraints exceed `maximumBytes` or `capacity`, evicts the least recently used ones until an eighth is
    /// free, so that the next additions need not order them again.
    private mutating func shrink() {
        guard counted > ConstraintStore.maximumBytes || compiled.count > ConstraintStore.capacity else { return }
        counted = bytes
        guard counted > ConstraintStore.maximumBytes || compiled.count > ConstraintStore.capacity else { return }
        let (most, count) = (ConstraintStore.maximumBytes / 8 * 7, ConstraintStore.capacity / 8 * 7)
        for (key, entry) in compiled.sorted(by: { $0.value.used < $1.value.used }) {
            guard counted > most || compiled.count > count else { return }
            compiled[key] = nil
            counted -= entry.bytes
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
