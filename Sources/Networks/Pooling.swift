/// How the states of an input's tokens are combined into one vector. In the order of GGUF's numbers.
public enum Pooling: String, Sendable, CaseIterable {
    /// No pooling: one vector per token.
    case none
    /// The mean of all states.
    case mean
    /// The state of the first token, BERT's `[CLS]`.
    case cls
    /// The state of the last token, the only one in a causal model that attends to the whole input.
    case last
    /// The scores of a reranker's classifier.
    case rank
}
