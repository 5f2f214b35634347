import CommandLineParsing
import Constraint
import Foundation
import LocalLLM
import Tokenizer

/// Measures the cost of a JSON schema constraint: generates answers with and without it, alternating.
struct OverheadCommand: Command {
    static let name = "overhead"
    static let summary = "measure decoding speed with and without a JSON schema"
    static let synopsis = "-m FILE --schema FILE [-n N] [-b N,…] [-r N] [--temperature T]"
    static let details = """
        Generates -b answers of -n tokens in parallel, alternately without and with the schema, in -r timed rounds after one
        untimed round. Prints for each -b {"sequences", "free": tokens/s, "constrained": tokens/s, "ratio": [per round],
        "median_ratio", "tokens_per_step", "sampling_us": {"free", "constrained"}}. Tokens per second count all answers, from the first token on. More than one
        token per step and answer means that the schema allowed a single continuation, which needs no sampling. Prompt
        lookup is off. Sampling is the processor time of sampling, masks and drafts per step and answer; masks are computed
        beside the steps, and the answers of a step sample in parallel. An answer that ends early counts with fewer tokens: use schemas that allow answers of any length.
        """
    static let options: [Option] = [
        .model,
        Option("--schema", value: "FILE", help: "JSON schema for the answers"),
        Option("-n", "--n-gen", value: "N", help: "tokens per answer (default: 64)"),
        Option("-b", "--n-seq", value: "N,…", help: "answers in parallel (default: 1)"),
        Option("-r", "--repetitions", value: "N", help: "timed rounds (default: 3)"),
        Option("--temperature", value: "T", help: "0 always takes the most likely token (default: 0)"),
    ]
    static let modelOptions: [ModelOption] = [.cacheType] + ModelOption.loading

    let model: String
    let schema: String
    let tokens: Int
    let sequences: [Int]
    let rounds: Int
    let temperature: Double
    let configuration: LocalModel.Configuration

    init(_ arguments: Arguments) throws(UsageError) {
        model = try arguments.model
        guard let file = arguments.string("--schema") else { throw UsageError("--schema is missing") }
        schema = file
        tokens = try arguments.int("--n-gen", in: 2...1_000_000) ?? 64
        sequences = try arguments.ints("--n-seq", in: 1...64) ?? [1]
        rounds = try arguments.int("--repetitions", in: 1...1000) ?? 3
        temperature = try arguments.double("--temperature") ?? 0
        configuration = try arguments.configuration(Self.modelOptions)
    }

    struct Output: Encodable {
        var sequences: Int
        var free: Double
        var constrained: Double
        var ratio: [Double]
        var medianRatio: Double
        var tokensPerStep: Double
        var samplingMicroseconds: [String: Double]

        enum CodingKeys: String, CodingKey {
            case sequences, free, constrained, ratio
            case samplingMicroseconds = "sampling_us"
            case medianRatio = "median_ratio"
            case tokensPerStep = "tokens_per_step"
        }
    }

    func run() async throws -> Bool {
        let model = try await LocalModel.load(model, configuration)
        let text = try String(contentsOfFile: schema, encoding: .utf8)
        let constraint = GenerationConstraint(try model.constraint(.jsonSchema(text)))
        for count in sequences {
            var (free, constrained) = ([Round](), [Round]())
            for _ in 0...rounds {
                free.append(try await answer(count, model, nil))
                constrained.append(try await answer(count, model, constraint))
            }
            // Drop the first round, a warm-up.
            (free, constrained) = (Array(free.dropFirst()), Array(constrained.dropFirst()))
            let ratio = zip(free, constrained).map { $1.speed / $0.speed }
            try printJSON(
                Output(
                    sequences: count, free: free.map(\.speed).median, constrained: constrained.map(\.speed).median,
                    ratio: ratio, medianRatio: ratio.median,
                    tokensPerStep: constrained.map(\.tokensPerStep).median,
                    samplingMicroseconds: [
                        "free": free.map(\.samplingMicroseconds).median,
                        "constrained": constrained.map(\.samplingMicroseconds).median,
                    ]))
        }
        return true
    }

    private struct Round {
        /// Tokens per second.
        var speed: Double
        var tokensPerStep: Double
        var samplingMicroseconds: Double
    }

    private func answer(_ count: Int, _ model: LocalModel, _ constraint: GenerationConstraint?) async throws -> Round {
        let usages = try await withThrowingTaskGroup(of: Usage?.self) { group in
            for index in 0..<count {
                var options = SamplingOptions(
                    temperature: temperature, seed: UInt64(index), maximumTokens: tokens, drafts: false)
                options.ignoresEndOfSequence = true
                options.constraint = constraint
                let prompt = try model.tokenizer.encode(
                    "Answer \(index) in JSON:\n", addSpecial: true, parseSpecial: false)
                group.addTask { [options] in
                    var usage: Usage?
                    for try await piece in model.generate(tokens: prompt, options: options) {
                        usage = piece.finish?.usage ?? usage
                    }
                    return usage
                }
            }
            return try await group.reduce(into: [Usage]()) { if let usage = $1 { $0.append(usage) } }
        }
        let written = usages.reduce(0) { $0 + $1.completionTokens - 1 }
        let accepted = usages.reduce(0) { $0 + $1.acceptedTokens }
        let seconds = usages.map(\.decodeSeconds).max() ?? 0
        let steps = max(1, written - accepted)
        return Round(
            speed: seconds > 0 ? Double(written) / seconds : 0, tokensPerStep: Double(written) / Double(steps),
            samplingMicroseconds: usages.reduce(0) { $0 + $1.samplingSeconds } / Double(steps) * 1e6)
    }
}
