public import Foundation

/// Why a model could not be loaded, or could not answer a request.
public enum LocalModelError: Error, Equatable, Sendable {
    /// The prompt alone fills the context; nothing was generated.
    case contextSizeExceeded(contextSize: Int, tokenCount: Int)
    /// The chat template refused the messages, or is broken. The text is the template's own or names its line.
    case templateFailed(String)
    /// An option is out of range. Names the option, the range and what was found.
    case invalidOption(String)
    /// The file has no tokenizer that can turn text into tokens.
    case noTokenizer(String)
    /// The model is of a kind that cannot do this: an encoder generates no text, few models rerank. Says what it is.
    case wrongKind(String)
    /// The model computed logits, a vector or a score that are infinite or not numbers.
    ///
    /// - `input`: Which of several inputs it was, from 0 on; `nil` where there is one.
    case resultNotFinite(model: String, input: Int?)
    /// As many generations wait as may. Names the limit.
    case queueFull(limit: Int)
    /// The model needs more memory than there is; nothing was loaded.
    case insufficientMemory(MemoryEstimate)
    /// The text could not go on as its constraint wants it. Says why.
    case constraintFailed(String)
    /// The model was shut down while the request waited or ran.
    case shutDown
}

extension LocalModelError: CustomStringConvertible, LocalizedError {
    public var description: String {
        switch self {
        case .contextSizeExceeded(let contextSize, let tokenCount):
            "The prompt of \(tokenCount) tokens leaves no room for an answer in a context of \(contextSize)."
        case .templateFailed(let message), .invalidOption(let message), .noTokenizer(let message),
            .wrongKind(let message), .constraintFailed(let message):
            message
        case .resultNotFinite(let model, let input):
            "The model '\(model)' computed numbers that are infinite or not numbers\(input.map { " for input \($0)" } ?? ""). Its file is damaged, or its weights overflow."
        case .queueFull(let limit): "All \(limit) places for generations that wait are taken."
        case .insufficientMemory(let estimate): "There is too little memory for the model. It needs \(estimate)."
        case .shutDown: "The model was shut down."
        }
    }

    public var errorDescription: String? { description }
}
