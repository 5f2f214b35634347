import JSON

extension GenerationRequest<ResponseFields> {
    private static var logprobs: String { "message.output_text.logprobs" }

    /// Values of `include` that are accepted without effect: this server has no such items.
    private static var ofOtherItems: [String] {
        [
            "reasoning.encrypted_content", "file_search_call.results", "web_search_call.results",
            "web_search_call.action.sources", "message.input_image.image_url", "computer_call_output.output.image_url",
            "code_interpreter_call.outputs",
        ]
    }

    /// Checks what `Decodable` cannot. Errors name fields as the client spelled them.
    ///
    /// - Parameter seesImages: Whether messages may have images.
    package func validated(seesImages: Bool = false) throws(APIError) -> Self {
        try fields.input.validate(seesImages)
        try validateGeneration()
        guard generation.choices == 1 else { throw .unsupported("n", "more than one response is") }
        try sampling.check("max_output_tokens", 1...Int64.max)
        try checkRange("top_logprobs", fields.topLogprobs, 0...20)
        for (index, name) in (fields.include ?? []).enumerated()
        where !(Self.ofOtherItems + [Self.logprobs]).contains(name) {
            throw .unsupported("include[\(index)]", "\"\(name)\" is")
        }
        try fields.checkUnsupported()
        _ = try requestedFormat()
        return self
    }

    /// Like `GenerationFields.requestedFormat`, including this endpoint's `text.format`.
    package func requestedFormat() throws(APIError) -> RequestedFormat? {
        let other = try generation.requestedFormat()
        guard let own = try fields.text?.format?.requested("text.format") else { return other }
        if let other { throw .invalid(other.field, "allowed only without text.format") }
        return own
    }

    package var wantsLogprobs: Bool { fields.topLogprobs != nil || fields.include?.contains(Self.logprobs) == true }
}

extension ResponseFields {
    fileprivate func checkUnsupported() throws(APIError) {
        try checkReasoningEffort("reasoning.effort", reasoning?.effort)
        if let summary = reasoning?.requestedSummary, !["auto", "concise", "detailed"].contains(summary) {
            throw .invalid("reasoning.summary", "expected auto, concise or detailed, found \"\(summary)\"")
        }
        try checkVerbosity("text.verbosity", text?.verbosity)
        // A conversation that is too long is an error; nothing is dropped silently.
        if let truncation, truncation != "disabled" { throw .unsupported("truncation", "\"\(truncation)\" is") }
        if background == true, store == false {
            throw .invalid("background", "allowed only with store, since the response is fetched later")
        }
        if conversation != nil, previousResponseID != nil {
            throw .invalid("previous_response_id", "cannot be combined with 'conversation'")
        }
        try validateMetadata(metadata)
        if let prompt, prompt != .null { throw .unsupported("prompt", "a stored prompt is") }
    }
}

/// Checks the pairs that clients attach to what is stored.
func validateMetadata(_ metadata: [String: String]?) throws(APIError) {
    guard let metadata else { return }
    guard metadata.count <= 16 else {
        throw .invalid("metadata", "at most 16 pairs are allowed, got \(metadata.count)")
    }
    for (key, value) in metadata {
        guard key.count <= 64 else { throw .invalid("metadata", "a key has at most 64 characters, got \(key.count)") }
        guard value.count <= 512 else {
            throw .invalid("metadata.\(key)", "a value has at most 512 characters, got \(value.count)")
        }
    }
}

extension ResponseInput {
    /// - Parameter textTypes: Additional types of parts with text in a user's messages.
    func validate(
        _ seesImages: Bool, textTypes: [String] = [], at field: String = "input"
    ) throws(APIError) {
        guard case .items(let items) = self else { return }
        guard !items.isEmpty else { throw .invalid(field, "must have at least one item") }
        for (index, item) in items.enumerated() {
            let path = "\(field)[\(index)]"
            if let hosted = item.hosted {
                try hosted.validate(at: path)
                continue
            }
            switch item.type ?? "message" {
            case "reasoning":
                try item.content?.validate(at: "\(path).content", textTypes: ["reasoning_text", "text"])
                try item.summary?.validate(at: "\(path).summary", textTypes: ["summary_text"])
            case "message":
                guard let role = item.role else { throw .init(missing: "\(path).role") }
                guard ["system", "developer", "user", "assistant"].contains(role) else {
                    throw .invalid("\(path).role", "expected system, developer, user or assistant, found \"\(role)\"")
                }
                guard let content = item.content else { throw .init(missing: "\(path).content") }
                try content.validate(
                    at: "\(path).content",
                    textTypes: ["input_text", "output_text", "text"] + (role == "user" ? textTypes : []),
                    images: role != "user" ? .userOnly : seesImages ? .seen : .unseen)
            case "function_call", "custom_tool_call":
                guard item.callID != nil else { throw .init(missing: "\(path).call_id") }
                guard item.name?.isEmpty == false else { throw .init(missing: "\(path).name") }
                let isCustom = item.type == "custom_tool_call"
                guard (isCustom ? item.input : item.arguments) != nil else {
                    throw .init(missing: "\(path).\(isCustom ? "input" : "arguments")")
                }
            case "function_call_output", "custom_tool_call_output":
                guard item.callID != nil else { throw .init(missing: "\(path).call_id") }
                guard let output = item.output else { throw .init(missing: "\(path).output") }
                try output.validate(
                    at: "\(path).output", textTypes: ["input_text", "output_text", "text"],
                    images: seesImages ? .seen : .unseen)
            case let type: throw .unsupported("\(path).type", "items of type \"\(type)\" are")
            }
        }
    }
}
