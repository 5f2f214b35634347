import CommandLineParsing
import Foundation
import LocalLLM

/// Writes the logits of every position, for comparison with other engines.
struct LogitsCommand: Command {
    static let name = "logits"
    static let summary = "write the logits of every position to a file"
    static let synopsis =
        "-m FILE ([--encoder-tokens 4,5] --tokens 1,2,3 | --mmproj FILE --image FILE… --text TEXT) --out FILE [--chunk N]"
    static let details = """
        Writes 32-bit floats, little-endian, [tokens, vocabulary], and prints {"tokens": n, "vocab": v}.
        --tokens needs no tokenizer in the model file. For an encoder-decoder, --encoder-tokens are the encoder's input and
        --tokens the decoder's. Each \(imageMarker) in --text marks an image; only text tokens have logits.
        """
    static let options: [Option] = [
        .model,
        Option("--tokens", value: "IDS", help: "comma-separated token ids"),
        Option("--encoder-tokens", value: "IDS", help: "encoder input of an encoder-decoder, as token ids"),
        .image,
        Option("--text", value: "TEXT", help: "prompt with \(imageMarker) for each image, instead of --tokens"),
        Option("-o", "--out", value: "FILE", help: "output file"),
        Option("--chunk", value: "N", help: "tokens per step; 1 as in decoding (default: 512)"),
    ]
    static let modelOptions: [ModelOption] = [.imageEncoder, .adapters, .cacheType] + ModelOption.loading

    let model: String
    let tokens: [Int32]
    let encoderTokens: [Int32]?
    let images: [String]
    let text: String?
    let output: String
    let chunk: Int
    let configuration: LocalModel.Configuration

    init(_ arguments: Arguments) throws(UsageError) {
        model = try arguments.model
        tokens = try arguments.tokens("--tokens") ?? []
        images = arguments.strings("--image")
        text = arguments.string("--text")
        guard !tokens.isEmpty || text != nil else { throw UsageError("--tokens is missing") }
        guard tokens.isEmpty || text == nil && images.isEmpty else {
            throw UsageError("--tokens cannot be combined with --text and --image")
        }
        encoderTokens = try arguments.tokens("--encoder-tokens")
        output = try arguments.required("--out")
        chunk = try arguments.int("--chunk", in: 1...Int.max) ?? 512
        configuration = try arguments.configuration(Self.modelOptions)
    }

    struct Shape: Encodable { let tokens: Int, vocab: Int }

    func run() async throws -> Bool {
        var configuration = configuration
        configuration.contextSize = text == nil ? max(tokens.count, encoderTokens?.count ?? 0) : nil
        let model = try await LocalModel.load(model, configuration)
        let logits: [Float]
        if let text {
            var inputs: [ModelImage] = []
            for image in images { inputs.append(try await model.read(try RGBImage(path: image))) }
            let prompt = try model.prompt(
                of: text.replacing(imageMarker, with: ChatMessage.imageMarker), images: inputs)
            logits = try await model.logits(of: prompt, chunk: chunk)
        } else {
            logits = try await model.logits(of: tokens, encoding: encoderTokens, chunk: min(chunk, tokens.count))
        }
        let data = logits.map(\.bitPattern.littleEndian).withUnsafeBytes { Data($0) }
        do {
            try data.write(to: URL(fileURLWithPath: output))
        } catch {
            throw BenchError("--out: cannot write '\(output)': \(error.localizedDescription)")
        }
        try printJSON(
            Shape(tokens: logits.count / model.info.vocabularySize, vocab: model.info.vocabularySize))
        return true
    }
}

extension Arguments {
    /// Comma-separated token ids.
    func tokens(_ name: String) throws(UsageError) -> [Int32]? {
        try ints(name, in: 0...Int(Int32.max))?.map { Int32($0) }
    }

    /// The token ids of each occurrence of the option.
    func tokenLists(_ name: String) throws(UsageError) -> [[Int32]] {
        try lists(name, in: 0...Int(Int32.max)).map { $0.map { Int32($0) } }
    }
}
