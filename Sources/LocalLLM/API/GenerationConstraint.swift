public import Constraint
import Dialects
import Synchronization
import Tokenizer

/// A shape that a generated text must have, and where in the text it begins.
public struct GenerationConstraint: Sendable, Equatable {
    /// From `LocalModel.constraint(_:)` of the model that generates.
    public var shape: Constraint
    /// The text is free until it contains this, such as the end of a model's thoughts or the beginning of a call of a tool; what
    /// follows has the shape. `nil`: the whole text has it.
    public var start: String?
    /// Whether the text must not end before `start` came.
    public var isRequired: Bool

    public init(_ shape: Constraint, after start: String? = nil, isRequired: Bool = true) {
        self.shape = shape
        self.start = start
        self.isRequired = isRequired
    }

    /// Equal where they have the same constraint, not only an equal one.
    public static func == (one: Self, other: Self) -> Bool {
        one.shape === other.shape && one.start == other.start && one.isRequired == other.isRequired
    }
}

extension LocalModel {
    /// Compiles a constraint for this model's vocabulary. One may serve any number of generations at once.
    ///
    /// The first call takes some 100 ms, to arrange the vocabulary; later ones about a millisecond.
    ///
    /// - Throws: `ConstraintError` that names the keyword and its path; `LocalModelError.noTokenizer`.
    public func constraint(_ source: Constraint.Source) throws -> Constraint {
        try Constraint.compile(source, vocabulary: try vocabulary.tokens(of: tokenizer))
    }
}

extension LocalModel {
    /// Holds the content of an answer to a schema; thoughts before it are free.
    func contentConstraint(_ schema: GenerationSchema, _ parser: AnswerParser) throws -> GenerationConstraint {
        let shape = try constraint(.jsonSchema(try schema.jsonSchema))
        if dialect.isHarmony { return GenerationConstraint(shape, after: "<|channel|>final<|message|>") }
        return GenerationConstraint(shape, after: parser.isReasoning ? dialect.thoughts.close : nil)
    }
}

/// A model's vocabulary as constraints need it, made when the first one is compiled.
final class ConstraintVocabulary: Sendable {
    private let made = Mutex<TokenVocabulary?>(nil)

    func tokens(of tokenizer: TextTokenizer) -> TokenVocabulary {
        made.withLock { made in
            if let made { return made }
            let new = TokenVocabulary(tokenizer)
            made = new
            return new
        }
    }
}
