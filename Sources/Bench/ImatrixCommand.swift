import CommandLineParsing
import Foundation
import LocalLLM

/// Computes the importance matrix with which `quantize` weights columns.
struct ImatrixCommand: Command {
    static let name = "imatrix"
    static let summary = "compute an importance matrix for bench quantize"
    static let synopsis = "-m FILE -f TEXT -o OUT.gguf [--chunk N] [--chunks N]"
    static let details = """
        Runs the model on a text, in chunks as "bench perplexity", and writes the sums of squares of each matrix's inputs,
        in the format of llama.cpp's llama-imatrix. Prints JSON: {"chunks", "chunk_size"}.
        """
    static let options: [Option] = [
        .model,
        Option("-f", "--text", value: "FILE", help: "the text, UTF-8"),
        Option("-o", "--out", value: "FILE", help: "output file"),
        Option("--chunk", value: "N", help: "tokens per chunk (default: 512)"),
        Option("--chunks", value: "N", help: "only the first N chunks"),
    ]
    static let modelOptions: [ModelOption] = ModelOption.loading

    let model: String
    let text: String
    let output: String
    let chunk: Int
    let limit: Int?
    let configuration: LocalModel.Configuration

    init(_ arguments: Arguments) throws(UsageError) {
        model = try arguments.model
        text = try arguments.required("--text")
        output = try arguments.required("--out")
        chunk = try arguments.int("--chunk", in: 2...1 << 24) ?? 512
        limit = try arguments.int("--chunks", in: 1...Int.max)
        configuration = try arguments.configuration(Self.modelOptions)
    }

    struct Result: Encodable {
        let chunks: Int
        let chunkSize: Int

        enum CodingKeys: String, CodingKey {
            case chunks
            case chunkSize = "chunk_size"
        }
    }

    func run() async throws -> Bool {
        var configuration = configuration
        configuration.contextSize = chunk
        let model = try await LocalModel.load(model, configuration)
        let all = try PerplexityCommand.Chunk.all(ofText: text, for: model, size: chunk)
        let chunks = all.prefix(limit ?? all.count).map(\.tokens)
        defer { showProgress("") }
        try await model.writeImportance(of: chunks, dataset: text, to: output) {
            showProgress("chunk \($0) of \(chunks.count)")
        }
        try printJSON(Result(chunks: chunks.count, chunkSize: chunk))
        return true
    }
}
