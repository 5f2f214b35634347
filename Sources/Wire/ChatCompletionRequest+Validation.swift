import JSON

extension GenerationRequest<ChatFields> {
    /// Checks what `Decodable` cannot. Errors name fields as the client spelled them.
    ///
    /// - Parameter seesImages: Whether messages may have images.
    package func validated(seesImages: Bool = false) throws(APIError) -> Self {
        try fields.messages.validate(seesImages: seesImages)
        try validateGeneration()
        try checkRange("top_logprobs", fields.topLogprobs, 0...20)
        if let top = fields.topLogprobs, top.value > 0, fields.logprobs != true {
            throw .invalid("top_logprobs", "allowed only when logprobs is true")
        }
        try fields.checkUnsupported()
        return self
    }
}

extension ChatFields {
    fileprivate func checkUnsupported() throws(APIError) {
        if let modality = modalities?.first(where: { $0 != "text" }) {
            throw .unsupported("modalities", "\"\(modality)\" is")
        }
        if let audio, audio != .null { throw .unsupported("audio", "audio is") }
        try checkVerbosity("verbosity", verbosity)
        try checkPromptEnding(
            addGenerationPrompt: addGenerationPrompt, continueFinalMessage: continueFinalMessage, messages)
        try checkReasoningEffort("reasoning_effort", reasoningEffort)
        try prediction?.validate()
        if let format = reasoningFormat, !["none", "auto", "deepseek"].contains(format) {
            throw .invalid("reasoning_format", "expected none, auto or deepseek, found \"\(format)\"")
        }
        if let search = webSearchOptions, search != .null { throw .unsupported("web_search_options", "web search is") }
    }
}

extension ChatFields.Prediction {
    fileprivate func validate() throws(APIError) {
        guard type == "content" else { throw .invalid("prediction.type", "expected \"content\", found \"\(type)\"") }
        guard case .parts(let parts) = content,
            let index = parts.firstIndex(where: { $0.type != "text" || $0.text == nil })
        else { return }
        throw .invalid("prediction.content[\(index)]", "expected a part of type \"text\" with a text")
    }
}

/// - Parameter field: Name of the field in the request, for errors.
func checkReasoningEffort(_ field: String, _ effort: String?) throws(APIError) {
    let known = ["none", "minimal", "low", "medium", "high", "xhigh"]
    guard let effort, !known.contains(effort) else { return }
    throw .invalid(field, "expected \(known.joined(separator: ", ")), found \"\(effort)\"")
}

/// Local models have no such setting: the values that OpenAI defines have no effect.
func checkVerbosity(_ field: String, _ verbosity: String?) throws(APIError) {
    guard let verbosity, !["low", "medium", "high"].contains(verbosity) else { return }
    throw .invalid(field, "expected low, medium or high, found \"\(verbosity)\"")
}

func checkPromptEnding(
    addGenerationPrompt: Bool?, continueFinalMessage: Bool?, _ messages: [RequestMessage]
) throws(APIError) {
    guard continueFinalMessage == true else { return }
    if addGenerationPrompt == true {
        throw .invalid("continue_final_message", "cannot be true together with add_generation_prompt")
    }
    if messages.last?.text.allSatisfy(\.isWhitespace) != false {
        throw .invalid("continue_final_message", "the last message has no text to continue")
    }
}

extension GenerationFields {
    /// Refuses tools. An empty list passes, which many clients send for none.
    func checkNoTools() throws(APIError) {
        if let tools, !tools.isEmpty { throw .unsupported("tools", "tools are") }
        guard let toolChoice, toolChoice != .null, toolChoice != .string("none"), toolChoice != .string("auto") else {
            return
        }
        throw .unsupported("tool_choice", "a choice other than \"none\" and \"auto\" is")
    }
}
