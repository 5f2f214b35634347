package import Constraint
package import Template
package import Tokenizer

/// What a conversation needs of a model. Tests replace it by a scripted one.
package protocol ConversationModel: Provider {
    var contextSize: Int { get }
    var tokenizer: TextTokenizer { get throws(LocalModelError) }
    /// The model's template for conversations with tools; `nil` if its only template is for these, too.
    var toolTemplate: ChatTemplate? { get throws(LocalModelError) }

    /// How answers are written.
    ///
    /// - Parameter template: The template of a request; `nil`: the model's own.
    func markup(of template: ChatTemplate?) -> ChatMarkup
    /// The tokens as constraints on answers in a markup need them.
    func vocabulary(in markup: ChatMarkup) throws(LocalModelError) -> TokenVocabulary
    func constraint(_ source: Constraint.Source, in markup: ChatMarkup) throws -> Constraint
    func constraint(_ shape: ConstraintGraph.Shape, in markup: ChatMarkup) throws -> ConstraintGraph
    func render(
        _ messages: [ChatMessage], variables: TemplateObject, ending: PromptEnding, template: ChatTemplate?
    ) throws(LocalModelError) -> String
    func read(_ messages: [ChatMessage], cacheSalt: String?) async throws -> [ModelImage]
    func prompt(ofQuoted rendered: String, images: [ModelImage]) throws(LocalModelError) -> ModelPrompt
    func generate(_ prompt: ModelPrompt, options: SamplingOptions, group: GenerationGroup?) -> Generation
    func logprobs(of tokens: [Int32], top: Int) async throws -> [TokenLogprob]
}

extension LocalModel: ConversationModel {
    package var toolTemplate: ChatTemplate? { get throws(LocalModelError) { try format.toolTemplate } }

    package func vocabulary(in markup: ChatMarkup) throws(LocalModelError) -> TokenVocabulary {
        constraints.vocabulary(of: try tokenizer, markers: markup.markerTokens)
    }
}
