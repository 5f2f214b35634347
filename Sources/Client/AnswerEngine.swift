public import LocalLLM

/// Where answers come from.
public enum EngineKind: String, Codable, Sendable, CaseIterable {
    case local, cloud
}

/// Which engine is asked, and which when that one cannot answer.
public enum FallbackPolicy: String, Codable, Sendable, CaseIterable {
    case localFirst, cloudFirst, localOnly, cloudOnly
}

/// An engine that did not answer, and why, in words for a user.
public struct PassedOver: Sendable, Equatable {
    public var engine: EngineKind
    public var reason: String

    public init(engine: EngineKind, reason: String) {
        self.engine = engine
        self.reason = reason
    }
}

/// What comes of a question: first who answers, then the answer.
public enum AnswerEvent: Sendable, Equatable {
    /// Comes once, before any text.
    case began(EngineKind, passedOver: [PassedOver])
    /// More of what the model thinks before its answer, or before it calls a tool.
    case thought(String)
    /// More of the answer.
    case text(String)
    /// What the answer took, where the engine says so; comes last, if at all.
    case finished(AnswerUsage)
}

/// What an answer took.
public struct AnswerUsage: Sendable, Equatable {
    public var promptTokens: Int
    public var completionTokens: Int
    public var tokensPerSecond: Double?
    /// Most tokens that the engine's prompt and answer may have together.
    public var contextSize: Int?
    /// How many of the oldest turns the engine left out, because its context was full.
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

/// Answers conversations with one engine or the other.
public protocol AnswerEngine: Sendable {
    /// Answers a conversation of user's and assistant's messages that ends with a user's.
    ///
    /// A failure before the first thought or text moves on to the next engine of the policy, one after it ends the stream with the
    /// error and repeats nothing. Dropping the stream, or cancelling the task that iterates it, ends the work.
    func answer(_ messages: [ChatMessage], policy: FallbackPolicy) -> AsyncThrowingStream<AnswerEvent, any Error>

    /// Answers a prompt by itself, with no history, and leaves the conversation alone.
    func answer(prompt: String, policy: FallbackPolicy) -> AsyncThrowingStream<AnswerEvent, any Error>
}
