package import Constraint
package import Dialects
package import Template
package import Tokenizer

/// What a conversation needs of a model. Tests replace it by a scripted one.
package protocol ConversationModel: Sendable {
    var contextSize: Int { get }
    var tokenizer: TextTokenizer { get throws(LocalModelError) }
    /// The tokens as constraints need them.
    var vocabulary: TokenVocabulary { get throws(LocalModelError) }
    /// The markup in which the model writes reasoning and tool calls.
    var dialect: Dialect { get }
    /// Control tokens that are part of the dialect's markers.
    var markerTokens: Set<Int32> { get }

    func render(
        _ messages: [ChatMessage], variables: TemplateObject, ending: PromptEnding, template: ChatTemplate?
    ) throws(LocalModelError) -> String
    func read(_ messages: [ChatMessage], cacheSalt: String?) async throws -> [ModelImage]
    func prompt(ofQuoted rendered: String, images: [ModelImage]) throws(LocalModelError) -> ModelPrompt
    func constraint(_ source: Constraint.Source) throws -> Constraint
    func constraint(_ shape: ConstraintGraph.Shape) throws -> ConstraintGraph
    func generate(_ prompt: ModelPrompt, options: SamplingOptions, group: GenerationGroup?) -> Generation
    func logprobs(of tokens: [Int32], top: Int) async throws -> [TokenLogprob]
}

extension LocalModel: ConversationModel {
    package var vocabulary: TokenVocabulary {
        get throws(LocalModelError) { constraints.vocabulary(of: try tokenizer) }
    }
}
