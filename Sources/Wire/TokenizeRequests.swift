// Bodies of `/tokenize` and `/detokenize`. Field names are llama.cpp's; `model` is an extension for
// servers with several models.

/// Body of `POST /tokenize`.
public struct TokenizeRequest: Codable, Sendable {
    public var model: String?
    public var content: String
    /// Whether to add the model's begin and end tokens. Absent: no.
    public var addSpecial: Bool?
    /// Whether to parse control tokens in the text. Absent: yes.
    public var parseSpecial: Bool?
    /// Whether to return each token's text.
    public var withPieces: Bool?

    enum CodingKeys: String, CodingKey {
        case model, content
        case addSpecial = "add_special"
        case parseSpecial = "parse_special"
        case withPieces = "with_pieces"
    }
}

/// Body of `POST /detokenize`.
public struct DetokenizeRequest: Codable, Sendable {
    public var model: String?
    public var tokens: [WholeNumber]
}
