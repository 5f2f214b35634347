import CommandLineParsing
import Foundation
import LocalLLM
import Tokenizer

/// Measures what drafts gain on a given answer: generates it with and without them, alternating.
struct DraftsCommand: Command {
    static let name = "drafts"
    static let summary = "measure decoding speed with and without drafts"
    static let synopsis = "-m FILE --prompt FILE [--answer FILE] [--draft FILE] [-n N] [-b N] [-r N]"
    static let details = """
        Generates the answer after the prompt, alternately without and with drafts, in -r timed rounds after one untimed
        round. With --answer, each step computes and samples as usual, but the given token is taken instead of the sampled
        one: the speed is that of a model that writes this answer, whatever the model's weights are. Prints {"plain":
        tokens/s, "drafts": tokens/s, "ratio": [per round], "median_ratio", "tokens", "drafted", "accepted",
        "tokens_per_step"}. Tokens per second count from the first token on.
        """
    static let options: [Option] = [
        .model,
        Option("--prompt", value: "FILE", help: "text of the prompt"),
        Option("--answer", value: "FILE", help: "text of the answer (default: what the model generates)"),
        Option("-n", "--n-gen", value: "N", help: "maximum tokens of the answer (default: 512)"),
        Option("-b", "--n-seq", value: "N", help: "answers in parallel (default: 1)"),
        Option("-r", "--repetitions", value: "N", help: "timed rounds (default: 3)"),
        Option("--temperature", value: "T", help: "0 always takes the most likely token (default: 0)"),
    ]
    static let modelOptions: [ModelOption] = [.draft, .cacheType] + ModelOption.loading

    let model: String
    let prompt: String
    let answer: String?
    let tokens: Int
    let sequences: Int
    let rounds: Int
    let temperature: Double
    let configuration: LocalModel.Configuration

    init(_ arguments: Arguments) throws(UsageError) {
        model = try arguments.model
        guard let prompt = arguments.string("--prompt") else { throw UsageError("--prompt is missing") }
        self.prompt = prompt
        answer = arguments.string("--answer")
        tokens = try arguments.int("--n-gen", in: 2...1_000_000) ?? 512
        sequences = try arguments.int("--n-seq", in: 1...64) ?? 1
        rounds = try arguments.int("--repetitions", in: 1...1000) ?? 3
        temperature = try arguments.double("--temperature") ?? 0
        configuration = try arguments.configuration(Self.modelOptions)
    }

    struct Output: Encodable {
        var plain: Double
        var drafts: Double
        var ratio: [Double]
        var medianRatio: Double
        var tokens: Int
        var drafted: Int
        var accepted: Int
        var tokensPerStep: Double

        enum CodingKeys: String, CodingKey {
            case plain, drafts, ratio, tokens, drafted, accepted
            case medianRatio = "median_ratio"
            case tokensPerStep = "tokens_per_step"
        }
    }

    func run() async throws -> Bool {
        let model = try await LocalModel.load(model, configuration)
        func encode(_ path: String, addSpecial: Bool) throws -> [Int32] {
            try model.tokenizer.encode(
                try String(contentsOfFile: path, encoding: .utf8), addSpecial: addSpecial, parseSpecial: true)
        }
        let prompt = try encode(prompt, addSpecial: true)
        let script = try answer.map { try encode($0, addSpecial: false) } ?? []
        var (plain, drafts) = ([Round](), [Round]())
        for round in 0...rounds {
            showProgress(round == 0 ? "warm-up" : "\(round) of \(rounds)")
            plain.append(try await generate(model, prompt, script, drafts: false))
            drafts.append(try await generate(model, prompt, script, drafts: true))
        }
        showProgress("")
        // Drop the first round, a warm-up.
        (plain, drafts) = (Array(plain.dropFirst()), Array(drafts.dropFirst()))
        let ratio = zip(plain, drafts).map { $1.speed / $0.speed }
        let last = drafts[drafts.count - 1]
        try printJSON(
            Output(
                plain: plain.map(\.speed).median, drafts: drafts.map(\.speed).median, ratio: ratio,
                medianRatio: ratio.median, tokens: last.tokens, drafted: last.drafted, accepted: last.accepted,
                tokensPerStep: Double(last.tokens) / Double(max(1, last.tokens - last.accepted))))
        return true
    }

    private struct Round {
        /// Tokens of all answers after their first.
        var tokens = 0
        var drafted = 0
        var accepted = 0
        var seconds = 0.0
        /// Tokens per second.
        var speed: Double { seconds > 0 ? Double(tokens) / seconds : 0 }
    }

    private func generate(
        _ model: LocalModel, _ prompt: [Int32], _ script: [Int32], drafts: Bool
    ) async throws -> Round {
        var options = SamplingOptions(
            temperature: temperature, seed: 1, maximumTokens: script.isEmpty ? tokens : min(tokens, script.count),
            drafts: drafts)
        options.ignoresEndOfSequence = true
        options.scriptedTokens = script
        return try await withThrowingTaskGroup(of: Usage?.self) { group in
            for _ in 0..<sequences {
                group.addTask { [options] in
                    var usage: Usage?
                    for try await piece in model.generate(tokens: prompt, options: options) {
                        usage = piece.finish?.usage ?? usage
                    }
                    return usage
                }
            }
            var round = Round()
            for try await case let usage? in group {
                round.tokens += usage.completionTokens - 1
                round.drafted += usage.draftedTokens
                round.accepted += usage.acceptedTokens
                round.seconds = max(round.seconds, usage.decodeSeconds)
            }
            return round
        }
    }
}
