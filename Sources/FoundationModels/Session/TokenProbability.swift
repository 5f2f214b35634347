import Foundation
import LocalLLM
import Tokenizer

/// A generated token with its log probability, and those of the most likely tokens in its place.
///
/// Natural logarithms of the model's own probabilities: before filters and temperature.
public struct TokenProbability: Sendable, Equatable {
    /// A token that could have been generated.
    public struct Alternative: Sendable, Equatable {
        /// The token's text; a part of a character is U+FFFD. Empty for the end of the answer.
        public let text: String
        /// Natural logarithm of the probability, at most 0.
        public let logProbability: Double
    }

    /// The token's text; a part of a character is U+FFFD. Empty for the end of the answer.
    public let text: String
    /// Natural logarithm of the token's probability, at most 0.
    public let logProbability: Double
    /// As many as `SamplingOptions.topLogprobs` says, most likely first. May include the token itself.
    public let alternatives: [Alternative]

    init(_ token: TokenLogprob, _ tokenizer: TextTokenizer) {
        func text(_ id: Int32) -> String { String(decoding: tokenizer.bytes(of: id), as: UTF8.self) }
        self.text = text(token.token)
        logProbability = token.logprob
        alternatives = token.top.map { Alternative(text: text($0.token), logProbability: $0.logprob) }
    }
}
