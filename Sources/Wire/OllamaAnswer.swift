/// An answer of `POST /api/chat` or `POST /api/generate` of Ollama's API, whole or one line of a stream.
package struct OllamaAnswer: Codable, Sendable, Equatable {
    package var model: String
    /// RFC 3339.
    package var createdAt: String
    /// Only in chats.
    package var message: OllamaMessage?
    /// Text and reasoning; only in completions.
    package var response: String?
    package var thinking: String?
    package var logprobs: [ChatLogprobs.Token]?
    package var done: Bool
    /// `stop`, `length`, `load` or `unload`.
    package var doneReason: String?

    // Set in the last line. Durations are nanoseconds.
    package var totalDuration: Int?
    /// Loading the model and rendering the prompt.
    package var loadDuration: Int?
    package var promptEvalCount: Int?
    package var promptEvalDuration: Int?
    package var evalCount: Int?
    package var evalDuration: Int?

    enum CodingKeys: String, CodingKey {
        case model, message, response, thinking, logprobs, done
        case createdAt = "created_at"
        case doneReason = "done_reason"
        case totalDuration = "total_duration"
        case loadDuration = "load_duration"
        case promptEvalCount = "prompt_eval_count"
        case promptEvalDuration = "prompt_eval_duration"
        case evalCount = "eval_count"
        case evalDuration = "eval_duration"
    }

    package init(model: String, createdAt: String, done: Bool) {
        (self.model, self.createdAt, self.done) = (model, createdAt, done)
    }
}

/// `{"error": "…"}`, as a response and as a line of a stream.
package struct OllamaErrorBody: Codable, Equatable, Sendable {
    package var error: String

    package init(_ error: APIError) { self.error = error.message }
}
