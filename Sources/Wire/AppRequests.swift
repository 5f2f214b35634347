// Bodies of `/chatgpt`, `/chatgpt-simple` and `/api/suggest`: the apps' own backend API, not OpenAI's.

public import JSON

/// Body of `POST /chatgpt`: an array of messages, or an object with `messages` and `model`.
public struct AppConversation: Decodable, Sendable {
    /// Messages as in `/v1/chat/completions`.
    public var messages: [RequestMessage]
    /// The unparsed messages, for an upstream that may know fields which `RequestMessage` lacks.
    public var rawMessages: JSON
    public var model: String?

    enum CodingKeys: CodingKey { case messages, model }

    public init(from decoder: any Decoder) throws {
        guard (try? decoder.unkeyedContainer()) == nil else {
            messages = try [RequestMessage](from: decoder)
            rawMessages = try JSON(from: decoder)
            return
        }
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        messages = try fields.decode([RequestMessage].self, forKey: .messages)
        rawMessages = try fields.decode(JSON.self, forKey: .messages)
        model = try fields.decodeIfPresent(String.self, forKey: .model)
    }
}

/// Body of `POST /chatgpt-simple`.
public struct PromptRequest: Decodable, Sendable {
    public var prompt: String
    public var model: String?
}

/// Body of a configured endpoint: `prompt`, `messages`, or any other JSON, which becomes the user's message.
public struct AppEndpointRequest: Decodable, Sendable {
    public var messages: [RequestMessage]
    /// The unparsed messages, for an upstream.
    public var rawMessages: [JSON]

    private enum CodingKeys: CodingKey { case prompt, messages }

    public init(from decoder: any Decoder) throws {
        let fields = try? decoder.container(keyedBy: CodingKeys.self)
        if let fields, fields.contains(.messages) {
            messages = try fields.decode([RequestMessage].self, forKey: .messages)
            rawMessages = try fields.decode([JSON].self, forKey: .messages)
            return
        }
        let text =
            if let fields, fields.contains(.prompt) {
                try fields.decode(String.self, forKey: .prompt)
            } else {
                try JSON(from: decoder).text
            }
        messages = [RequestMessage(role: "user", content: .text(text))]
        rawMessages = [.object(["role": .string("user"), "content": .string(text)])]
    }
}

/// Response of `/chatgpt` and `/chatgpt-simple`.
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
    /// Text before the cursor.
    public var text: String
    /// Maximum number of suggestions, 1...8; 3 if absent.
    public var maxSuggestions: WholeNumber?
    /// The app's id of the user, whose next request cancels this one.
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

/// Response of `/api/suggest`.
public struct Suggestions: Codable, Sendable, Equatable {
    public struct Suggestion: Codable, Sendable, Equatable {
        /// Text to append, including a leading space if needed.
        public var text: String

        public init(text: String) { self.text = text }
    }

    /// Distinct suggestions, the most likely first.
    public var suggestions: [Suggestion]

    public init(suggestions: [Suggestion]) { self.suggestions = suggestions }
}
