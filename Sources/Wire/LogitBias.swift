/// Biases added to the logits of single tokens: OpenAI's object by token id, or llama.cpp's list of pairs of token id
/// and bias, where `false` forbids the token (-100). In place of an id, llama.cpp also takes a text, for all its tokens.
package struct LogitBias: Codable, Sendable, Equatable {
    /// Biases by token id in decimal, or by text.
    package var byToken: [String: Double]

    /// A number, or false for -100.
    private struct Bias: Decodable {
        let value: Double

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            guard let allowed = try? container.decode(Bool.self) else {
                value = try container.decode(Double.self)
                return
            }
            guard !allowed else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "expected a number or false as a bias, found true")
            }
            value = -100
        }
    }

    package init(from decoder: any Decoder) throws {
        guard var pairs = try? decoder.unkeyedContainer() else {
            byToken = try [String: Bias](from: decoder).mapValues(\.value)
            return
        }
        byToken = [:]
        while !pairs.isAtEnd {
            var pair = try pairs.nestedUnkeyedContainer()
            switch try pair.decode(PromptInput.TextOrToken.self) {
            case .text(let text): byToken[text] = try pair.decode(Bias.self).value
            case .token(let id): byToken["\(id)"] = try pair.decode(Bias.self).value
            }
        }
    }

    /// Whether a key is meant as a token id.
    static func isID(_ key: String) -> Bool {
        let digits = key.hasPrefix("-") ? key.dropFirst() : key[...]
        return !digits.isEmpty && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Biases by token id, of validated ones.
    package var byID: [Int32: Double] {
        byToken.reduce(into: [:]) { result, entry in if let id = Int32(entry.key) { result[id] = entry.value } }
    }

    /// Biases by text, for all its tokens.
    package var byText: [String: Double] { byToken.filter { !Self.isID($0.key) } }

    /// - Parameter name: Name of the field in the request, for errors.
    func validate(at name: String, _ range: ClosedRange<Double>) throws(APIError) {
        for (key, bias) in byToken {
            guard Self.isID(key) ? (Int32(key) ?? -1) >= 0 : !key.isEmpty else {
                throw .invalid(name, "expected token ids or texts as keys, found \"\(key)\"")
            }
            try checkRange("\(name).\(key)", bias, range)
        }
    }

    package func encode(to encoder: any Encoder) throws { try byToken.encode(to: encoder) }
}
