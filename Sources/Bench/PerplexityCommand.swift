import CommandLineParsing
import Foundation
import LocalLLM
import Tokenizer

/// Measures how well a model predicts a text, and the distance of its logits from a reference.
struct PerplexityCommand: Command {
    static let name = "perplexity"
    static let summary = "measure perplexity, or the divergence from stored logits"
    static let synopsis =
        "-m FILE (--text FILE | --tokens 1,2,3) [--chunk N] [--decode] [--reference LOGITS | --out LOGITS]"
    static let details = """
        As in llama.cpp: splits the text into independent chunks of N tokens, each starting with the beginning-of-sequence
        token if the model uses one, and scores the second half of each chunk. Prints JSON:
        {"tokens", "chunks", "n_ctx", "scored", "nll", "perplexity", "perplexity_stderr"}.

        --out writes the logits of every position, in the format of "bench logits". --reference compares with such a file of
        the same tokens: {"positions", "kl_mean", "kl_stderr", "kl_max", "top1_agreement", "nmse",
        "max_difference"}, where KL is the divergence of this model from the reference. --tokens are used without added
        special tokens and may be fewer than a chunk.
        """
    static let options: [Option] = [
        .model,
        Option("-f", "--text", value: "FILE", help: "the text, UTF-8"),
        Option("--tokens", value: "IDS", help: "comma-separated token ids instead of a text"),
        Option("--chunk", value: "N", help: "tokens per chunk (default: 512)"),
        Option("--chunks", value: "N", help: "only the first N chunks"),
        Option("--decode", help: "one token per step, as in decoding (default: as in prefill)"),
        Option("--reference", value: "FILE", help: "logits to compare with"),
        Option("-o", "--out", value: "FILE", help: "output file"),
    ]
    static let modelOptions: [ModelOption] = [.cacheType] + ModelOption.loading

    enum Source: Equatable {
        case text(String)
        case tokens([Int32])
    }

    let model: String
    let source: Source
    let chunk: Int?
    let limit: Int?
    let decodes: Bool
    let reference: String?
    let output: String?
    let configuration: LocalModel.Configuration

    init(_ arguments: Arguments) throws(UsageError) {
        model = try arguments.model
        switch (arguments.string("--text"), try arguments.tokens("--tokens")) {
        case (let path?, nil): source = .text(path)
        case (nil, let tokens?): source = .tokens(tokens)
        case (nil, nil): throw UsageError("--text or --tokens is missing")
        default: throw UsageError("--text and --tokens: give only one")
        }
        chunk = try arguments.int("--chunk", in: 2...1 << 24)
        limit = try arguments.int("--chunks", in: 1...Int.max)
        decodes = arguments.has("--decode")
        reference = arguments.string("--reference")
        output = arguments.string("--out")
        configuration = try arguments.configuration(Self.modelOptions)
    }

    struct Output: Encodable {
        var tokens: Int
        var chunks: Int
        var chunkSize: Int
        var scored = 0
        var meanLoss = 0.0
        var perplexity = 0.0
        var standardError = 0.0
        var reference: LogitsDistance.Summary?

        enum CodingKeys: String, CodingKey {
            case tokens, chunks, scored, perplexity, reference
            case chunkSize = "n_ctx"
            case meanLoss = "nll"
            case standardError = "perplexity_stderr"
        }
    }

    func run() async throws -> Bool {
        let size = chunk ?? 512
        var configuration = configuration
        configuration.contextSize = size
        let model = try await LocalModel.load(model, configuration)
        showProgress("reading the text")
        let chunks = try chunks(for: model, size: size)
        let logitBytes = 4 * model.info.vocabularySize
        let reference = try reference.map {
            try LogitsFile($0, bytes: chunks.count * chunks[0].tokens.count * logitBytes)
        }
        let writer = try output.map { try LogitsWriter($0) }
        let started = ContinuousClock.now
        var losses: [Double] = []
        var distances: [LogitsDistance] = []
        for (index, chunk) in chunks.enumerated() {
            showProgress(progress(index, of: chunks.count, losses, since: started))
            let first = reference == nil && writer == nil ? chunk.scored.lowerBound : 0
            let results = try await model.mapLogits(of: chunk.tokens, from: first, asAnswer: decodes) {
                position, logits in
                PositionResult(
                    loss: chunk.scored.contains(position) ? loss(logits, of: chunk.targets[position + 1]) : nil,
                    distance: reference.map { file in
                        file.row(index * chunk.tokens.count + position, count: logits.count) {
                            LogitsDistance(logits, reference: $0)
                        }
                    }, isWritten: writer?.append(logits) ?? true)
            }
            guard results.allSatisfy(\.isWritten) else { throw BenchError("--out: cannot write '\(output ?? "")'") }
            losses += results.compactMap(\.loss)
            distances += results.compactMap(\.distance)
        }
        showProgress("")
        var result = Output(
            tokens: chunks.count * chunks[0].tokens.count, chunks: chunks.count, chunkSize: chunks[0].tokens.count)
        result.add(losses)
        if reference != nil { result.reference = .init(distances) }
        try printJSON(result)
        return true
    }

    /// `chunk 3 of 560, perplexity 12.3456, 4 min left`
    private func progress(
        _ index: Int, of count: Int, _ losses: [Double], since started: ContinuousClock.Instant
    ) -> String {
        var parts = ["chunk \(index + 1) of \(count)"]
        if !losses.isEmpty { parts.append(String(format: "perplexity %.4f", exp(losses.mean))) }
        if index > 0 {
            let left = (ContinuousClock.now - started) / .seconds(1) / Double(index) * Double(count - index)
            parts.append(left < 90 ? "\(Int(left.rounded(.up))) s left" : "\(Int((left / 60).rounded())) min left")
        }
        return parts.joined(separator: ", ")
    }

    private struct PositionResult: Sendable {
        let loss: Double?
        let distance: LogitsDistance?
        let isWritten: Bool
    }

    /// Tokens that are processed together.
    struct Chunk: Sendable, Equatable {
        /// Input of the model.
        let tokens: [Int32]
        /// Tokens to predict; equal to `tokens` except for the first.
        let targets: [Int32]

        /// Positions whose prediction of the next token is scored.
        var scored: Range<Int> { tokens.count / 2..<max(tokens.count / 2, tokens.count - 1) }

        /// The complete chunks of a file's text, at least one.
        static func all(ofText path: String, for model: LocalModel, size: Int) throws -> [Chunk] {
            let data: Data
            do {
                data = try Data(contentsOf: URL(fileURLWithPath: path))
            } catch {
                throw BenchError("--text: cannot read '\(path)': \(error.localizedDescription)")
            }
            guard let text = String(data: data, encoding: .utf8) else { throw BenchError("\(path) is not UTF-8") }
            let tokenizer = try model.tokenizer
            let tokens = tokenizer.encode(text, addSpecial: true, parseSpecial: false)
            guard tokens.count >= size else {
                throw BenchError("\(path) has \(tokens.count) tokens, fewer than a chunk of \(size): use --chunk")
            }
            return all(
                of: tokens, size: size,
                beginning: tokenizer.addsBeginningOfSequence ? tokenizer.beginningOfSequence : nil)
        }

        /// The complete chunks of `tokens`.
        static func all(of tokens: [Int32], size: Int, beginning: Int32?) -> [Chunk] {
            (0..<tokens.count / size).map { index in
                let part = Array(tokens[index * size..<(index + 1) * size])
                return Chunk(tokens: beginning.map { [$0] + part.dropFirst() } ?? part, targets: part)
            }
        }
    }

    private func chunks(for model: LocalModel, size: Int) throws -> [Chunk] {
        let chunks: [Chunk]
        switch source {
        case .tokens(let tokens): chunks = Chunk.all(of: tokens, size: min(size, max(1, tokens.count)), beginning: nil)
        case .text(let path): chunks = try Chunk.all(ofText: path, for: model, size: size)
        }
        guard !chunks.isEmpty else { throw BenchError("--tokens: expected at least one") }
        return Array(chunks.prefix(limit ?? chunks.count))
    }
}

extension PerplexityCommand.Output {
    /// - Parameter losses: −ln of the probability of each scored token.
    mutating func add(_ losses: [Double]) {
        scored = losses.count
        guard !losses.isEmpty else { return }
        meanLoss = losses.mean
        perplexity = exp(meanLoss)
        // The error of e^x is e^x times the error of x.
        standardError = perplexity * losses.sampleDeviation / Double(losses.count).squareRoot()
    }
}
