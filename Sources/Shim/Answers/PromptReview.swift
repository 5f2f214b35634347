import LocalLLM
import Wire

extension Services {
    /// Throws `content_filter` if the guardrail refuses a prompt.
    func review(prompts: some Sequence<String>) throws(APIError) {
        guard let guardrail else { return }
        for prompt in prompts {
            if case .violation(let message) = guardrail.review(GuardedText(.prompt, prompt, isWhole: true)) {
                throw .contentFiltered(message)
            }
        }
    }

    /// Reviews a conversation's user messages. Instructions come from the server or app, and answers were reviewed when
    /// generated.
    func review(_ messages: [ChatMessage]) throws(APIError) {
        try review(prompts: messages.filter { $0.role == .user }.map(\.content))
    }
}

extension APIError {
    /// A content filter has refused a prompt or an answer.
    static func contentFiltered(_ message: String) -> Self {
        .init(status: 400, kind: .invalidRequest, message: message, code: "content_filter")
    }
}
