/// How the states of an input's tokens become one vector. The numbers are GGUF's.
public enum Pooling: String, Sendable, CaseIterable {
    /// They do not: each token keeps its own.
    case none
    /// Their mean.
    case mean
    /// That of the first token, BERT's `[CLS]`.
    case cls
    /// The last one, which of a causal model alone has seen the whole input.
    case last
    /// The scores of a reranker's classifier.
    case rank
}
