package import JSON

/// Bodies of `POST /v1/conversations`, `POST /v1/conversations/{id}` and `POST /v1/conversations/{id}/items`.
package struct ConversationFields: Decodable, Sendable {
    /// Messages, calls and results, as in the input of a response.
    package var items: [ResponseInput.Item]?
    package var metadata: [String: String]?

    package init() {}

    /// Maximum items in one request, as OpenAI's API documents it.
    private static let maximumItems = 20

    /// Checks what `Decodable` cannot. Errors name fields as the client spelled them.
    ///
    /// - Parameter needs: A field that must be there.
    package func validated(needs field: String? = nil, seesImages: Bool) throws(APIError) -> Self {
        if field == "items", items == nil { throw APIError(missing: "items") }
        if field == "metadata", metadata == nil { throw APIError(missing: "metadata") }
        if let items, items.count > Self.maximumItems {
            throw .invalid("items", "at most \(Self.maximumItems) are allowed, got \(items.count)")
        }
        if let items, !items.isEmpty || field == "items" {
            try ResponseInput.items(items).validate(seesImages, at: "items")
        }
        try validateMetadata(metadata)
        return self
    }
}

/// A stored conversation, without its items.
package struct StoredConversation: Codable, Sendable, Equatable {
    package var id: String
    package var object = "conversation"
    /// Unix seconds.
    package var createdAt: Int
    package var metadata: [String: String]

    enum CodingKeys: String, CodingKey {
        case id, object, metadata
        case createdAt = "created_at"
    }

    package init(id: String, createdAt: Int, metadata: [String: String]) {
        (self.id, self.createdAt, self.metadata) = (id, createdAt, metadata)
    }
}

/// An item of a stored conversation: the item as JSON, with an id and a status.
package struct ConversationItem: Codable, Sendable, Equatable {
    package let id: String
    /// Has `id`.
    package let json: JSON

    package init(from decoder: any Decoder) throws {
        json = try JSON(from: decoder)
        id = json["id"]?.string ?? ""
    }

    package func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }

    /// - Parameters:
    ///   - item: An item of a response's output, or of an input.
    ///   - id: Makes a unique id with a prefix; used if the item has none.
    package init(_ item: some Encodable, id makeID: (_ prefix: String) -> String) throws {
        var object = try JSON(encoding: item).object ?? [:]
        let type = object["type"]?.string ?? "message"
        let id = object["id"]?.string ?? makeID(Self.prefix(type))
        object["id"] = .string(id)
        object["type"] = .string(type)
        if object["status"] == nil { object["status"] = "completed" }
        if type == "message" {
            let kind = object["role"]?.string == "assistant" ? "output_text" : "input_text"
            object["content"] = object["content"].map { Self.parts($0, kind) } ?? []
        }
        if type == "reasoning", object["summary"] == nil { object["summary"] = [] }
        (self.id, json) = (id, .object(object))
    }

    private static func prefix(_ type: String) -> String {
        switch type {
        case "message": "msg_"
        case "reasoning": "rs_"
        case "function_call": "fc_"
        case "custom_tool_call": "ctc_"
        default: "item_"
        }
    }

    /// The content of a message as a list of parts of the types that OpenAI's API has.
    ///
    /// - Parameter kind: Type of parts with text.
    private static func parts(_ content: JSON, _ kind: String) -> JSON {
        guard case .array(let parts) = content else { return [part(["text": content], kind)] }
        return .array(
            parts.map { given in
                guard let object = given.object, object["text"] != nil,
                    object["type"]?.string?.hasSuffix("text") == true
                else { return given }
                return part(object, kind)
            })
    }

    private static func part(_ given: JSON.Object, _ kind: String) -> JSON {
        var part = given
        part["type"] = .string(kind)
        guard kind == "output_text" else { return .object(part) }
        for name in ["annotations", "logprobs"] where part[name] == nil { part[name] = [] }
        return .object(part)
    }

    /// The item as part of a response's input.
    package var input: ResponseInput.Item? { try? json.decoded() }

    /// Roughly what it takes in memory.
    package var bytes: Int { 2 * json.bytes.count + 256 }
}

/// Response of `DELETE /v1/conversations/{id}`.
package struct ConversationDeletion: Codable, Sendable, Equatable {
    package var id: String
    package var object = "conversation.deleted"
    package var deleted = true

    package init(id: String) { self.id = id }
}
