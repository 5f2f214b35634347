// Bodies of `/tokenize` and `/detokenize`. Field names are llama.cpp's; `model` is an extension for
// servers with several models.

/// Body of `POST /tokenize`.
package struct TokenizeRequest: Codable, Sendable {
    package var model: String?
    package var content: String
    /// Whether to add the model's begin and end tokens. Absent: no.
    package var addSpecial: Bool?
    /// Whether to parse control tokens in the text. Absent: yes.
    package var parseSpecial: Bool?
    /// Whether to return each token's text.
    package var withPieces: Bool?

    enum CodingKeys: String, CodingKey {
        case model, content
        case addSpecial = "add_special"
        case parseSpecial = "parse_special"
        case withPieces = "with_pieces"
    }
}

/// Body of `POST /detokenize`.
package struct DetokenizeRequest: Codable, Sendable {
    package var model: String?
    package var tokens: [WholeNumber]
}
