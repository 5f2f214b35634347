import LocalLLM
import Tokenizer

/// Counts of tokens, as the model reads them. They load the model.
extension SystemLanguageModel {
    /// Number of tokens of a prompt's text and images, without those that the chat template adds for a turn.
    public func tokenCount(for prompt: some PromptRepresentable) async throws -> Int {
        let segments = prompt.promptRepresentation.segments
        return try await tokenCount(of: segments)
    }

    /// Number of tokens of the text and the images of instructions.
    public func tokenCount(for instructions: Instructions) async throws -> Int {
        try await tokenCount(of: instructions.segments)
    }

    /// Number of tokens that tools add to a conversation, as the chat template renders them.
    public func tokenCount(for tools: [any Tool]) async throws -> Int {
        let offer = try SessionTools(tools).offer(nil)
        return try await namingErrors { [host] in
            let model = try await host.model()
            func count(_ tools: ToolOffer) throws -> Int {
                try ConversationWindow(Transcript(), tools: tools).prompt(for: model, adding: "a").tokens.count
            }
            return try count(offer) - count(.init())
        }
    }

    /// Number of tokens of a schema, as a prompt contains it.
    public func tokenCount(for schema: GenerationSchema) async throws -> Int {
        let segments = [Transcript.Segment](text: try schema.jsonSchema)
        return try await tokenCount(of: segments)
    }

    /// Number of tokens of a conversation as the chat template renders it.
    public func tokenCount(for transcriptEntries: some Collection<Transcript.Entry>) async throws -> Int {
        let transcript = Transcript(entries: transcriptEntries)
        return try await namingErrors { [host, useCase] in
            let model = try await host.model()
            let images = try await model.images(of: transcript)
            return try ConversationWindow(transcript, for: useCase, images: images).prompt(for: model).tokens.count
        }
    }

    private func tokenCount(of segments: [Transcript.Segment]) async throws -> Int {
        try await namingErrors { [host] in
            let model = try await host.model()
            let images = try await model.images(of: Transcript(entries: [.prompt(.init(segments: segments))]))
            let text = segments.filter { $0.image == nil }.text
            let count = try model.tokenizer.encode(text, addSpecial: false, parseSpecial: false).count
            return images.values.reduce(count) { $0 + $1.tokenCount }
        }
    }
}
