import CommandLineParsing
import Foundation
import LocalLLM
import Tokenizer

/// Writes the embeddings of inputs, for comparison with other engines.
struct EmbedCommand: Command {
    static let name = "embed"
    static let summary = "write embeddings, or a reranker's scores, to a file"
    static let synopsis = "-m FILE (--tokens 1,2,3 | --text TEXT)… --out FILE [--raw]"
    static let details = """
        Writes 32-bit floats, little-endian: per input a vector, pooled as specified in the model file and scaled to length 1;
        for a reranker its scores. Prints {"inputs": n, "width": w, "pooling": "…", "tokens": [n1, n2, …]}. Inputs given as tokens come
        before those given as text, and need no tokenizer; text gets the model's special tokens. With --pooling none,
        writes a row per token.
        """
    static let options: [Option] = [
        .model,
        Option("--tokens", value: "IDS", repeats: true, help: "an input as comma-separated token ids"),
        Option("--text", value: "TEXT", repeats: true, help: "an input"),
        Option("-o", "--out", value: "FILE", help: "output file"),
        Option("--raw", help: "do not scale vectors to length 1"),
        Option("--dimensions", value: "N", help: "keep the first N dimensions of each vector"),
        Option(
            "--pooling", value: "NAME",
            help: "\(Pooling.allCases.map(\.rawValue).joined(separator: ", ")) (default: from the file, else mean)"),
    ]
    static let modelOptions: [ModelOption] = ModelOption.loading

    let model: String
    let tokens: [[Int32]]
    let texts: [String]
    let output: String
    let embedding: EmbeddingOptions
    let configuration: LocalModel.Configuration

    init(_ arguments: Arguments) throws(UsageError) {
        model = try arguments.model
        tokens = try arguments.tokenLists("--tokens")
        texts = arguments.strings("--text")
        guard !tokens.isEmpty || !texts.isEmpty else { throw UsageError("--tokens or --text is missing") }
        output = try arguments.required("--out")
        embedding = EmbeddingOptions(
            pooling: try arguments.choice("--pooling"), dimensions: try arguments.int("--dimensions", in: 1...Int.max),
            normalizes: !arguments.has("--raw"))
        configuration = try arguments.configuration(Self.modelOptions)
    }

    struct Shape: Encodable { let inputs: Int, width: Int, pooling: String, tokens: [Int] }

    func run() async throws -> Bool {
        let model = try await LocalModel.load(model, configuration)
        let inputs = try tokens + texts.map { try model.tokenizer.encode($0, addSpecial: true, parseSpecial: false) }
        let pooling = embedding.pooling ?? model.info.pooling ?? .mean
        var vectors: [[Float]] = []
        if pooling == .none {
            for input in inputs { vectors += try await model.tokenEmbeddings(of: input) }
        } else {
            vectors = try await model.embeddings(of: inputs, options: embedding)
        }
        let data = vectors.flatMap { $0 }.map(\.bitPattern.littleEndian).withUnsafeBytes { Data($0) }
        do {
            try data.write(to: URL(fileURLWithPath: output))
        } catch {
            throw BenchError("--out: cannot write '\(output)': \(error.localizedDescription)")
        }
        try printJSON(
            Shape(
                inputs: inputs.count, width: vectors.first?.count ?? 0, pooling: pooling.rawValue,
                tokens: inputs.map(\.count)))
        return true
    }
}
