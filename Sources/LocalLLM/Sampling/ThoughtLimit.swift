package import Dialects
import Tokenizer

extension SamplingOptions {
    /// Ends a model's thoughts in its own way once they have so many tokens.
    public struct ThoughtLimit: Sendable, Equatable {
        public var tokens: Int
        /// What begins thoughts, and what ends them.
        public var open: String
        public var close: String
        /// What is written when the limit is reached; contains `close`.
        public var ending: String
        /// Whether the prompt has begun them.
        public var areOpen: Bool

        public init(tokens: Int, open: String, close: String, ending: String, areOpen: Bool) {
            self.tokens = tokens
            self.open = open
            self.close = close
            self.ending = ending
            self.areOpen = areOpen
        }

        /// For a dialect's own thoughts; `nil` where its model has none.
        ///
        /// - Parameter prompt: What the answer follows.
        package init?(tokens: Int, _ dialect: Dialect, after prompt: String) {
            if dialect.isHarmony {
                self.init(
                    tokens: tokens, open: "<|channel|>analysis<|message|>", close: "<|end|>",
                    ending: "<|end|><|start|>assistant<|channel|>final<|message|>", areOpen: false)
                return
            }
            let thoughts = dialect.thoughts
            guard !thoughts.open.isEmpty, !thoughts.close.isEmpty else { return nil }
            self.init(
                tokens: tokens, open: thoughts.open, close: thoughts.close,
                ending: thoughts.beforeClose + thoughts.close + thoughts.afterClose,
                areOpen: !dialect.closing(after: prompt).isEmpty)
        }
    }
}

/// Counts the tokens of thoughts in the course of one generation.
struct ThoughtCounter {
    private enum Phase {
        /// The text so far: thoughts come first or not at all.
        case before([UInt8])
        /// The end of the text, shorter than what closes thoughts.
        case inside(tokens: Int, tail: [UInt8])
        case after
    }

    private let limit: SamplingOptions.ThoughtLimit
    private let close: [UInt8]
    private var phase: Phase
    /// The tokens that end the thoughts.
    let ending: [Int32]

    init(_ limit: SamplingOptions.ThoughtLimit, _ tokenizer: TextTokenizer) {
        self.limit = limit
        close = Array(limit.close.utf8)
        phase = limit.areOpen ? .inside(tokens: 0, tail: []) : .before([])
        ending = tokenizer.encode(limit.ending, addSpecial: false, parseSpecial: true)
    }

    /// Whether the thoughts have to end here.
    var isDue: Bool { if case .inside(let tokens, _) = phase { tokens >= limit.tokens } else { false } }

    /// - Parameter bytes: Of a token, control tokens included.
    mutating func accept(_ bytes: [UInt8]) {
        switch phase {
        case .before(let text):
            let text = text.isEmpty ? Array(bytes.drop { [0x20, 0x09, 0x0a, 0x0d].contains($0) }) : text + bytes
            let open = Array(limit.open.utf8)
            if text.starts(with: open) {
                phase = .inside(tokens: 0, tail: [])
            } else {
                phase = open.starts(with: text) ? .before(text) : .after
            }
        case .inside(let tokens, let tail):
            let text = tail + bytes
            phase =
                text.firstRange(of: close) == nil
                ? .inside(tokens: tokens + 1, tail: Array(text.suffix(max(0, close.count - 1)))) : .after
        case .after: break
        }
    }
}
