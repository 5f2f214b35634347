public import LocalLLM

extension LanguageModelSession {
    /// Numbers of tokens: of a request, with all its messages, or of a session.
    public struct Usage: Sendable {
        /// Tokens that the model read.
        public struct Input: Sendable {
            /// Tokens of the prompts, cached ones included.
            public var totalTokenCount: Int
            /// Tokens found in the prefix cache.
            public var cachedTokenCount: Int

            /// Usage of a request, for tests and for code that adds usage up.
            public init(totalTokenCount: Int, cachedTokenCount: Int) {
                self.totalTokenCount = totalTokenCount
                self.cachedTokenCount = cachedTokenCount
            }
        }

        /// Tokens that the model generated.
        public struct Output: Sendable {
            /// Generated tokens, reasoning included.
            public var totalTokenCount: Int
            /// Of these, tokens of reasoning; for a service, as it reports them.
            public var reasoningTokenCount: Int

            /// Usage of a request, for tests and for code that adds usage up.
            public init(totalTokenCount: Int, reasoningTokenCount: Int) {
                self.totalTokenCount = totalTokenCount
                self.reasoningTokenCount = reasoningTokenCount
            }
        }

        /// What the model read.
        public var input: Input
        /// What the model wrote.
        public var output: Output
        /// Figures that an executor sent with its usage; empty for models of this machine.
        public var metadata: [String: GeneratedContent]
        /// Times, and counts of drafts, of a request that a model of this machine answered.
        public internal(set) var measured: LocalLLM.Usage?

        /// Usage of a request, for tests and for code that adds usage up.
        public init(
            input: Input, output: Output, metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
        ) {
            self.input = input
            self.output = output
            self.metadata = metadata.contents
        }

        /// Tokens read and written together.
        public var totalTokenCount: Int { input.totalTokenCount + output.totalTokenCount }
    }
}

extension LanguageModelSession.Usage {
    init() {
        self.init(
            input: .init(totalTokenCount: 0, cachedTokenCount: 0),
            output: .init(totalTokenCount: 0, reasoningTokenCount: 0))
    }

    init(_ usage: LocalLLM.Usage, reasoningTokens: Int) {
        self.init(
            input: .init(totalTokenCount: usage.promptTokens, cachedTokenCount: usage.cachedTokens),
            output: .init(totalTokenCount: usage.completionTokens, reasoningTokenCount: reasoningTokens))
        measured = usage
    }

    /// Adds the usage of another message. Of several metadata values the last counts.
    static func += (sum: inout Self, more: Self) {
        sum.input.totalTokenCount += more.input.totalTokenCount
        sum.input.cachedTokenCount += more.input.cachedTokenCount
        sum.output.totalTokenCount += more.output.totalTokenCount
        sum.output.reasoningTokenCount += more.output.reasoningTokenCount
        sum.metadata.merge(more.metadata) { $1 }
        sum.measured = sum.measured.map { $0.adding(more.measured) } ?? more.measured
    }
}

extension LocalLLM.Usage {
    /// The sum with the usage of a later message.
    func adding(_ more: LocalLLM.Usage?) -> Self {
        guard let more else { return self }
        var sum = self
        sum.promptTokens += more.promptTokens
        sum.cachedTokens += more.cachedTokens
        sum.completionTokens += more.completionTokens
        sum.draftedTokens += more.draftedTokens
        sum.acceptedTokens += more.acceptedTokens
        sum.decodeSeconds += more.secondsToFirstToken + more.decodeSeconds
        sum.samplingSeconds += more.samplingSeconds
        return sum
    }
}
