public import Foundation

/// Why a model could not be loaded, or could not answer a request.
public enum LocalModelError: Error, Equatable, Sendable {
    /// The prompt does not leave room in the context for an answer; nothing was generated.
    case contextSizeExceeded(contextSize: Int, tokenCount: Int)
    /// The chat template rejected the messages, or is invalid. The text is the template's own, or names the line.
    case templateFailed(String)
    /// The chat template reached a limit of the sandbox, such as its time. Names the limit and the line.
    case templateStopped(String)
    /// An option is out of range. Names the option, the range and the value.
    case invalidOption(String)
    /// The file has no usable tokenizer. The text says why.
    case noTokenizer(String)
    /// The model's kind does not support the operation: encoders generate no text, few models rerank. Names the kind.
    case wrongKind(String)
    /// The model computed logits, a vector or a score that are infinite or NaN.
    ///
    /// - `input`: Index of the input; `nil` if there is only one.
    case resultNotFinite(model: String, input: Int?)
    /// The queue is full. Names the limit.
    case queueFull(limit: Int)
    /// The model needs more memory than is available; nothing was loaded.
    case insufficientMemory(MemoryEstimate)
    /// The text cannot continue under its constraint. Says why.
    case constraintFailed(String)
    /// The model was shut down while the request waited or ran.
    case shutDown
}

extension LocalModelError: CustomStringConvertible, LocalizedError {
    public var description: String {
        switch self {
        case .contextSizeExceeded(let contextSize, let tokenCount):
            "The prompt of \(tokenCount) tokens leaves no room for an answer in a context of \(contextSize)."
        case .templateFailed(let message), .templateStopped(let message), .invalidOption(let message),
            .noTokenizer(let message),
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
