package import JSON

/// An item of a response's input.
package enum ResponseItemList {
    /// A message or reasoning item in the input of a response.
    package struct Item: Codable, Sendable, Equatable {
        package struct Part: Codable, Sendable, Equatable {
            package var type: String
            package var text: String
            /// `annotations` and `logprobs` are empty in assistant messages, else absent.
            package var annotations: [JSON]?
            package var logprobs: [JSON]?
        }

        package var id: String
        package var type = "message"
        package var status = "completed"
        /// Absent in reasoning.
        package var role: String?
        package var content: [Part]
        /// Empty in reasoning, else absent.
        package var summary: [String]?

        package static func message(id: String, role: String, text: String) -> Self {
            let isAnswer = role == "assistant"
            let part = Part(
                type: isAnswer ? "output_text" : "input_text", text: text, annotations: isAnswer ? [] : nil,
                logprobs: isAnswer ? [] : nil)
            return Self(id: id, role: role, content: [part])
        }

        package static func reasoning(id: String, text: String) -> Self {
            Self(id: id, type: "reasoning", content: [Part(type: "reasoning_text", text: text)], summary: [])
        }
    }
}

/// Response of routes that list items: `GET /v1/responses/{id}/input_items`, `GET /v1/conversations/{id}/items`.
package struct ItemList<Item: Codable & Sendable & Equatable>: Codable, Sendable, Equatable {
    package var object = "list"
    package var data: [Item]
    package var hasMore: Bool
    package var firstID: String
    package var lastID: String

    enum CodingKeys: String, CodingKey {
        case object, data
        case hasMore = "has_more"
        case firstID = "first_id"
        case lastID = "last_id"
    }

    /// A page of a list.
    ///
    /// - Parameters:
    ///   - id: The id of an item.
    ///   - after: The id of the item before the page; `nil` for the first page.
    /// - Returns: `nil` if `after` is not in the list.
    package init?(_ items: [Item], id: (Item) -> String, after: String? = nil, limit: Int = .max) {
        var start = 0
        if let after {
            guard let index = items.firstIndex(where: { id($0) == after }) else { return nil }
            start = index + 1
        }
        data = Array(items[start...].prefix(limit))
        hasMore = start + data.count < items.count
        firstID = data.first.map(id) ?? ""
        lastID = data.last.map(id) ?? ""
    }
}

/// Response of `POST /v1/responses/input_tokens`.
package struct ResponseInputTokens: Codable, Sendable, Equatable {
    package var object = "response.input_tokens"
    package var inputTokens: Int

    enum CodingKeys: String, CodingKey {
        case object
        case inputTokens = "input_tokens"
    }

    package init(_ count: Int) { inputTokens = count }
}
