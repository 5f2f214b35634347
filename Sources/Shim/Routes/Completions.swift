import HTTP
import JSON
import LocalLLM
import Tokenizer
import Wire

/// `POST /v1/completions`: continues texts as they are, without a chat template.
@Sendable func createCompletion(_ context: RequestContext, _ services: Services) async throws -> Response {
    try await respondHereOrUpstream(.completions, context, services) { (body: CompletionRequest) in
        try await CompletionForm(body).response(to: context, services)
    }
}

private struct CompletionForm: AnswerForm {
    /// Maximum prompt tokens listed with probabilities in one response; each takes some hundred bytes.
    private static let maximumEchoedTokens = 1 << 17

    /// OpenAI's default.
    fileprivate static let standardLimit = 16

    private let body: CompletionRequest
    private let format: ContentFormat?

    init(_ request: CompletionRequest) throws {
        body = try request.validated()
        format = try body.generation.requestedFormat().map { ContentFormat($0) }
    }

    var model: String? { body.model }
    var streams: Bool { body.stream == true }
    var promptField: String { "prompt" }

    func conversation(for model: any LanguageModel) throws -> ConversationRequest {
        let prompts = try body.prompts(for: model)
        var request = ConversationRequest(.texts(prompts))
        request.format = format
        request.sampling = try SamplingOptions(
            body.sampling, standardLimit: Self.standardLimit, topLogprobs: body.logprobs.map { Int($0.value) },
            for: model)
        request.choices = body.generation.choices
        request.echoesPrompt = body.echo == true
        let listed = prompts.reduce(0) { $0 + $1.tokens.count } * request.choices
        guard !request.echoesPrompt || body.logprobs == nil || listed <= Self.maximumEchoedTokens else {
            throw APIError.invalid(
                "echo", "would list \(listed) tokens of prompts, at most \(Self.maximumEchoedTokens) are allowed")
        }
        return request
    }

    func encoder(of _: Conversation, by lease: ModelLease) throws -> CompletionEncoder {
        CompletionEncoder(
            identity: AnswerIdentity(prefix: "cmpl-", id: lease.id, model: lease.model),
            tokenizer: body.logprobs == nil ? nil : try lease.model.tokenizer,
            includeUsage: body.streamOptions?.includeUsage == true)
    }
}

extension GenerationRequest<CompletionFields> {
    /// The prompts, or with a suffix those for filling the gap before it.
    fileprivate func prompts(for model: any LanguageModel) throws -> [TextPrompt] {
        guard let suffix = fields.suffix, !suffix.isEmpty else { return try fields.prompt.prompts(for: model) }
        let tokenizer = try model.tokenizer
        let limit = sampling.count("max_tokens").map { Int(clamping: max(0, $0)) } ?? CompletionForm.standardLimit
        return try fields.prompt.texts(for: model).map { prompt in
            let gap = Gap(
                before: prompt.tokens ?? tokenizer.encode(plain: prompt.text), after: tokenizer.encode(plain: suffix))
            guard let ids = try model.tokens(around: gap, maximumTokens: limit) else {
                throw APIError(
                    status: 400, kind: .invalidRequest,
                    message: "suffix: this model's vocabulary has no fill-in-the-middle tokens", param: "suffix",
                    code: "unsupported_parameter")
            }
            return TextPrompt(text: prompt.text + suffix, tokens: ids)
        }
    }
}

extension PromptInput {
    /// The texts of the prompts; for prompts given as ids, with the ids.
    fileprivate func texts(for model: any LanguageModel) throws -> [(text: String, tokens: [Int32]?)] {
        if case .plain(.texts(let texts)) = self { return texts.map { ($0, nil) } }
        return try prompts(for: model).map { ($0.text, $0.tokens) }
    }

    /// Tokenizes the prompts. Control tokens are parsed, because clients of this endpoint render chat templates
    /// themselves.
    ///
    /// - Parameter allowsEmpty: Whether a prompt may have no tokens.
    func prompts(for model: any LanguageModel, allowsEmpty: Bool = false) throws -> [TextPrompt] {
        let path = { (index: Int) in count == 1 ? "prompt" : "prompt[\(index)]" }
        let prompts =
            switch self {
            case .plain(.texts(let texts)): try texts.map { TextPrompt(text: $0, tokens: try model.tokens(of: $0)) }
            case .plain(.tokens(let lists)):
                try lists.enumerated().map { index, list in
                    let tokens = try model.checked(list, at: path(index))
                    return TextPrompt(
                        text: try model.tokenizer.decode(tokens, includingControl: true), tokens: tokens)
                }
            case .mixed(let inputs):
                try inputs.enumerated().map { index, pieces in
                    let tokens = try model.tokens(of: pieces, at: path(index))
                    return TextPrompt(
                        text: try model.tokenizer.decode(tokens, includingControl: true), tokens: tokens)
                }
            }
        if !allowsEmpty, let empty = prompts.firstIndex(where: \.tokens.isEmpty) {
            throw APIError.invalid(path(empty), "expected at least one token")
        }
        return prompts
    }
}

/// Encodes text completions, whole or as events.
private struct CompletionEncoder: AnswerEncoder {
    let identity: AnswerIdentity
    /// `nil` unless the client asked for probabilities.
    let tokenizer: TextTokenizer?
    let includeUsage: Bool

    func whole(_ choices: [ChoiceDelta]) -> Completion {
        let empty = choices.map { delta in
            var delta = delta
            delta.tokens = []
            return choice(delta)
        }
        return Completion(identity, choices: empty, usage: Null(wrappedValue: choices.usage))
    }

    func lists(_ choices: [ChoiceDelta]) -> [String: [LongList]] {
        guard let tokenizer else { return [:] }
        func list<Element: Encodable & Sendable>(
            values: Int? = nil, _ part: @escaping @Sendable (CompletionLogprobs) -> [Element]
        ) -> [LongList] {
            choices.map { choice in
                LongList(count: choice.tokens.count, values: values ?? choice.valuesPerToken) {
                    part(CompletionLogprobs(Array(choice.tokens[$0]), tokenizer))
                }
            }
        }
        return [
            "tokens": list(values: 1) { $0.tokens }, "token_logprobs": list(values: 1) { $0.tokenLogprobs },
            "top_logprobs": list { $0.topLogprobs }, "text_offset": list(values: 1) { $0.textOffset },
        ]
    }

    private func choice(_ delta: ChoiceDelta) -> Completion.Choice {
        .init(
            text: delta.content, index: delta.choice,
            logprobs: tokenizer.map { CompletionLogprobs(delta.tokens, $0) },
            finishReason: delta.finish?.reason.rawValue)
    }

    func begin() -> [UInt8] { [] }

    /// The last text of a choice and its `finish_reason` are separate events, as in OpenAI's streams.
    func encode(_ delta: ChoiceDelta) throws -> [UInt8] {
        var events: [UInt8] = []
        var delta = delta
        if delta.finish != nil, !delta.content.isEmpty {
            let finish = delta.finish
            delta.finish = nil
            events += try event([choice(delta)])
            delta = ChoiceDelta(choice: delta.choice, finish: finish)
        }
        if delta.finish != nil {
            events += try event([.init(text: "", index: delta.choice, finishReason: delta.finish?.reason.rawValue)])
        } else if !delta.content.isEmpty {
            events += try event([choice(delta)])
        }
        return events
    }

    func end(_ choices: [ChoiceDelta.Finish]) throws -> [UInt8] {
        guard includeUsage else { return ServerSentEvent.done }
        return try event([], usage: choices.usage) + ServerSentEvent.done
    }

    private func event(_ choices: [Completion.Choice], usage: TokenUsage? = nil) throws -> [UInt8] {
        ServerSentEvent.data(
            try JSON.encode(
                Completion(identity, choices: choices, usage: includeUsage ? Null(wrappedValue: usage) : nil)))
    }
}
