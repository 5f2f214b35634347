public import JSON

/// Response of `GET /v1/responses/{id}/input_items`.
public struct ResponseItemList: Codable, Sendable, Equatable {
    /// A message or reasoning item in the input of a response.
    public struct Item: Codable, Sendable, Equatable {
        public struct Part: Codable, Sendable, Equatable {
            public var type: String
            public var text: String
            /// `annotations` and `logprobs` are empty in assistant messages, else absent.
            public var annotations: [JSON]?
            public var logprobs: [JSON]?
        }

        public var id: String
        public var type = "message"
        public var status = "completed"
        /// Absent in reasoning.
        public var role: String?
        public var content: [Part]
        /// Empty in reasoning, else absent.
        public var summary: [String]?

        public static func message(id: String, role: String, text: String) -> Self {
            let isAnswer = role == "assistant"
            let part = Part(
                type: isAnswer ? "output_text" : "input_text", text: text, annotations: isAnswer ? [] : nil,
                logprobs: isAnswer ? [] : nil)
            return Self(id: id, role: role, content: [part])
        }

        public static func reasoning(id: String, text: String) -> Self {
            Self(id: id, type: "reasoning", content: [Part(type: "reasoning_text", text: text)], summary: [])
        }
    }

    public var object = "list"
    public var data: [Item]
    public var hasMore: Bool
    public var firstID: String
    public var lastID: String

    enum CodingKeys: String, CodingKey {
        case object, data
        case hasMore = "has_more"
        case firstID = "first_id"
        case lastID = "last_id"
    }

    /// A page of a list.
    ///
    /// - Parameter after: The id of the item before the page; `nil` for the first page.
    /// - Returns: `nil` if `after` is not in the list.
    public init?(_ items: [Item], after: String?, limit: Int) {
        var start = 0
        if let after {
            guard let index = items.firstIndex(where: { $0.id == after }) else { return nil }
            start = index + 1
        }
        data = Array(items[start...].prefix(limit))
        hasMore = start + data.count < items.count
        firstID = data.first?.id ?? ""
        lastID = data.last?.id ?? ""
    }
}

/// Response of `POST /v1/responses/input_tokens`.
public struct ResponseInputTokens: Codable, Sendable, Equatable {
    public var object = "response.input_tokens"
    public var inputTokens: Int

    enum CodingKeys: String, CodingKey {
        case object
        case inputTokens = "input_tokens"
    }

    public init(_ count: Int) { inputTokens = count }
}
