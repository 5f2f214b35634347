// Bodies of `/chatgpt`, `/chatgpt-simple` and `/api/suggest`: what apps send to their backend, not OpenAI's.

/// Body of `POST /chatgpt`: the conversation, alone or with a model's name.
public struct ConversationRequest: Decodable, Sendable {
    /// As `/v1/chat/completions` takes them.
    public var messages: [RequestMessage]
    /// The same as they came: an upstream may know fields that `RequestMessage` lacks.
    public var rawMessages: JSONValue
    public var model: String?

    enum CodingKeys: CodingKey { case messages, model }

    public init(from decoder: any Decoder) throws {
        guard (try? decoder.unkeyedContainer()) == nil else {
            messages = try [RequestMessage](from: decoder)
            rawMessages = try JSONValue(from: decoder)
            return
        }
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        messages = try fields.decode([RequestMessage].self, forKey: .messages)
        rawMessages = try fields.decode(JSONValue.self, forKey: .messages)
        model = try fields.decodeIfPresent(String.self, forKey: .model)
    }
}

/// Body of `POST /chatgpt-simple`.
public struct PromptRequest: Decodable, Sendable {
    public var prompt: String
    public var model: String?
}

/// Body of an endpoint that an app has configured: a prompt, a conversation, or anything for the model to read.
public struct AppEndpointRequest: Decodable, Sendable {
    public var messages: [RequestMessage]
    /// The same as they came.
    public var rawMessages: [JSONValue]

    private enum CodingKeys: CodingKey { case prompt, messages }

    public init(from decoder: any Decoder) throws {
        let fields = try? decoder.container(keyedBy: CodingKeys.self)
        if let fields, fields.contains(.messages) {
            messages = try fields.decode([RequestMessage].self, forKey: .messages)
            rawMessages = try fields.decode([JSONValue].self, forKey: .messages)
            return
        }
        let text =
            if let fields, fields.contains(.prompt) {
                try fields.decode(String.self, forKey: .prompt)
            } else {
                String(decoding: try JSON.encode(JSONValue(from: decoder)), as: UTF8.self)
            }
        messages = [RequestMessage(role: "user", content: .text(text))]
        rawMessages = [.object(["role": .string("user"), "content": .string(text)])]
    }
}

/// Answer of `/chatgpt` and `/chatgpt-simple`.
public struct RoleAndContent: Codable, Sendable, Equatable {
    public var role: String
    public var content: String

    public init(role: String, content: String) {
        self.role = role
        self.content = content
    }
}

/// Body of `POST /api/suggest`.
public struct SuggestRequest: Decodable, Sendable {
    /// What stands before the cursor.
    public var text: String
    /// 1...8; absent: 3.
    public var maxSuggestions: WholeNumber?
    /// Who is typing, in the app's words: their next request ends this one.
    public var user: String?
    public var model: String?

    enum CodingKeys: String, CodingKey {
        case text, user, model
        case maxSuggestions = "max_suggestions"
    }

    public func validated() throws(APIError) -> Self {
        guard !text.isEmpty else { throw .invalid("text", "must not be empty") }
        try checkRange("max_suggestions", maxSuggestions, 1...8)
        return self
    }
}

/// Answer of `/api/suggest`.
public struct Suggestions: Codable, Sendable, Equatable {
    public struct Suggestion: Codable, Sendable, Equatable {
        /// What to put behind the text, its blank in front included if it needs one.
        public var text: String

        public init(text: String) { self.text = text }
    }

    /// No two of them equal, the likeliest first.
    public var suggestions: [Suggestion]

    public init(suggestions: [Suggestion]) { self.suggestions = suggestions }
}
