import HTTP
import JSON
import LocalLLM
import Providers
import Tokenizer
import Wire

/// `POST /completion`: continues a text, with the fields and events of llama.cpp's server.
@Sendable func completeLikeLlama(_ context: RequestContext, _ services: Services) async throws -> Response {
    try await LlamaForm(context.body, fillsIn: false).response(to: context, services)
}

/// `POST /infill`: fills the gap between two texts, with models trained for it.
@Sendable func infill(_ context: RequestContext, _ services: Services) async throws -> Response {
    try await LlamaForm(context.body, fillsIn: true).response(to: context, services)
}

private struct LlamaForm: AnswerForm {
    private let body: LlamaCompletionRequest
    private let fillsIn: Bool
    private let format: ContentFormat?

    /// - Parameter fillsIn: Whether the request is for `/infill`.
    init(_ bytes: [UInt8], fillsIn: Bool) throws {
        self.fillsIn = fillsIn
        body = try JSON.decode(LlamaCompletionRequest.self, from: bytes).validated(fillsIn: fillsIn)
        format = try body.generation.requestedFormat().map { ContentFormat($0) }
    }

    var model: String? { body.model }
    var streams: Bool { body.stream == true }
    var promptField: String { fillsIn ? "input_prefix" : "prompt" }
    private var probabilities: Int? { body.nProbs.map { Int($0.value) }.flatMap { $0 > 0 ? $0 : nil } }

    func conversation(for model: any LanguageModel) throws -> ConversationRequest {
        var request = ConversationRequest(
            .texts(
                fillsIn
                    ? [try body.gap(for: model)] : try body.prompt?.prompts(for: model, allowsEmpty: true) ?? []))
        request.format = format
        request.sampling = try SamplingOptions(body.sampling, topLogprobs: probabilities, for: model)
        request.sampling.penaltiesCountPrompt = true
        request.sampling.listsSampled = body.postSamplingProbs == true
        // In llama.cpp's API, -1 means a random seed.
        if body.sampling.count("seed") == -1 { request.sampling.seed = nil }
        request.reportsUsage = true
        return request
    }

    func encoder(of conversation: Conversation, by lease: ModelLease) throws -> LlamaEncoder {
        LlamaEncoder(
            model: lease.id, slot: conversation.options.slot ?? 0, prompts: conversation.prompts,
            tokenizer: probabilities == nil ? nil : try lease.model.tokenizer,
            listsSampled: body.postSamplingProbs == true, returnsTokens: body.returnTokens == true,
            fields: body.responseFields ?? [],
            timesTokens: body.sampling.timesTokens,
            settings: settings(lease.model.settled(conversation.options)))
    }
}

extension GenerationRequest<LlamaCompletionFields> {
    /// The prompt for filling the gap. Control tokens in the texts are not parsed.
    fileprivate func gap(for model: any LanguageModel) throws -> TextPrompt {
        let tokenizer = try model.tokenizer
        var (before, after) = (fields.inputPrefix ?? "", fields.inputSuffix ?? "")
        var gap = Gap(
            before: tokenizer.encode(plain: before), after: tokenizer.encode(plain: after),
            files: fields.inputExtra ?? [])
        switch fields.prompt {
        case nil: break
        case .plain(.texts(let texts))?:
            let text = texts.joined()
            gap.before += tokenizer.encode(plain: text)
            before += text
        default: throw APIError.invalid("prompt", "expected a text with /infill")
        }
        guard let ids = try model.tokens(around: gap, maximumTokens: Int(clamping: sampling.maximumTokens ?? 0)) else {
            throw APIError(
                status: 501, kind: .server,
                message: "This model does not support infill: its vocabulary has no fill-in-the-middle tokens.",
                code: "infill_not_supported")
        }
        let files = gap.files.map { "\($0.filename ?? "")\n\($0.text)\n" }.joined()
        return TextPrompt(text: files + before + after, tokens: ids)
    }
}

/// The sampling options, under llama.cpp's names where it has the field.
func settings(_ options: SamplingOptions) -> [String: JSON] {
    let values = SamplingBinding.all.filter { !$0.field.isOwn }.map { binding in
        (binding.field.name(in: .llama) ?? binding.field.name, binding.get(options) ?? binding.field.standard)
    }
    return Dictionary(uniqueKeysWithValues: values).compactMapValues(\.self)
}

/// A completion, or the fields of it that the client asked for.
private struct Picked: Codable, Equatable, Sendable {
    private let value: JSON?
    private let whole: LlamaCompletion?

    /// - Parameter paths: Names separated by slashes; those that lead nowhere are left out. Empty: all fields.
    init(_ completion: LlamaCompletion, _ paths: [String]) throws {
        guard !paths.isEmpty else {
            (value, whole) = (nil, completion)
            return
        }
        let all = try JSON(encoding: completion)
        var picked: JSON.Object = [:]
        for path in paths {
            var found: JSON? = all
            for name in path.split(separator: "/", omittingEmptySubsequences: false) {
                found = found?.object?[String(name)]
            }
            if let found { picked[path] = found }
        }
        (value, whole) = (.object(picked), nil)
    }

    init(from decoder: any Decoder) throws { (value, whole) = (try JSON(from: decoder), nil) }

    func encode(to encoder: any Encoder) throws {
        if let whole { try whole.encode(to: encoder) } else { try value?.encode(to: encoder) }
    }
}

/// Encodes completions like llama.cpp's server: one object, a list for several prompts, or events without `[DONE]`.
private struct LlamaEncoder: AnswerEncoder {
    let model: String
    let slot: Int
    let prompts: [TextPrompt]
    /// `nil` unless the client asked for probabilities.
    let tokenizer: TextTokenizer?
    /// Whether the probabilities are those after sampling.
    let listsSampled: Bool
    let returnsTokens: Bool
    /// Paths of the fields to return; empty: all.
    let fields: [String]
    let timesTokens: Bool
    let settings: [String: JSON]
    private var predicted: [Int: Int] = [:]
    private var hasNewLine: Set<Int> = []

    init(
        model: String, slot: Int, prompts: [TextPrompt], tokenizer: TextTokenizer?, listsSampled: Bool,
        returnsTokens: Bool,
        fields: [String], timesTokens: Bool, settings: [String: JSON]
    ) {
        self.model = model
        self.slot = slot
        self.prompts = prompts
        self.tokenizer = tokenizer
        self.listsSampled = listsSampled
        self.returnsTokens = returnsTokens
        self.fields = fields
        self.timesTokens = timesTokens
        self.settings = settings
    }

    mutating func whole(_ choices: [ChoiceDelta]) throws -> OneOrMany<Picked> {
        OneOrMany(
            try choices.map { choice in
                var completion = last(choice)
                completion.content = choice.content
                completion.tokens = returnsTokens ? choice.ids : []
                completion.hasNewLine = choice.content.contains("\n")
                completion.completionProbabilities = tokenizer.map {
                    fields.isEmpty ? [] : probabilities(choice.tokens, $0)
                }
                return try Picked(completion, fields)
            })
    }

    func lists(_ choices: [ChoiceDelta]) -> [String: [LongList]] {
        guard let tokenizer, fields.isEmpty else { return [:] }
        return [
            "completion_probabilities": choices.map { choice in
                LongList(count: choice.tokens.count, values: choice.valuesPerToken) { [self] in
                    probabilities(Array(choice.tokens[$0]), tokenizer)
                }
            }
        ]
    }

    func begin() -> [UInt8] { [] }

    mutating func encode(_ delta: ChoiceDelta) throws -> [UInt8] {
        let index = delta.choice
        predicted[index, default: 0] += delta.ids.count
        if delta.content.contains("\n") { hasNewLine.insert(index) }
        var events: [UInt8] = []
        if delta.progress != nil || !delta.content.isEmpty {
            var event = LlamaCompletion(
                index: index, slot: slot, content: delta.content, tokens: delta.ids, stop: false,
                predicted: predicted[index] ?? 0,
                evaluated: prompts[index].tokens.count)
            event.completionProbabilities = tokenizer.map { probabilities(delta.tokens, $0) }
            event.promptProgress = delta.progress.map { PromptProgressFields($0) }
            event.timings = timesTokens ? delta.usage.map { Timings($0) } : nil
            events += ServerSentEvent.data(try JSON.encode(event))
        }
        if delta.finish != nil { events += ServerSentEvent.data(try JSON.encode(Picked(last(delta), fields))) }
        return events
    }

    func end(_: [ChoiceDelta.Finish]) -> [UInt8] { [] }

    /// The final fields of a completion, without its text.
    private func last(_ choice: ChoiceDelta) -> LlamaCompletion {
        let usage = choice.finish.map { TokenUsage($0) } ?? TokenUsage()
        var completion = LlamaCompletion(
            index: choice.choice, slot: slot, content: "", tokens: [], stop: true, predicted: usage.completionTokens,
            evaluated: usage.promptTokens)
        completion.model = model
        completion.prompt = prompts[choice.choice].text
        completion.hasNewLine = hasNewLine.contains(choice.choice)
        completion.truncated = false
        completion.stoppingWord = choice.finish?.stopString ?? ""
        completion.stopType =
            prompts[choice.choice].tokens.isEmpty
            ? "none" : choice.finish?.reason == .length ? "limit" : choice.finish?.stopString == nil ? "eos" : "word"
        completion.tokensCached = usage.promptTokensDetails.cachedTokens
        completion.timings = choice.usage.map { Timings($0) }
        completion.generationSettings = settings
        return completion
    }

    private func probabilities(_ tokens: [ListedToken], _ tokenizer: TextTokenizer) -> [LlamaCompletion.Probability] {
        zip(tokens, ChatLogprobs(tokens, tokenizer).content).map { listed, described in
            let top = zip(listed.top, described.topLogprobs).map { alternative, described in
                LlamaCompletion.Probability(id: alternative.token, described, top: nil, isSampled: listsSampled)
            }
            let token = ChatLogprobs.Alternative(
                token: described.token, logprob: described.logprob, bytes: described.bytes)
            return LlamaCompletion.Probability(id: listed.id, token, top: top, isSampled: listsSampled)
        }
    }
}
