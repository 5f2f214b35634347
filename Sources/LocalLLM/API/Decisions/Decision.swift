public import Foundation

/// A question with fixed answers, of which the model gives the probabilities. No text is generated.
public struct DecisionQuestion: Sendable {
    /// What the answer chooses from.
    public enum Kind: Sendable {
        /// How likely a statement is true.
        case predicate
        /// Which of at least two options is right.
        case choice([Option])
        /// Which level fits, of at least two in ascending order.
        case score([Option])

        var hasOptions: Bool { if case .predicate = self { false } else { true } }
    }

    /// An answer that can be given, word for word.
    public struct Option: Sendable, Equatable, ExpressibleByStringLiteral {
        /// The words whose probability is computed.
        public var text: String
        /// What it means, for the model to read.
        public var description: String?

        /// An option that the model reads with its description after it.
        public init(_ text: String, description: String? = nil) { (self.text, self.description) = (text, description) }
        public init(stringLiteral text: String) { self.init(text) }
    }

    /// What the answer chooses from, with the options.
    public var kind: Kind
    /// The statement or question, with `ChatMessage.imagePlaceholder` for each image.
    public var instructions: String
    /// As in `ChatMessage`.
    public var images: [Data] = []

    /// A question of any kind; `predicate`, `choice` and `score` are shorter.
    public init(_ kind: Kind, _ instructions: String) { (self.kind, self.instructions) = (kind, instructions) }

    /// Asks how likely a statement about the input is true.
    public static func predicate(_ statement: String) -> Self { .init(.predicate, statement) }
    /// Asks which of at least two options is right.
    public static func choice(_ question: String, of options: [Option]) -> Self { .init(.choice(options), question) }
    /// Asks for a level of a scale; the levels are in ascending order.
    public static func score(_ question: String, levels: [Option]) -> Self { .init(.score(levels), question) }

    var message: ChatMessage {
        var message = ChatMessage.user(instructions)
        message.images = images
        return message
    }

    /// The answers whose probabilities are computed.
    var options: [Option] {
        switch kind {
        case .predicate: ["True", "False"]
        case .choice(let options), .score(let options): options
        }
    }
}

/// The answer to a `DecisionQuestion`. Probabilities are the model's own, over the question's options: they add up to 1.
public enum DecisionAnswer: Sendable, Equatable {
    /// How likely the statement is true, 0...1.
    case predicate(probability: Double)
    /// The most likely option, and the probability of each.
    case choice(index: Int, probabilities: [Double])
    /// The expected level, from 0 to the number of levels less 1, and the probability of each.
    case score(Double, probabilities: [Double])
    /// A guardrail does not let the question be asked.
    case refusal

    /// How far the likeliest option stands out: 0 if all options are equally likely, 1 if one is certain.
    public var confidence: Double {
        let probabilities =
            switch self {
            case .predicate(let probability): [probability, 1 - probability]
            case .choice(_, let probabilities), .score(_, let probabilities): probabilities
            case .refusal: [Double]()
            }
        let even = 1 / Double(max(2, probabilities.count))
        return max(0, ((probabilities.max() ?? 0) - even) / (1 - even))
    }

    init(_ kind: DecisionQuestion.Kind, _ probabilities: [Double]) {
        switch kind {
        case .predicate: self = .predicate(probability: probabilities[0])
        case .choice:
            let index = probabilities.indices.max { probabilities[$0] < probabilities[$1] } ?? 0
            self = .choice(index: probabilities.firstIndex(of: probabilities[index]) ?? 0, probabilities: probabilities)
        case .score:
            let expected = probabilities.enumerated().reduce(0) { $0 + Double($1.offset) * $1.element }
            self = .score(expected, probabilities: probabilities)
        }
    }
}

/// How `LocalModel.decide` answers.
public struct DecisionOptions: Sendable {
    /// Number of orders in which the options of a choice are shown to the model, as it may prefer the first or the last; the
    /// probabilities are averaged. Each costs as much as a question of its own.
    public var rotations = 1
    /// As in `SamplingOptions`.
    public var cacheSalt: String?
    /// Reviews the input and the questions; those that it stops are answered by `.refusal`. `nil`: none.
    public var guardrail: (any Guardrail)?

    /// One order of the options, no salt, no guardrail.
    public init() {}
}

/// Answers to questions about an input, in the order of the questions.
public struct Decisions: Sendable {
    /// One for each question, in the order of the questions.
    public var answers: [DecisionAnswer]
    /// Tokens of the input and of each question. The input counts once for statements, and once for questions with options.
    public var promptTokens = 0
    /// Of these, tokens found in the prefix cache, and tokens that were added to it.
    public var cachedTokens = 0
    /// Tokens of the input, in whole pages, that later requests with the same input find in the prefix cache.
    public var newlyCachedTokens = 0
}
