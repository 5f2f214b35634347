import CommandLineParsing
import Constraint
import Foundation
import LocalLLM
import Tokenizer

/// What holding answers to a JSON schema costs: the same answers with and without, in turns.
struct OverheadCommand: Command {
    static let name = "overhead"
    static let summary = "tokens per second under a JSON schema, compared with free text"
    static let synopsis = "-m FILE --schema FILE [-n N] [-b N,…] [-r N] [--temperature T]"
    static let details = """
        Generates -n tokens of each of -b answers at once, free and under the schema in turns, -r times after one round
        that is not counted. Prints for each -b {"sequences", "free": tokens/s, "constrained": tokens/s, "ratio":
        [of each round], "median_ratio", "tokens_per_step", "sampling_share": {"free", "constrained"}}. Tokens per second are
        those of all answers, from the first token on. The share is the processor time of sampling, masks and drafts in that
        of all steps; sequences sample side by side, so it is at most what they add to a step. More than one token per step and constrained answer were written without sampling, since the schema left
        no choice about them. Prompt lookup is off in both. An answer that is complete earlier counts with the tokens that
        it has: compare with schemas that do not end by themselves.
        """
    static let options: [Option] = [
        .model,
        Option("--schema", value: "FILE", help: "JSON schema that the answers follow"),
        Option("-n", "--n-gen", value: "N", help: "tokens of an answer (default: 64)"),
        Option("-b", "--n-seq", value: "N,…", help: "answers side by side (default: 1)"),
        Option("-r", "--repetitions", value: "N", help: "timed rounds (default: 3)"),
        Option("--temperature", value: "T", help: "0 always takes the likeliest token (default: 0)"),
        .threads, .tier, .cacheType,
    ]

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
        configuration = .init(
            threads: try arguments.int("--threads", in: 1...1024), tier: try arguments.choice("--tier"),
            cacheFormat: try arguments.choice("--cache-type") ?? .f16)
    }

    struct Output: Encodable {
        var sequences: Int
        var free: Double
        var constrained: Double
        var ratio: [Double]
        var medianRatio: Double
        var tokensPerStep: Double
        var samplingShare: [String: Double]

        enum CodingKeys: String, CodingKey {
            case sequences, free, constrained, ratio
            case samplingShare = "sampling_share"
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
            // The first round has warmed up the caches.
            (free, constrained) = (Array(free.dropFirst()), Array(constrained.dropFirst()))
            let ratio = zip(free, constrained).map { $1.speed / $0.speed }
            try printJSON(
                Output(
                    sequences: count, free: free.map(\.speed).median, constrained: constrained.map(\.speed).median,
                    ratio: ratio, medianRatio: ratio.median,
                    tokensPerStep: constrained.map(\.tokensPerStep).median,
                    samplingShare: [
                        "free": free.map(\.samplingShare).median,
                        "constrained": constrained.map(\.samplingShare).median,
                    ]))
        }
        return true
    }

    private struct Round {
        /// Tokens a second.
        var speed: Double
        var tokensPerStep: Double
        var samplingShare: Double
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
        return Round(
            speed: seconds > 0 ? Double(written) / seconds : 0,
            tokensPerStep: written > accepted ? Double(written) / Double(written - accepted) : 0,
            samplingShare: seconds > 0 ? usages.reduce(0) { $0 + $1.samplingSeconds } / seconds : 0)
    }
}
