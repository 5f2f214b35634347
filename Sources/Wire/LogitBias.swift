/// Biases added to the logits of single tokens: OpenAI's object by token id, or llama.cpp's list of pairs of token id
/// and bias, where `false` forbids the token (-100).
public struct LogitBias: Codable, Sendable, Equatable {
    /// Biases by token id in decimal.
    public var byToken: [String: Double]

    public init(from decoder: any Decoder) throws {
        guard var pairs = try? decoder.unkeyedContainer() else {
            byToken = try [String: Double](from: decoder)
            return
        }
        byToken = [:]
        while !pairs.isAtEnd {
            var pair = try pairs.nestedUnkeyedContainer()
            let id = try pair.decode(WholeNumber.self).value
            if let allowed = try? pair.decode(Bool.self) {
                guard !allowed else {
                    throw DecodingError.dataCorruptedError(
                        in: pairs, debugDescription: "expected a number or false as a bias, found true")
                }
                byToken["\(id)"] = -100
            } else {
                byToken["\(id)"] = try pair.decode(Double.self)
            }
        }
    }

    public func encode(to encoder: any Encoder) throws { try byToken.encode(to: encoder) }
}
