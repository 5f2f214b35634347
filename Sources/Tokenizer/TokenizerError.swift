/// Why a tokenizer cannot be built from what a model file says of it.
public enum TokenizerError: Error, Equatable, CustomStringConvertible {
    /// `tokenizer.ggml.model` names an algorithm that is not implemented.
    case unknownModel(String)
    /// `tokenizer.ggml.pre` names a family that is not known. Another one would silently give other ids.
    case unknownPreTokenizer(String, model: String)
    /// A field that the tokenizer needs is absent.
    case missing(field: String, model: String)
    /// A field has a value that cannot be used.
    case invalid(field: String, reason: String)

    public var description: String {
        switch self {
        case .unknownModel(let model):
            "tokenizer.ggml.model is '\(model)'; known are \(TextTokenizer.knownModels.joined(separator: ", "))."
        case .unknownPreTokenizer(let pre, let model):
            "tokenizer.ggml.pre is '\(pre)' (tokenizer.ggml.model '\(model)'), a pre-tokenizer that is not known."
        case .missing(let field, let model):
            "\(field) is missing; a tokenizer of tokenizer.ggml.model '\(model)' needs it."
        case .invalid(let field, let reason):
            "\(field): \(reason)"
        }
    }
}
