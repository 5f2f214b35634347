public import Foundation
import JSON

/// A user's feedback on an answer, for the developers of the model or the app.
public struct LanguageModelFeedback: Sendable {
    /// How the user judges an answer.
    public enum Sentiment: String, Sendable, CaseIterable, Codable {
        case positive, negative, neutral
    }

    /// A problem with an answer.
    public struct Issue: Sendable {
        /// What is wrong with an answer.
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
    /// A user's feedback on the session's last answer, with the transcript, as JSON. It is not sent anywhere.
    ///
    /// - Parameter desiredOutput: The answer that the model should have given.
    @discardableResult
    public func logFeedbackAttachment(
        sentiment: LanguageModelFeedback.Sentiment?, issues: [LanguageModelFeedback.Issue] = [],
        desiredOutput: Transcript.Entry? = nil
    ) -> Data {
        let feedback = Attachment(
            sentiment: sentiment,
            issues: issues.map { .init(category: $0.category, explanation: $0.explanation) },
            desiredOutput: desiredOutput, transcript: transcript)
        // Cannot fail: the parts are strings, numbers and arrays of those.
        return (try? JSON.encode(feedback)).map { Data($0) } ?? Data()
    }

    /// A user's feedback on the session's last answer, with the text that it should have been.
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
