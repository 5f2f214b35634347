/// Text to continue or embed: a string, an array of strings, an array of token ids, or an array of arrays of token ids.
/// As in llama.cpp's API, an input may also mix texts and ids, or be an object with `prompt_string`.
public enum TextInput: Codable, Sendable, Equatable {
    case texts([String])
    case tokens([[Int64]])
    case mixed([[Piece]])

    /// A part of a mixed input.
    public enum Piece: Codable, Sendable, Equatable {
        case text(String)
        case token(Int64)

        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .text(text)
            } else {
                self = .token(try container.decode(WholeNumber.self).value)
            }
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .token(let id): try container.encode(id)
            }
        }
    }

    /// An element of an array.
    private enum Element: Decodable {
        case piece(Piece)
        case input([Piece])

        var pieces: [Piece] {
            switch self {
            case .piece(let piece): [piece]
            case .input(let pieces): pieces
            }
        }

        private struct Object: Decodable {
            let text: String
            let media: JSONValue?

            enum CodingKeys: String, CodingKey {
                case text = "prompt_string"
                case media = "multimodal_data"
            }
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if (try? decoder.unkeyedContainer()) != nil {
                self = .input(try container.decode([Piece].self))
            } else if let members = try? decoder.container(keyedBy: Object.CodingKeys.self) {
                guard members.contains(.text) else {
                    throw DecodingError.dataCorruptedError(
                        in: container, debugDescription: "expected an object with prompt_string")
                }
                let object = try container.decode(Object.self)
                guard object.media?.isEmpty ?? true else {
                    throw DecodingError.dataCorruptedError(
                        forKey: .media, in: members, debugDescription: "images and audio are served in chats only")
                }
                self = .input([.text(object.text)])
            } else {
                self = .piece(try container.decode(Piece.self))
            }
        }
    }

    /// Number of inputs.
    public var count: Int {
        switch self {
        case .texts(let texts): texts.count
        case .tokens(let lists): lists.count
        case .mixed(let inputs): inputs.count
        }
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard (try? decoder.unkeyedContainer()) != nil else {
            if (try? decoder.container(keyedBy: NoKeys.self)) != nil,
                case .input(let pieces) = try Element(from: decoder)
            {
                self = .mixed([pieces])
            } else {
                self = .texts([try container.decode(String.self)])
            }
            return
        }
        // Long lists are of these kinds, which decode fast.
        if let texts = try? container.decode([String].self) {
            self = .texts(texts)
        } else if let ids = try? container.decode([Int64].self) {
            self = .tokens([ids])
        } else if let lists = try? container.decode([[Int64]].self) {
            self = .tokens(lists)
        } else {
            self = try Self(container.decode([Element].self), in: container)
        }
    }

    private enum NoKeys: CodingKey {}

    /// An array with an id in it is one input; any other is a list of inputs.
    private init(_ elements: [Element], in container: any SingleValueDecodingContainer) throws {
        let isOne = elements.contains { if case .piece(.token) = $0 { true } else { false } }
        guard isOne else {
            self = .mixed(elements.map(\.pieces))
            return
        }
        self = .mixed([
            try elements.map { element in
                guard case .piece(let piece) = element else {
                    throw DecodingError.dataCorruptedError(
                        in: container, debugDescription: "expected only texts and token ids beside a token id")
                }
                return piece
            }
        ])
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .texts(let texts): try container.encode(texts)
        case .tokens(let lists): try container.encode(lists)
        case .mixed(let inputs): try container.encode(inputs)
        }
    }
}
