import Constraint
import JSON
import LocalLLM
import Providers
import Template
import Tokenizer
import Wire

extension SamplingOptions {
    /// Sampling options of a validated request.
    ///
    /// - Parameters:
    ///   - standardLimit: Maximum tokens of a request without a limit; `nil`: up to the end of the context.
    ///   - topLogprobs: `nil` unless the client asked for probabilities.
    ///   - model: `nil` if the upstream answers, which is not told of ids.
    init(
        _ fields: SamplingFields, standardLimit: Int? = nil, topLogprobs: Int?, for model: (any LanguageModel)?
    ) throws(APIError) {
        try fields.check(for: model)
        self.init(maximumTokens: standardLimit, topLogprobs: topLogprobs)
        apply(fields)
        if let biases = fields.value(spelled: "logit_bias")?.biases, let tokenizer = try? model?.tokenizer {
            for (text, bias) in biases.byText {
                for token in tokenizer.encode(plain: text) { logitBias[token, default: 0] += bias }
            }
        }
        if let maximumTokens, minimumTokens > maximumTokens {
            throw .invalid("min_tokens", "must be at most the maximum, which is \(maximumTokens), got \(minimumTokens)")
        }
    }
}

extension SamplingFields {
    /// Checks what depends on the model.
    fileprivate func check(for model: (any LanguageModel)?) throws(APIError) {
        let vocabulary = model?.info.vocabularySize ?? Int(Int32.max)
        if let biases = value(spelled: "logit_bias")?.biases,
            let id = biases.byID.keys.first(where: { $0 >= vocabulary })
        {
            throw .invalid("logit_bias", "expected token ids below \(vocabulary), found \(id)")
        }
        for name in ["stop", "stop_sequences"] {
            guard let texts = value(spelled: name)?.texts,
                let text = texts.first(where: { $0.utf8.count > SamplingOptions.maximumStopBytes })
            else { continue }
            throw .invalid(
                name, "expected at most \(SamplingOptions.maximumStopBytes) bytes, found \(text.utf8.count)")
        }
        if let tokens = value(spelled: "stop_token_ids")?.tokens,
            let index = tokens.firstIndex(where: { !(0..<Int64(vocabulary)).contains($0) })
        {
            throw .invalid(
                "stop_token_ids[\(index)]", "expected a token id below \(vocabulary), found \(tokens[index])")
        }
        let adapters = model?.adapters.count ?? .max
        if let scales = value(spelled: "lora")?.scales,
            let index = scales.firstIndex(where: { $0.id.value >= adapters })
        {
            throw .invalid(
                "lora[\(index)].id",
                adapters == 0
                    ? "the server was started without --lora"
                    : "expected an id below \(adapters), see GET /lora-adapters")
        }
    }
}

extension ChatMessage {
    /// `developer` is the newer name of `system`.
    init(_ message: RequestMessage) {
        let role: Role =
            switch message.role {
            case "developer": .system
            case "function": .tool
            default: Role(rawValue: message.role)
            }
        self.init(
            role: role, content: message.text, name: message.name,
            reasoning: message.reasoningContent ?? message.reasoning)
        if let files = message.content?.imageFiles, !files.isEmpty, let content = message.content {
            images = files
            self.content = content.text(withImagesAs: Self.imagePlaceholder)
        }
        // The older form refers to the function's name instead of the call's id.
        toolCallID = message.toolCallID ?? (message.role == "function" ? message.name : nil)
        var calls = (message.toolCalls ?? []).map(ToolCall.init)
        if let call = message.functionCall {
            calls.append(ToolCall(id: call.name ?? "", name: call.name ?? "", arguments: ToolCall.arguments(call)))
        }
        toolCalls = calls.isEmpty ? nil : calls
    }
}

extension ChatMessage.ToolCall {
    /// A validated call.
    init(_ call: Wire.ToolCall) {
        self.init(
            id: call.id ?? "", name: call.function?.name ?? call.custom?.name ?? "",
            arguments: call.function.map(Self.arguments) ?? Self.arguments(input: call.custom?.input ?? ""))
    }

    /// Clients send null or nothing for a call without arguments.
    fileprivate static func arguments(_ function: Wire.ToolCall.Function) -> String {
        guard let arguments = function.arguments, !arguments.isEmpty else { return "{}" }
        return arguments
    }

    /// Arguments of a tool that takes text.
    static func arguments(input: String) -> String {
        TemplateValue.object(["input": .string(input)]).json
    }
}

extension TokenUsage {
    /// The prompt's tokens count for the first choice of a prompt only.
    init(_ finish: ChoiceDelta.Finish) {
        let usage = finish.usage
        self.init(
            promptTokens: finish.countsPrompt ? usage.promptTokens : 0,
            cachedTokens: finish.countsPrompt ? usage.cachedTokens : 0, completionTokens: usage.completionTokens,
            reasoningTokens: finish.reasoningTokens, acceptedPredictionTokens: usage.acceptedTokens,
            rejectedPredictionTokens: usage.draftedTokens - usage.acceptedTokens)
    }
}

extension Timings {
    init(_ usage: Usage) {
        self.init(
            promptTokens: usage.promptTokens, cachedTokens: usage.cachedTokens,
            promptSeconds: usage.secondsToFirstToken, tokens: usage.completionTokens, seconds: usage.decodeSeconds,
            drafted: usage.draftedTokens, accepted: usage.acceptedTokens)
    }
}

extension PromptProgressFields {
    init(_ progress: PromptProgress) {
        self.init(
            total: progress.total, cache: progress.cached, processed: progress.processed,
            timeMS: Int(progress.seconds * 1000))
    }
}

extension ContentFormat {
    init(_ requested: RequestedFormat) {
        let source: Constraint.Source =
            switch requested.format {
            case .jsonObject: .jsonObject()
            case .jsonSchema(let text): .jsonSchema(text)
            case .regex(let pattern): .regex(pattern)
            // Only GBNF defines rules in this way.
            case .grammar(let text): text.contains("::=") ? .grammar(text) : .lark(text)
            case .choice(let texts): .choice(texts)
            }
        self.init(source, name: requested.field)
    }
}

extension TemplateObject {
    /// Variables for a chat template.
    init(templateArguments: JSON.Object?, reasoningEffort: String? = nil) throws(APIError) {
        let arguments = templateArguments ?? [:]
        for name in ["messages", "tools", "add_generation_prompt", "bos_token", "eos_token"]
        where arguments[name] != nil {
            throw .invalid("chat_template_kwargs.\(name)", "is set by the server and cannot be given here")
        }
        self.init()
        if let reasoningEffort {
            self.set(reasoningEffort: reasoningEffort)
        }
        guard case .object(let values)? = TemplateValue(.object(arguments)) else {
            throw .invalid("chat_template_kwargs", "nests deeper than \(TemplateValue.maximumJSONDepth) levels")
        }
        for (key, value) in values.entries { self[key] = value }
    }
}

extension PromptEnding {
    init(addGenerationPrompt: Bool?, continueFinalMessage: Bool?) {
        self = continueFinalMessage == true ? .continuation : addGenerationPrompt == false ? .message : .answer
    }
}

extension ChatTemplate {
    /// Compiles the template in a request.
    static func requested(_ source: String?) throws(APIError) -> ChatTemplate? {
        guard let source else { return nil }
        guard source.utf8.count <= LocalModel.maximumTemplateBytes else {
            throw .invalid(
                "chat_template",
                "expected at most \(LocalModel.maximumTemplateBytes) bytes, found \(source.utf8.count)")
        }
        do { return try ChatTemplate(source) } catch { throw .invalid("chat_template", "\(error)") }
    }
}
