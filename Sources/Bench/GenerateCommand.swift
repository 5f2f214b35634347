import CommandLineParsing
import Constraint
import Foundation
import LocalLLM
import Tokenizer

/// Generates one answer and prints its token ids.
struct GenerateCommand: Command {
    static let name = "generate"
    static let summary = "generate from a text or token ids; print JSON"
    static let synopsis = "-m FILE (--prompt TEXT [--chat] | --tokens 1,2,3) [-n N] [--temperature T] …"
    static let details = """
        Prints {"prompt_ids": […], "ids": […], "text": "…", "finish_reason": "stop" or "length", "first_token_s": …,
        "decode_s": …, "drafted": …, "accepted": …}. The last two count draft tokens and accepted
        ones. The ids include the end-of-generation token, if any. Sampling options default to the model's
        recommendation.
        """
    static let options: [Option] =
        [
            .model,
            Option("--prompt", value: "TEXT", help: "text to continue"),
            Option("--chat", help: "render the text as a user message with the chat template"),
            Option("--tokens", value: "IDS", help: "comma-separated token ids to continue"),
            Option("-n", "--n-gen", value: "N", help: "maximum tokens to generate (default: 64)"),
            Option("--presence-penalty", value: "X", help: "subtracted once from the logits of generated tokens"),
            Option("--frequency-penalty", value: "X", help: "subtracted for each time a token was generated"),
            Option("--seed", value: "N", help: "seed of the sampler (default: random)"),
            Option("--no-drafts", help: "disable speculative decoding; the text is the same"),
            Option("--expected", value: "IDS", help: "predicted answer as token ids, used as draft"),
            Option("--stop", value: "TEXT", repeats: true, help: "stop before this text"),
            Option("--schema", value: "FILE", help: "JSON schema for the answer"),
        ] + SamplingOption.recommended.map(\.option)
    static let modelOptions: [ModelOption] = [.context, .draft, .cacheType] + ModelOption.loading

    enum Prompt: Equatable {
        case text(String)
        case message(String)
        case tokens([Int32])
    }

    let model: String
    let prompt: Prompt
    let sampling: SamplingOptions
    let schema: String?
    let configuration: LocalModel.Configuration

    init(_ arguments: Arguments) throws(UsageError) {
        model = try arguments.model
        switch (arguments.string("--prompt"), try arguments.tokens("--tokens")) {
        case (let text?, nil): prompt = arguments.has("--chat") ? .message(text) : .text(text)
        case (nil, let tokens?) where !arguments.has("--chat"): prompt = .tokens(tokens)
        case (nil, nil): throw UsageError("--prompt or --tokens is missing")
        default: throw UsageError("--tokens goes with neither --prompt nor --chat")
        }
        var seed: UInt64?
        if let text = arguments.string("--seed") {
            seed = UInt64(text)
            if seed == nil { throw UsageError("--seed: expected a whole number below 2^64, found '\(text)'") }
        }
        var sampling = SamplingOptions(
            presencePenalty: try arguments.double("--presence-penalty") ?? 0,
            frequencyPenalty: try arguments.double("--frequency-penalty") ?? 0, seed: seed,
            maximumTokens: try arguments.int("--n-gen", in: 1...Int.max) ?? 64, stop: arguments.strings("--stop"),
            drafts: !arguments.has("--no-drafts"), expectedTokens: try arguments.tokens("--expected") ?? [])
        try arguments.apply(SamplingOption.recommended, to: &sampling)
        self.sampling = sampling
        schema = arguments.string("--schema")
        configuration = try arguments.configuration(Self.modelOptions)
    }

    struct Output: Encodable {
        var promptIDs: [Int32]
        var ids: [Int32] = []
        var text = ""
        var finishReason: String?
        var firstTokenSeconds = 0.0
        var decodeSeconds = 0.0
        var drafted = 0
        var accepted = 0

        enum CodingKeys: String, CodingKey {
            case promptIDs = "prompt_ids"
            case ids, text, drafted, accepted
            case finishReason = "finish_reason"
            case firstTokenSeconds = "first_token_s"
            case decodeSeconds = "decode_s"
        }
    }

    func run() async throws -> Bool {
        let model = try await LocalModel.load(model, configuration)
        var output = Output(promptIDs: try promptTokens(for: model))
        var sampling = sampling
        if let schema {
            let text = try String(contentsOfFile: schema, encoding: .utf8)
            sampling.constraint = GenerationConstraint(try model.constraint(.jsonSchema(text)))
        }
        for try await piece in model.generate(tokens: output.promptIDs, options: sampling) {
            output.ids += piece.tokens
            output.text += piece.text
            guard let finish = piece.finish else { continue }
            output.finishReason = finish.reason.rawValue
            output.firstTokenSeconds = finish.usage.secondsToFirstToken
            output.decodeSeconds = finish.usage.decodeSeconds
            (output.drafted, output.accepted) = (finish.usage.draftedTokens, finish.usage.acceptedTokens)
        }
        try printJSON(output)
        return true
    }

    private func promptTokens(for model: LocalModel) throws -> [Int32] {
        switch prompt {
        case .tokens(let tokens): return tokens
        case .message(let text): return try model.tokens(of: try model.render([.user(text)]))
        case .text(let text):
            return try model.tokenizer.encode(text, addSpecial: true, parseSpecial: true)
        }
    }
}
