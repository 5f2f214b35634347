public import Foundation

/// Runs a model: loads it, and turns requests into events.
public protocol LanguageModelExecutor: Sendable {
    /// Decides which executor a session uses: equal configurations share one. It has all that changes the executor's
    /// behavior.
    associatedtype Configuration: Hashable, Sendable
    /// The models that it runs; a session passes one with each request.
    associatedtype Model: LanguageModel

    /// Prepares for requests, for instance by loading the model. Not always called.
    ///
    /// - Parameter transcript: What the next request begins with.
    func prewarm(model: Model, transcript: Transcript)

    /// Called once for equal configurations of a session, before its first request. An error ends that request.
    init(configuration: Configuration) throws

    /// Generates the model's next message.
    ///
    /// - Parameters:
    ///   - model: The model of this request; its configuration is equal to this executor's.
    ///   - channel: Receives the message, piece by piece.
    /// - Throws: `LanguageModelError` where one fits. The session passes on any error.
    func respond(
        to request: LanguageModelExecutorGenerationRequest, model: Model,
        streamingInto channel: LanguageModelExecutorGenerationChannel
    ) async throws
}

extension LanguageModelExecutor {
    /// Does nothing.
    public func prewarm(model: Model, transcript: Transcript) {}
}

/// A request for one message.
public struct LanguageModelExecutorGenerationRequest: Sendable {
    /// Another one for each message, for logs of a provider.
    public var id: UUID
    /// The whole conversation: instructions, earlier turns, the prompt, and the calls and outputs after it.
    public var transcript: Transcript
    /// The tools that the message may call.
    public var enabledToolDefinitions: [Transcript.ToolDefinition]
    /// Schema of the message unless it is calls; `nil`: text.
    public var schema: GenerationSchema?
    /// Sampling, limits and tool calling mode: those of the call, filled from the profile's.
    public var generationOptions: GenerationOptions
    /// Whether the prompt is to contain the schema, and how much the model thinks.
    public var contextOptions: ContextOptions
    /// Values of the caller of `respond`.
    public var metadata: [String: GeneratedContent]

    /// For tests of an executor, and executors that pass requests on.
    public init(
        id: UUID, transcript: Transcript, enabledTools: [Transcript.ToolDefinition], schema: GenerationSchema? = nil,
        generationOptions: GenerationOptions, contextOptions: ContextOptions,
        metadata: [String: any ConvertibleToGeneratedContent & Sendable]
    ) {
        self.id = id
        self.transcript = transcript
        enabledToolDefinitions = enabledTools
        self.schema = schema
        self.generationOptions = generationOptions
        self.contextOptions = contextOptions
        self.metadata = metadata.contents
    }
}
