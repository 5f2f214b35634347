import Client
import FoundationModels
import LocalLLM

/// Answers each message with JSON that a schema describes, in one piece.
struct SchemaService<Model: LanguageModel>: ChatServiceProtocol {
    let model: Model
    let schema: GenerationSchema
    let instructions: String?
    let options: GenerationOptions

    func stream(_ messages: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error> {
        AsyncThrowingStream { continuation in
            let task = Task {
                do {
                    let told = instructions.map { [ChatMessage.system($0)] } ?? []
                    let session = LanguageModelSession(
                        model: model, transcript: Transcript(entries: (told + messages.dropLast()).map(\.entry)))
                    let response = try await session.respond(
                        to: messages.last?.prompt ?? Prompt(""), schema: schema, options: options)
                    continuation.yield(.text(response.content.jsonString))
                    continuation.finish()
                } catch LanguageModelError.guardrailViolation(let details) {
                    continuation.finish(throwing: ContentBlocked(details.debugDescription))
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    func stream(prompt: String) -> AsyncThrowingStream<AnswerPiece, any Error> { stream([.user(prompt)]) }
}

extension SchemaService: LocalLLMServiceProtocol where Model == SystemLanguageModel {
    var availability: SystemLanguageModel.Availability { model.availability }
    var statusMessage: String { model.status.statusMessage }

    func prewarm() { Task { try? await model.load() } }
    func load() async throws { try await model.load() }
    func resetSession() {}
}
