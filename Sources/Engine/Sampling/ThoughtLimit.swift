package import Dialects
import Tokenizer

extension SamplingOptions {
    /// Ends a model's reasoning with a text of its own markup after a number of tokens.
    public struct ThoughtLimit: Sendable, Equatable {
        /// Maximum tokens of reasoning.
        public var tokens: Int
        /// Markup that opens the reasoning; `close` ends it.
        public var open: String
        public var close: String
        /// Text to insert when the limit is reached; contains `close`.
        public var ending: String
        /// Whether the prompt already opened the reasoning.
        public var areOpen: Bool

        public init(tokens: Int, open: String, close: String, ending: String, areOpen: Bool) {
            self.tokens = tokens
            self.open = open
            self.close = close
            self.ending = ending
            self.areOpen = areOpen
        }

        /// The limit for a dialect's reasoning markup; `nil` if its model has none.
        ///
        /// - Parameter prompt: Text before the answer.
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

/// Counts the reasoning tokens of one generation.
struct ThoughtCounter {
    private enum Phase {
        /// The text so far: reasoning comes first or not at all.
        case before([UInt8])
        /// `tail`: end of the text, shorter than the closing markup.
        case inside(tokens: Int, tail: [UInt8])
        case after
    }

    private let limit: SamplingOptions.ThoughtLimit
    private let close: [UInt8]
    private var phase: Phase
    /// The tokens that end the reasoning.
    let ending: [Int32]

    init(_ limit: SamplingOptions.ThoughtLimit, _ tokenizer: TextTokenizer) {
        self.limit = limit
        close = Array(limit.close.utf8)
        phase = limit.areOpen ? .inside(tokens: 0, tail: []) : .before([])
        ending = tokenizer.encode(limit.ending, addSpecial: false, parseSpecial: true)
    }

    /// Whether the limit is reached.
    var isDue: Bool { if case .inside(let tokens, _) = phase { tokens >= limit.tokens } else { false } }

    /// - Parameter bytes: Bytes of a token, control tokens included.
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
