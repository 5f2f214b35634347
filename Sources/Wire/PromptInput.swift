import JSON

/// A prompt of llama.cpp's API: what `TextInput` has, inputs that mix texts and ids, or objects with `prompt_string`.
package enum PromptInput: Codable, Sendable, Equatable {
    case plain(TextInput)
    case mixed([[TextOrToken]])

    /// A part of a mixed input.
    package enum TextOrToken: Codable, Sendable, Equatable {
        case text(String)
        case token(Int64)

        package init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .text(text)
            } else {
                self = .token(try container.decode(WholeNumber.self).value)
            }
        }

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .token(let id): try container.encode(id)
            }
        }
    }

    /// An element of an array.
    private enum Element: Decodable {
        case piece(TextOrToken)
        case input([TextOrToken])

        var pieces: [TextOrToken] {
            switch self {
            case .piece(let piece): [piece]
            case .input(let pieces): pieces
            }
        }

        enum CodingKeys: String, CodingKey {
            case text = "prompt_string"
            case media = "multimodal_data"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if (try? decoder.unkeyedContainer()) != nil {
                self = .input(try container.decode([TextOrToken].self))
            } else if let object = try? decoder.container(keyedBy: CodingKeys.self) {
                guard object.contains(.text) else {
                    throw DecodingError.dataCorruptedError(
                        in: container, debugDescription: "expected an object with prompt_string")
                }
                let text = try object.decode(String.self, forKey: .text)
                guard try object.decodeIfPresent(JSON.self, forKey: .media)?.isEmpty ?? true else {
                    throw DecodingError.dataCorruptedError(
                        forKey: .media, in: object, debugDescription: "images and audio are served in chats only")
                }
                self = .input([.text(text)])
            } else {
                self = .piece(try container.decode(TextOrToken.self))
            }
        }
    }

    /// Number of inputs.
    package var count: Int {
        switch self {
        case .plain(let input): input.count
        case .mixed(let inputs): inputs.count
        }
    }

    package init(from decoder: any Decoder) throws {
        do {
            self = .plain(try TextInput(from: decoder))
            return
        } catch {
            if (try? decoder.container(keyedBy: Element.CodingKeys.self)) != nil {
                self = .mixed([try Element(from: decoder).pieces])
                return
            }
            guard (try? decoder.unkeyedContainer()) != nil else { throw error }
        }
        let container = try decoder.singleValueContainer()
        let elements = try container.decode([Element].self)
        // An array with an id in it is one input; any other is a list of inputs.
        guard elements.contains(where: { if case .piece(.token) = $0 { true } else { false } }) else {
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

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .plain(let input): try container.encode(input)
        case .mixed(let inputs): try container.encode(inputs)
        }
    }
}
