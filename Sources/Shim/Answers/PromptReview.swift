import LocalLLM
import Wire

extension Services {
    /// Lets prompts pass, or throws `content_filter`.
    func review(prompts: some Sequence<String>) throws(APIError) {
        guard let guardrail else { return }
        for prompt in prompts {
            if case .violation(let message) = guardrail.review(GuardedText(.prompt, prompt, isWhole: true)) {
                throw .contentFiltered(message)
            }
        }
    }

    /// The same for a conversation, of which the instructions are the server's or app's own, and answers were reviewed when
    /// they were given.
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
