public import Foundation

/// What a user thinks of an answer, for the people who make the model or the app.
public struct LanguageModelFeedback: Sendable {
    public enum Sentiment: String, Sendable, CaseIterable, Codable {
        case positive, negative, neutral
    }

    /// What is wrong with an answer.
    public struct Issue: Sendable {
        public enum Category: String, Sendable, CaseIterable, Codable {
            case unhelpful, tooVerbose, didNotFollowInstructions, incorrect, stereotypeOrBias, suggestiveOrSexual
            case vulgarOrOffensive, triggeredGuardrailUnexpectedly
        }

        public var category: Category
        public var explanation: String?

        public init(category: Category, explanation: String? = nil) {
            self.category = category
            self.explanation = explanation
        }
    }
}

extension LanguageModelSession {
    /// What a user thinks of the session's last answer, with the transcript, as JSON to store or send. It goes nowhere by
    /// itself.
    ///
    /// - Parameter desiredOutput: What the model should have answered.
    @discardableResult
    public func logFeedbackAttachment(
        sentiment: LanguageModelFeedback.Sentiment?, issues: [LanguageModelFeedback.Issue] = [],
        desiredOutput: Transcript.Entry? = nil
    ) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let feedback = Attachment(
            sentiment: sentiment,
            issues: issues.map { .init(category: $0.category, explanation: $0.explanation) },
            desiredOutput: desiredOutput, transcript: transcript)
        // Every part of it is text, numbers and lists of those: it can be written.
        return (try? encoder.encode(feedback)) ?? Data()
    }

    /// What a user thinks of the session's last answer, with the text that it should have been.
    @discardableResult
    public func logFeedbackAttachment(
        sentiment: LanguageModelFeedback.Sentiment?, issues: [LanguageModelFeedback.Issue] = [],
        desiredResponseText: String?
    ) -> Data {
        logFeedbackAttachment(
            sentiment: sentiment, issues: issues,
            desiredOutput: desiredResponseText.map {
                .response(.init(assetIDs: [], segments: [.text(.init(content: $0))]))
            })
    }

    /// What a user thinks of the session's last answer, with the value that it should have been.
    @discardableResult
    public func logFeedbackAttachment(
        sentiment: LanguageModelFeedback.Sentiment?, issues: [LanguageModelFeedback.Issue] = [],
        desiredResponseContent: (any ConvertibleToGeneratedContent)?
    ) -> Data {
        logFeedbackAttachment(
            sentiment: sentiment, issues: issues,
            desiredOutput: desiredResponseContent.map {
                .response(
                    .init(
                        assetIDs: [],
                        segments: [.structure(.init(source: "\(type(of: $0))", content: $0.generatedContent))]))
            })
    }

    private struct Attachment: Encodable {
        struct Issue: Encodable {
            let category: LanguageModelFeedback.Issue.Category
            let explanation: String?
        }

        let sentiment: LanguageModelFeedback.Sentiment?
        let issues: [Issue]
        let desiredOutput: Transcript.Entry?
        let transcript: Transcript
    }
}
