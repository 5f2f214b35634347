import Client
import FoundationModels
import LocalLLM

/// Continues each message as a text, without a chat template: what a model does that was not trained for conversations.
struct CompletionService: LocalLLMServiceProtocol {
    let model: SystemLanguageModel
    let options: GenerationOptions

    /// Tokens where the user sets no maximum. Such models rarely end a text by themselves.
    private static let standardMaximum = 200

    /// - Parameter options: Without a maximum of tokens, there is a standard one.
    init(model: SystemLanguageModel, options: GenerationOptions) {
        self.model = model
        var options = options
        options.maximumResponseTokens = options.maximumResponseTokens ?? Self.standardMaximum
        self.options = options
    }

    var availability: SystemLanguageModel.Availability { model.availability }
    var statusMessage: String { model.status.statusMessage }

    func prewarm() { Task { try? await model.load() } }
    func load() async throws { try await model.load() }
    func resetSession() {}

    func stream(_ messages: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error> {
        stream(prompt: messages.last?.content ?? "")
    }

    func stream(prompt: String) -> AsyncThrowingStream<AnswerPiece, any Error> {
        AsyncThrowingStream { continuation in
            let task = Task {
                do {
                    for try await piece in model.complete(prompt, options: options) {
                        if !piece.text.isEmpty { continuation.yield(.text(piece.text)) }
                        if let usage = piece.usage {
                            continuation.yield(.usage(AnswerUsage(usage, contextSize: model.contextSize)))
                        }
                    }
                    continuation.finish()
                } catch let violation as GuardrailViolation {
                    continuation.finish(throwing: ContentBlocked(violation.message))
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}
