/// How `LocalModel.embeddings` computes vectors.
public struct EmbeddingOptions: Sendable {
    /// `nil`: the pooling that the model's file declares, else the mean.
    public var pooling: Pooling?
    /// Length to truncate vectors to (Matryoshka models, Kusupati et al. 2022). `nil` keeps the full length.
    public var dimensions: Int?
    /// Whether vectors are scaled to length 1 after truncation. A classifier's scores never are.
    public var normalizes: Bool

    /// The file's pooling, full length and length 1 unless told otherwise.
    public init(pooling: Pooling? = nil, dimensions: Int? = nil, normalizes: Bool = true) {
        self.pooling = pooling
        self.dimensions = dimensions
        self.normalizes = normalizes
    }
}

extension LocalModel {
    /// One vector per input, in the order of the inputs.
    ///
    /// Inputs are batched, many in one step. In an encoder every token attends to its whole input; for a decoder the
    /// states after the last norm are used.
    ///
    /// - Parameter inputs: Token IDs, each input with the special tokens that the model expects
    ///   (`TextTokenizer.encode(addSpecial: true)`).
    /// - Returns: `[inputs][info.embeddingSize]`, or `dimensions` numbers each; with `Pooling.rank` the classifier's
    ///   raw scores, `[inputs][scores]`.
    /// - Throws: `LocalModelError.contextSizeExceeded` for an input longer than `contextSize`; `invalidOption` for an
    ///   empty input, IDs outside the vocabulary, and options that the model does not support; `resultNotFinite`;
    ///   `CancellationError` between two layers.
    public func embeddings(of inputs: [[Int32]], options: EmbeddingOptions = .init()) async throws -> [[Float]] {
        let pooling = try pooling(options)
        if let dimensions = options.dimensions, !(1...info.embeddingSize).contains(dimensions) {
            throw LocalModelError.invalidOption(
                "dimensions: expected 1...\(info.embeddingSize), found \(dimensions)")
        }
        guard pooling != .none else {
            throw LocalModelError.invalidOption(
                "pooling: expected mean, cls or last; without it every token has a vector of its own, see tokenEmbeddings"
            )
        }
        let vectors = try await compute(inputs, pooling)
        guard pooling != .rank else { return vectors }
        return vectors.map { vector in
            let cut = options.dimensions.map { Array(vector.prefix($0)) } ?? vector
            return options.normalizes ? cut.normalized : cut
        }
    }

    /// The state of every token of an input after the last norm: `[tokens][embedding length]`, not normalized.
    ///
    /// - Throws: As `embeddings(of:options:)`.
    public func tokenEmbeddings(of input: [Int32]) async throws -> [[Float]] { try await compute([input], .none) }

    /// Relevance scores of text pairs from `rerankTokens`: the first output of the model's classifier for each.
    ///
    /// Scores are not normalized: unbounded logits or, for Qwen3 rerankers, the probability of "yes".
    ///
    /// - Throws: As `embeddings(of:options:)`; `wrongKind` if the model has no classifier.
    public func relevance(of pairs: [[Int32]]) async throws -> [Float] {
        guard info.isReranker else { throw LocalModelError.wrongKind(info.noReranker) }
        return try await compute(pairs, .rank).map { $0[0] }
    }

    private func pooling(_ options: EmbeddingOptions) throws(LocalModelError) -> Pooling {
        let pooling = options.pooling ?? info.pooling ?? .mean
        if pooling == .rank, !info.isReranker { throw .wrongKind(info.noReranker) }
        return pooling
    }

    /// The vectors or scores of all inputs; with `Pooling.none` the states of all tokens.
    private func compute(_ inputs: [[Int32]], _ pooling: Pooling) async throws -> [[Float]] {
        for input in inputs {
            try check(input)
            guard input.count <= contextSize else {
                throw LocalModelError.contextSizeExceeded(contextSize: contextSize, tokenCount: input.count)
            }
        }
        let reading = PooledReading(
            inputs, pooling, model: info.name, head: head, splitsInputs: info.kind == .decoder,
            adapters: try inputs.map { input throws(LocalModelError) in try selection(nil, prompt: input) })
        return try await withTaskCancellationHandler {
            while try await thread.perform({ [thread] in reading.readStep($0, $1, beside: thread.waiting) }) {
                try Task.checkCancellation()
            }
            return try reading.finish()
        } onCancel: {
            reading.cancel()
        }
    }
}

extension [Float] {
    /// The same direction with length 1; zeros stay.
    package var normalized: [Float] {
        let length = reduce(0.0) { $0 + Double($1) * Double($1) }.squareRoot()
        return length > 0 ? map { Float(Double($0) / length) } : self
    }
}

extension LocalModel.Info {
    fileprivate var noReranker: String {
        "The model '\(name)' (\(architecture)) is not a reranker: its file has no classifier (cls.weight or cls.output.weight)."
    }
}
