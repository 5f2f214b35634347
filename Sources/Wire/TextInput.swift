/// Text to continue or embed: a string, an array of strings, an array of token ids, or an array of arrays of token ids.
package enum TextInput: Codable, Sendable, Equatable {
    case texts([String])
    case tokens([[Int64]])

    /// Number of inputs.
    package var count: Int {
        switch self {
        case .texts(let texts): texts.count
        case .tokens(let lists): lists.count
        }
    }

    package init(from decoder: any Decoder) throws {
        guard var list = try? decoder.unkeyedContainer() else {
            self = .texts([try decoder.singleValueContainer().decode(String.self)])
            return
        }
        // The type of the first element decides between the three kinds of array.
        let container = try decoder.singleValueContainer()
        if list.isAtEnd {
            self = .texts([])
        } else if (try? list.decode(WholeNumber.self)) != nil {
            self = .tokens([
                try Self.ids {
                    try container.decode([Int64].self)
                } or: {
                    try container.decode([WholeNumber].self).map(\.value)
                }
            ])
        } else if (try? list.nestedUnkeyedContainer()) != nil {
            self = .tokens(
                try Self.ids {
                    try container.decode([[Int64]].self)
                } or: {
                    try container.decode([[WholeNumber]].self).map { $0.map(\.value) }
                })
        } else {
            self = .texts(try container.decode([String].self))
        }
    }

    /// Tries the fast decoding first; the exact one's errors name the path.
    private static func ids<Ids>(_ fast: () throws -> Ids, or exact: () throws -> Ids) throws -> Ids {
        if let ids = try? fast() { ids } else { try exact() }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .texts(let texts): try container.encode(texts)
        case .tokens(let lists): try container.encode(lists)
        }
    }
}
