public import Foundation
public import FoundationModels
public import LocalLLM

/// Replaces the local engine on devices that cannot run one.
public struct FallbackLLMService: LocalLLMServiceProtocol {
    /// The device has no local engine.
    public struct NotEligible: LocalizedError, Equatable, Sendable {
        public let errorDescription: String?
    }

    public let availability = SystemLanguageModel.Availability.unavailable(.deviceNotEligible)
    public let statusMessage: String

    /// - Parameter reason: Text for the user.
    public init(reason: String = SystemLanguageModel.Availability.unavailable(.deviceNotEligible).statusMessage) {
        statusMessage = reason
    }

    public func prewarm() {}
    public func resetSession() {}

    public func stream(_: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error> { refusal }
    public func stream(prompt _: String) -> AsyncThrowingStream<AnswerPiece, any Error> { refusal }

    private var refusal: AsyncThrowingStream<AnswerPiece, any Error> {
        .init { $0.finish(throwing: NotEligible(errorDescription: statusMessage)) }
    }
}
