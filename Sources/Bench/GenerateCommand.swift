import CommandLineParsing
import Constraint
import Foundation
import LocalLLM
import Tokenizer

/// Generates one answer and prints its token ids.
struct GenerateCommand: Command {
    static let name = "generate"
    static let summary = "a continuation of a text or of token ids, as JSON"
    static let synopsis = "-m FILE (--prompt TEXT [--chat] | --tokens 1,2,3) [-n N] [--temperature T] …"
    static let details = """
        Prints {"prompt_ids": […], "ids": […], "text": "…", "finish_reason": "stop" or "length", "first_token_s": …,
        "decode_s": …, "drafted": …, "accepted": …}. The last two are tokens that were guessed, and how many of them were
        right. The ids hold the end-of-generation token, if there was one. Filters that are not given are the model's own
        recommendation.
        """
    static let options: [Option] = [
        .model,
        Option("--prompt", value: "TEXT", help: "text to continue"),
        Option("--chat", help: "the text is a user's message: render it with the model's template"),
        Option("--tokens", value: "IDS", help: "token ids to continue, divided by commas"),
        Option("-n", "--n-gen", value: "N", help: "most tokens to generate (default: 64)"),
        Option("--temperature", value: "T", help: "0 always takes the likeliest token"),
        Option("--top-k", value: "N", help: "sample among the N likeliest; 0 is all"),
        Option("--top-p", value: "P", help: "sample among the likeliest that make up P"),
        Option("--min-p", value: "P", help: "leave out tokens below P times the likeliest"),
        Option("--typical-p", value: "P", help: "locally typical sampling; 1 is off"),
        Option("--repetition-penalty", value: "X", help: "divides the logits of recent tokens; 1 is off"),
        Option("--presence-penalty", value: "X", help: "subtracted once from the logits of generated tokens"),
        Option("--frequency-penalty", value: "X", help: "subtracted for each time a token was generated"),
        Option("--seed", value: "N", help: "same seed, same text (default: random)"),
        Option("--no-drafts", help: "compute one token a step, whatever can be guessed; the text is the same"),
        Option("--expected", value: "IDS", help: "token ids that the answer is expected to be, where it is known"),
        Option("--stop", value: "TEXT", help: "end before this text; may be given several times"),
        Option("--schema", value: "FILE", help: "JSON schema that the text follows"),
        Option("-c", "--context", value: "N", help: "context size (default: what the model was trained for)"),
        .threads, .tier, .cacheType, .quantization,
    ]

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
        sampling = SamplingOptions(
            temperature: try arguments.double("--temperature"), topK: try arguments.int("--top-k"),
            topP: try arguments.double("--top-p"), minP: try arguments.double("--min-p"),
            typicalP: try arguments.double("--typical-p"),
            repetitionPenalty: try arguments.double("--repetition-penalty"),
            presencePenalty: try arguments.double("--presence-penalty") ?? 0,
            frequencyPenalty: try arguments.double("--frequency-penalty") ?? 0, seed: seed,
            maximumTokens: try arguments.int("--n-gen", in: 1...Int.max) ?? 64, stop: arguments.strings("--stop"),
            drafts: !arguments.has("--no-drafts"), expectedTokens: try arguments.tokens("--expected") ?? [])
        schema = arguments.string("--schema")
        var configuration = LocalModel.Configuration(
            contextSize: try arguments.int("--context", in: 1...1 << 30),
            threads: try arguments.int("--threads", in: 1...1024), tier: try arguments.choice("--tier"),
            cacheFormat: try arguments.choice("--cache-type") ?? .f16)
        configuration.quantization = try arguments.quantization
        self.configuration = configuration
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
