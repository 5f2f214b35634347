extension LanguageModelSession {
    public typealias Usage = LocalLLM.Usage
}

extension Usage {
    static let none = Usage(promptTokens: 0, cachedTokens: 0, completionTokens: 0)

    /// Counts without times, as services report them.
    package init(promptTokens: Int, cachedTokens: Int, completionTokens: Int) {
        self.init(
            promptTokens: promptTokens, cachedTokens: cachedTokens, completionTokens: completionTokens,
            secondsToFirstToken: 0, decodeSeconds: 0)
    }
}

/// The 27 SDK's names of the counts.
extension Usage {
    public struct Input: Sendable, Equatable {
        public let totalTokenCount: Int
        /// Tokens of the prompt found in the prefix cache.
        public let cachedTokenCount: Int
    }

    public struct Output: Sendable, Equatable {
        public let totalTokenCount: Int
    }

    public var input: Input { Input(totalTokenCount: promptTokens, cachedTokenCount: cachedTokens) }
    public var output: Output { Output(totalTokenCount: completionTokens) }
    public var totalTokenCount: Int { promptTokens + completionTokens }
}
