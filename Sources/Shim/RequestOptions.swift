import LocalLLM
import Tokenizer
import Wire

extension SamplingOptions {
    /// What a validated request asks for.
    ///
    /// - Parameters:
    ///   - maximumTokens: `nil`, like more than any context holds, means: to its end.
    ///   - topLogprobs: `nil` where the client did not ask for probabilities.
    init(
        _ request: GenerationFields, maximumTokens: Int64?, topLogprobs: Int?, for engine: any ChatEngine
    ) throws(APIError) {
        let vocabulary = engine.info.vocabularySize
        if let id = request.logitBiasByToken.keys.first(where: { $0 >= vocabulary }) {
            throw .invalid("logit_bias", "expected token ids below \(vocabulary), found \(id)")
        }
        if let stop = request.stop?.elements.first(where: { $0.utf8.count > SamplingOptions.maximumStopBytes }) {
            throw .invalid(
                "stop", "expected at most \(SamplingOptions.maximumStopBytes) bytes, found \(stop.utf8.count)")
        }
        self.init(
            temperature: request.temperature,
            topK: request.topK.map { Int(max(0, $0.value)) },
            topP: request.topP,
            minP: request.minP,
            typicalP: request.typicalP,
            repetitionPenalty: request.repetitionPenalty ?? request.repeatPenalty,
            presencePenalty: request.presencePenalty ?? 0,
            frequencyPenalty: request.frequencyPenalty ?? 0,
            logitBias: request.logitBiasByToken,
            seed: request.seed.map { UInt64(bitPattern: $0.value) },
            maximumTokens: maximumTokens.map { Int(min($0, 1 << 30)) },
            stop: request.stop?.elements ?? [],
            topLogprobs: topLogprobs)
    }

    /// Those of one of several choices: with a seed each has its own, and the first is what it would be alone.
    func forChoice(_ index: Int) -> Self {
        var options = self
        options.seed = seed.map { $0 &+ UInt64(index) }
        return options
    }
}

extension ChatMessage {
    /// `developer` is the newer name of `system`.
    init(_ message: Message) {
        self.init(
            role: message.role == "developer" ? .system : Role(rawValue: message.role), content: message.text,
            name: message.name, reasoning: message.reasoningContent ?? message.reasoning)
    }
}

extension TokenUsage {
    /// - Parameter countsPrompt: Whether this is the first choice of its prompt: the others share what it cost.
    init(_ usage: Usage, reasoningTokens: Int, countsPrompt: Bool) {
        self.init(
            promptTokens: countsPrompt ? usage.promptTokens : 0, cachedTokens: countsPrompt ? usage.cachedTokens : 0,
            completionTokens: usage.completionTokens, reasoningTokens: reasoningTokens)
    }
}

extension TemplateValue {
    init(_ value: JSONValue) {
        switch value {
        case .null: self = .none
        case .bool(let value): self = .bool(value)
        case .number(let value): self = Int(exactly: value).map { .int($0) } ?? .double(value)
        case .string(let value): self = .string(value)
        case .array(let values): self = .array(values.map { TemplateValue($0) })
        case .object(let members): self = .object(TemplateObject(members))
        }
    }
}

extension TemplateObject {
    /// Members by name: JSON's order is lost by then, and templates take these one at a time.
    init(_ members: [String: JSONValue]) {
        self.init(members.sorted { $0.key < $1.key }.map { (key: $0.key, value: TemplateValue($0.value)) })
    }

    /// Variables for a chat template.
    ///
    /// `reasoning_effort` is passed on for templates that look at it; "none" is what others call `enable_thinking`.
    init(templateArguments: [String: JSONValue]?, reasoningEffort: String? = nil) throws(APIError) {
        let arguments = templateArguments ?? [:]
        for name in ["messages", "tools", "add_generation_prompt", "bos_token", "eos_token"]
        where arguments[name] != nil {
            throw .invalid("chat_template_kwargs.\(name)", "is set by the server and cannot be given here")
        }
        self.init()
        if let reasoningEffort {
            self["reasoning_effort"] = .string(reasoningEffort)
            if reasoningEffort == "none" { self["enable_thinking"] = .bool(false) }
        }
        for (key, value) in TemplateObject(arguments).entries { self[key] = value }
    }
}
