package import JSON

/// Body of `POST /v1/chat/completions`.
package typealias ChatCompletionRequest = GenerationRequest<ChatFields>

/// Fields of a chat request besides those that all generation requests have.
///
/// Field names and ranges: OpenAI API reference, "Create chat completion".
package struct ChatFields: Codable, Sendable {
    /// Absent: the server's only model.
    package var model: String?
    package var messages: [RequestMessage]
    package var logprobs: Bool?
    /// 0...20; needs `logprobs`.
    package var topLogprobs: WholeNumber?
    /// Variables for the model's chat template, such as `enable_thinking`. An extension of vLLM and llama.cpp.
    package var chatTemplateKwargs: JSON.Object?
    /// Passed to the model's chat template, if it uses it.
    package var reasoningEffort: String?

    /// Expected text of the answer, used as draft tokens: speeds up matching parts without changing the answer.
    package var prediction: Prediction?

    /// The older form of `tools` and `tool_choice`.
    package var functions: JSON?
    package var functionCall: JSON?

    /// `low`, `medium` or `high`; without effect.
    package var verbosity: String?
    // Decoded only to refuse unsupported values.
    package var modalities: [String]?
    package var audio: JSON?
    package var webSearchOptions: JSON?
    // vLLM's extensions:
    /// Whether the prompt ends with the start of an answer. Absent: yes, unless `continueFinalMessage` is true.
    package var addGenerationPrompt: Bool?
    /// Whether the answer continues the last message instead of starting a new one.
    package var continueFinalMessage: Bool?
    /// Whether the answer includes its reasoning. Absent: yes.
    package var includeReasoning: Bool?
    /// Used instead of the model's own chat template.
    package var chatTemplate: String?
    // llama.cpp's extensions:
    /// `none` leaves reasoning in the content, with its markers. Absent, `auto` and `deepseek`: it is separate.
    package var reasoningFormat: String?

    /// A request with defaults for all other fields.
    package init(model: String?, messages: [RequestMessage]) {
        self.model = model
        self.messages = messages
    }

    package struct Prediction: Codable, Sendable {
        /// Always `content`.
        package var type: String
        /// Text, or parts with text.
        package var content: MessageContent
    }

    /// Whether any message has an image.
    package var hasImage: Bool { messages.contains { $0.content?.hasImage == true } }

    enum CodingKeys: String, CodingKey {
        case model, messages, functions, logprobs, modalities, audio, verbosity, prediction
        case topLogprobs = "top_logprobs"
        case chatTemplateKwargs = "chat_template_kwargs"
        case reasoningEffort = "reasoning_effort"
        case functionCall = "function_call"
        case webSearchOptions = "web_search_options"
        case addGenerationPrompt = "add_generation_prompt"
        case continueFinalMessage = "continue_final_message"
        case includeReasoning = "include_reasoning"
        case reasoningFormat = "reasoning_format"
        case chatTemplate = "chat_template"
    }
}
