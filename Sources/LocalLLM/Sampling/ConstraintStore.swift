import Constraint
import Synchronization
import Tokenizer

/// A model's vocabulary in the form that constraints need, built on first use, and the recently compiled constraints.
final class ConstraintStore: Sendable {
    fileprivate struct Contents {
        var vocabulary: TokenVocabulary?
        /// Least recently used first.
        var compiled: [(source: Constraint.Source, constraint: Constraint)] = []
    }

    /// Maximum number of cached constraints.
    static let capacity = 32
    /// Maximum bytes of their states and masks together.
    static let maximumBytes = 128 << 20

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
        shrink()
        return contents.withLock { contents in
            if let known = contents.use(source) { return known }
            contents.add(new, source)
            return new
        }
    }

    /// Evicts the least recently used constraints until the rest fits `maximumBytes`. They grow while they are used.
    private func shrink() {
        let compiled = contents.withLock { $0.compiled }
        var bytes = 0
        for (_, constraint) in compiled.reversed() {
            bytes += constraint.bytes
            if bytes > Self.maximumBytes { contents.withLock { $0.remove(constraint) } }
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
        guard let index = compiled.firstIndex(where: { $0.source == source }) else { return nil }
        let entry = compiled.remove(at: index)
        compiled.append(entry)
        return entry.constraint
    }

    fileprivate mutating func remove(_ constraint: Constraint) {
        compiled.removeAll { $0.constraint === constraint }
    }

    fileprivate mutating func add(_ constraint: Constraint, _ source: Constraint.Source) {
        if compiled.count == ConstraintStore.capacity { compiled.removeFirst() }
        compiled.append((source, constraint))
    }
}
