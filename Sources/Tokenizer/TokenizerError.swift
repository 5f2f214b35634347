/// Why a tokenizer cannot be built from a model file.
public enum TokenizerError: Error, Equatable, CustomStringConvertible {
    /// `tokenizer.ggml.model` names an unsupported algorithm.
    case unknownModel(String)
    /// `tokenizer.ggml.pre` names an unknown family. Substituting another would silently give other IDs.
    case unknownPreTokenizer(String, model: String)
    /// A required field is missing.
    case missing(field: String, model: String)
    /// A field has an invalid value.
    case invalid(field: String, reason: String)

    public var description: String {
        switch self {
        case .unknownModel(let model):
            "tokenizer.ggml.model is '\(model)', which is not supported. Supported: \(TextTokenizer.knownModels.joined(separator: ", "))."
        case .unknownPreTokenizer(let pre, let model):
            "tokenizer.ggml.pre is '\(pre)', which is not a known pre-tokenizer for tokenizer.ggml.model '\(model)'."
        case .missing(let field, let model):
            "\(field) is missing; tokenizers with tokenizer.ggml.model '\(model)' need it."
        case .invalid(let field, let reason):
            "\(field): \(reason)"
        }
    }
}
