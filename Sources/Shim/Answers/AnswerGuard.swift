import CommandLineParsing
import Foundation
import LocalLLM
import Wire

/// Holds back the text of one answer until a guardrail has reviewed it.
struct AnswerGuard: Sendable {
    private let guardrail: any Guardrail
    /// The whole answer so far, and how many bytes of it have passed.
    private var text = ""
    private var passedBytes = 0

    init(_ guardrail: any Guardrail) { self.guardrail = guardrail }

    /// - Returns: The text that may be sent now.
    /// - Throws: `APIError` with the code `content_filter`.
    mutating func pass(_ new: String, isLast: Bool) throws(APIError) -> String {
        text += new
        let passed = text.utf8.index(text.startIndex, offsetBy: passedBytes)
        switch guardrail.review(GuardedText(.answer, text, passed: passed, isWhole: isLast)) {
        case .violation(let message): throw .contentFiltered(message)
        case .pass(let upTo):
            let end = isLast ? text.endIndex : max(passed, upTo)
            defer { passedBytes = text.utf8.distance(from: text.startIndex, to: end) }
            return String(text[passed..<end])
        }
    }
}

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

/// Reads a file of words and phrases, one per line; lines that begin with `#` are skipped.
extension WordListGuardrail {
    init(file: String) throws {
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(whereSeparator: \.isNewline)
        let phrases = lines.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty && !$0.hasPrefix("#") }
        guard phrases.contains(where: { $0.contains { $0.isLetter || $0.isNumber } }) else {
            throw UsageError("--blocked-words \(file): there is no word in this file")
        }
        self.init(phrases, message: "This touches on something that this server does not talk about.")
    }
}
