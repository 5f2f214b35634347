/// Body of `POST /v1/chat/completions`.
public typealias ChatCompletionRequest = GenerationRequest<ChatFields>

/// What a chat request has besides `GenerationFields`.
///
/// Field names and ranges: OpenAI API reference, "Create chat completion".
public struct ChatFields: Codable, Sendable {
    /// Absent: the only model of the server.
    public var model: String?
    public var messages: [RequestMessage]
    /// Most tokens to generate, reasoning included; the older name of `maxCompletionTokens`.
    public var maxTokens: WholeNumber?
    public var maxCompletionTokens: WholeNumber?
    public var logprobs: Bool?
    /// 0...20; needs `logprobs`.
    public var topLogprobs: WholeNumber?
    /// Variables for the model's chat template, such as `enable_thinking`. An extension of vLLM and llama.cpp.
    public var chatTemplateKwargs: [String: JSONValue]?
    /// Goes to the model's chat template, for those that look at it.
    public var reasoningEffort: String?

    /// What the answer is expected to be, as far as the client knows. Where it is right, the answer comes sooner; it is the
    /// same in any case.
    public var prediction: Prediction?

    /// The older form of `tools` and `tool_choice`.
    public var functions: RawJSON?
    public var functionCall: JSONValue?

    // Looked at only to refuse what is not served, rather than to answer as if it had not been asked for.
    public var modalities: [String]?
    public var audio: JSONValue?
    public var verbosity: String?
    public var webSearchOptions: JSONValue?
    // vLLM's:
    /// Whether the prompt ends with the beginning of an answer. Absent: yes, unless `continueFinalMessage` is true.
    public var addGenerationPrompt: Bool?
    /// Whether the answer goes on with the last message, in place of beginning an own one.
    public var continueFinalMessage: Bool?
    /// Takes the place of the model's own chat template.
    public var chatTemplate: String?

    /// A request that leaves everything but these open.
    public init(model: String?, messages: [RequestMessage]) {
        self.model = model
        self.messages = messages
    }

    public struct Prediction: Codable, Sendable {
        /// `content` is the only one.
        public var type: String
        /// Text, whole or in parts.
        public var content: MessageContent
    }

    public var hasPicture: Bool { messages.contains { $0.content?.hasPicture == true } }

    enum CodingKeys: String, CodingKey {
        case model, messages, functions, logprobs, modalities, audio, verbosity, prediction
        case maxTokens = "max_tokens"
        case maxCompletionTokens = "max_completion_tokens"
        case topLogprobs = "top_logprobs"
        case chatTemplateKwargs = "chat_template_kwargs"
        case reasoningEffort = "reasoning_effort"
        case functionCall = "function_call"
        case webSearchOptions = "web_search_options"
        case addGenerationPrompt = "add_generation_prompt"
        case continueFinalMessage = "continue_final_message"
        case chatTemplate = "chat_template"
    }
}
