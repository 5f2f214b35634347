// Bodies of `/chatgpt`, `/chatgpt-simple` and `/api/suggest`: the apps' own backend API, not OpenAI's.

package import JSON

/// Body of `POST /chatgpt`: an array of messages, or an object with `messages` and `model`.
package struct AppConversation: Decodable, Sendable {
    /// Messages as in `/v1/chat/completions`.
    package var messages: [RequestMessage]
    /// The unparsed messages, for an upstream that may know fields which `RequestMessage` lacks.
    package var rawMessages: JSON
    package var model: String?

    enum CodingKeys: CodingKey { case messages, model }

    package init(from decoder: any Decoder) throws {
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
package struct PromptRequest: Decodable, Sendable {
    package var prompt: String
    package var model: String?
}

/// Body of a configured endpoint: `prompt`, `messages`, or any other JSON, which becomes the user's message.
package struct AppEndpointRequest: Decodable, Sendable {
    package var messages: [RequestMessage]
    /// The unparsed messages, for an upstream.
    package var rawMessages: [JSON]

    private enum CodingKeys: CodingKey { case prompt, messages }

    package init(from decoder: any Decoder) throws {
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
package struct RoleAndContent: Codable, Sendable, Equatable {
    package var role: String
    package var content: String

    package init(role: String, content: String) {
        self.role = role
        self.content = content
    }
}

/// Body of `POST /api/suggest`.
package struct SuggestRequest: Decodable, Sendable {
    /// Text before the cursor.
    package var text: String
    /// Maximum number of suggestions, 1...8; 3 if absent.
    package var maxSuggestions: WholeNumber?
    /// The app's id of the user, whose next request cancels this one.
    package var user: String?
    package var model: String?

    enum CodingKeys: String, CodingKey {
        case text, user, model
        case maxSuggestions = "max_suggestions"
    }

    package func validated() throws(APIError) -> Self {
        guard !text.isEmpty else { throw .invalid("text", "must not be empty") }
        try checkRange("max_suggestions", maxSuggestions, 1...8)
        return self
    }
}

/// Response of `/api/suggest`.
package struct Suggestions: Codable, Sendable, Equatable {
    package struct Suggestion: Codable, Sendable, Equatable {
        /// Text to append, including a leading space if needed.
        package var text: String

        package init(text: String) { self.text = text }
    }

    /// Distinct suggestions, the most likely first.
    package var suggestions: [Suggestion]

    package init(suggestions: [Suggestion]) { self.suggestions = suggestions }
}
