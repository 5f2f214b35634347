extension ChatCompletionRequest {
    /// Checks what `Decodable` cannot, naming each field as the client spelled it.
    public func validated() throws(APIError) -> Self {
        try checkMessages()
        try checkSampling()
        try checkLength()
        try checkUnsupported()
        if streamOptions != nil, stream != true {
            throw .invalid("stream_options", "allowed only when stream is true")
        }
        return self
    }

    /// `logit_bias` by token id. Its keys and values are checked in `validated()`.
    public var logitBiasByToken: [Int32: Double] {
        (logitBias ?? [:]).reduce(into: [:]) { result, entry in
            if let id = Int32(entry.key) { result[id] = entry.value }
        }
    }

    private func checkMessages() throws(APIError) {
        guard !messages.isEmpty else { throw .invalid("messages", "must have at least one message") }
        for (index, message) in messages.enumerated() {
            let path = "messages[\(index)]"
            if let calls = message.toolCalls, !calls.isEmpty {
                throw .unsupported("\(path).tool_calls", "tool calls are")
            }
            if let call = message.functionCall, call != .null {
                throw .unsupported("\(path).function_call", "function calls are")
            }
            switch message.role {
            case "system", "developer", "user", "assistant": break
            case "tool", "function": throw .unsupported("\(path).role", "messages of role \(message.role) are")
            default:
                throw .invalid(
                    "\(path).role", "expected system, developer, user or assistant, found \"\(message.role)\"")
            }
            guard let content = message.content else { throw .init(missing: "\(path).content") }
            guard case .parts(let parts) = content else { continue }
            for (number, part) in parts.enumerated() {
                let path = "\(path).content[\(number)]"
                guard part.type == "text" else {
                    throw .unsupported("\(path).type", "content parts of type \"\(part.type)\" are")
                }
                guard part.text != nil else { throw .init(missing: "\(path).text") }
            }
        }
    }

    private func checkSampling() throws(APIError) {
        try check("temperature", temperature, 0...2)
        try check("top_p", topP, 0...1)
        try check("presence_penalty", presencePenalty, -2...2)
        try check("frequency_penalty", frequencyPenalty, -2...2)
        try check("min_p", minP, 0...1)
        try check("typical_p", typicalP, 0...1)
        try check("repeat_penalty", repeatPenalty, 0.01...100)
        try check("repetition_penalty", repetitionPenalty, 0.01...100)
        if let topK, topK.value < -1 { throw .invalid("top_k", "must be -1 or more, got \(topK.value)") }
        for (key, bias) in logitBias ?? [:] {
            guard let id = Int32(key), id >= 0 else {
                throw .invalid("logit_bias", "expected token ids as keys, found \"\(key)\"")
            }
            try check("logit_bias.\(key)", bias, -100...100)
        }
    }

    private func checkLength() throws(APIError) {
        for (name, value) in [("max_tokens", maxTokens), ("max_completion_tokens", maxCompletionTokens)] {
            if let value, value.value < 1 { throw .invalid(name, "must be at least 1, got \(value.value)") }
        }
        guard let stop else { return }
        guard stop.elements.count <= 4 else {
            throw .invalid("stop", "at most 4 strings are allowed, got \(stop.elements.count)")
        }
        guard !stop.elements.contains("") else { throw .invalid("stop", "a stop string must not be empty") }
    }

    private func checkUnsupported() throws(APIError) {
        if let n, n.value != 1 {
            guard n.value > 1 else { throw .invalid("n", "must be at least 1, got \(n.value)") }
            throw .unsupported("n", "more than one choice is")
        }
        if let tools, !tools.isEmpty { throw .unsupported("tools", "tools are") }
        if let functions, !functions.isEmpty { throw .unsupported("functions", "functions are") }
        for (name, choice) in [("tool_choice", toolChoice), ("function_call", functionCall)] {
            guard let choice, choice != .null, choice != .string("none"), choice != .string("auto") else { continue }
            throw .unsupported(name, "a choice other than \"none\" and \"auto\" is")
        }
        if let format = responseFormat, format != .null {
            guard case .object(let members) = format, case .string(let type)? = members["type"] else {
                throw .invalid("response_format", "expected an object with a type")
            }
            guard type == "text" else { throw .unsupported("response_format", "the type \"\(type)\" is") }
        }
        if logprobs == true { throw .unsupported("logprobs", "log probabilities are") }
        if let topLogprobs, topLogprobs.value != 0 { throw .unsupported("top_logprobs", "log probabilities are") }
        if let modality = modalities?.first(where: { $0 != "text" }) {
            throw .unsupported("modalities", "\"\(modality)\" is")
        }
        if let audio, audio != .null { throw .unsupported("audio", "audio is") }
    }

    private func check(_ name: String, _ value: Double?, _ range: ClosedRange<Double>) throws(APIError) {
        guard let value, !range.contains(value) else { return }
        throw .invalid(
            name, "must be between \(short(range.lowerBound)) and \(short(range.upperBound)), got \(short(value))")
    }

    /// `2` rather than `2.0`, as the client wrote it.
    private func short(_ value: Double) -> String { Int(exactly: value).map { "\($0)" } ?? "\(value)" }
}

extension JSONValue {
    /// Null, or a list or object without elements: clients send these for "none".
    fileprivate var isEmpty: Bool { self == .null || self == .array([]) || self == .object([:]) }
}
