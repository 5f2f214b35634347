public import Foundation
import JSON

/// A user's feedback on an answer, for the developers of the model or the app.
public struct LanguageModelFeedback: Sendable {
    /// How the user judges an answer.
    public enum Sentiment: String, Sendable, CaseIterable, Codable {
        /// The answer helped.
        case positive
        /// The answer was wrong, or of no use.
        case negative
        /// Neither.
        case neutral
    }

    /// A problem with an answer.
    public struct Issue: Sendable {
        /// What is wrong with an answer.
        public enum Category: String, Sendable, CaseIterable, Codable {
            /// It does not help with what was asked.
            case unhelpful
            /// It is longer than the question needs.
            case tooVerbose
            /// It does other than the instructions or the prompt said.
            case didNotFollowInstructions
            /// It states something false.
            case incorrect
            /// It judges people by a group that they belong to.
            case stereotypeOrBias
            /// It is sexual without having been asked to be.
            case suggestiveOrSexual
            /// It insults, or swears.
            case vulgarOrOffensive
            /// A guardrail stopped a prompt or an answer that is harmless.
            case triggeredGuardrailUnexpectedly
        }

        /// The kind of problem.
        public var category: Category
        /// The user's own words; they go into the JSON as they are.
        public var explanation: String?

        /// An issue to pass to `LanguageModelSession.logFeedbackAttachment`.
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
