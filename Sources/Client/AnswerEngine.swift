public import LocalLLM

/// The two engines that can answer.
public enum EngineKind: String, Codable, Sendable, CaseIterable {
    case local, cloud
}

/// The order in which engines are tried.
public enum FallbackPolicy: String, Codable, Sendable, CaseIterable {
    case localFirst, cloudFirst, localOnly, cloudOnly
}

/// An engine that did not answer, and the reason to show to the user.
public struct PassedOver: Sendable, Equatable {
    public var engine: EngineKind
    /// Text for the user.
    public var reason: String

    public init(engine: EngineKind, reason: String) {
        self.engine = engine
        self.reason = reason
    }
}

/// An event of an answer: first the engine, then the text.
public enum AnswerEvent: Sendable, Equatable {
    /// Sent once, before any text.
    case began(EngineKind, passedOver: [PassedOver])
    /// More reasoning.
    case thought(String)
    /// More text of the answer.
    case text(String)
    /// The model makes this many tool calls. All text that precedes them was sent before.
    case toolCalls(Int)
    /// Token counts and speed, last, if the engine reports them.
    case finished(AnswerUsage)
}

/// Token counts and speed of an answer.
public struct AnswerUsage: Sendable, Equatable {
    public var promptTokens: Int
    public var completionTokens: Int
    /// Decode speed; `nil` if not measured.
    public var tokensPerSecond: Double?
    /// Context length of the engine in tokens, prompt and answer together.
    public var contextSize: Int?
    /// Number of oldest turns that were left out because the context was full.
    public var omittedTurns: Int

    public init(
        promptTokens: Int, completionTokens: Int, tokensPerSecond: Double? = nil, contextSize: Int? = nil,
        omittedTurns: Int = 0
    ) {
        self.promptTokens = promptTokens
        self.completionTokens = completionTokens
        self.tokensPerSecond = tokensPerSecond
        self.contextSize = contextSize
        self.omittedTurns = omittedTurns
    }
}

/// Answers conversations with the engines of a policy.
public protocol AnswerEngine: Sendable {
    /// Answers a conversation of user and assistant messages that ends with a user message.
    ///
    /// If an engine fails before its first output, the policy's next one is tried; a later failure ends the stream with
    /// the error. Dropping the stream or cancelling the iterating task cancels the answer.
    func answer(_ messages: [ChatMessage], policy: FallbackPolicy) -> AsyncThrowingStream<AnswerEvent, any Error>

    /// Answers a single prompt without history.
    func answer(prompt: String, policy: FallbackPolicy) -> AsyncThrowingStream<AnswerEvent, any Error>
}
