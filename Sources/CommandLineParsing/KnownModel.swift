public import LocalLLM

/// A model that `shim pull` knows by a short name: where it is, in a quantization that is a good choice on a CPU.
public struct KnownModel: Sendable, Equatable {
    /// `llama3.2:3b`: the family, and the number of parameters.
    public let name: String
    /// Owner and name at Hugging Face.
    public let repository: String
    public let quantization: String
    /// Size of the file, rounded.
    public let bytes: Int
    public let licence: String

    /// The source that `shim pull` downloads.
    public var source: String { "hf:\(repository):\(quantization)" }

    /// Size and licence, for people.
    public var summary: String { "\(size(bytes)), \(licence)" }

    private var family: Substring { name.prefix { $0 != ":" } }

    private init(
        _ name: String, _ repository: String, _ quantization: String = "Q4_K_M", megabytes: Int, _ licence: String
    ) {
        (self.name, self.repository, self.quantization) = (name, repository, quantization)
        (bytes, self.licence) = (megabytes * 1_000_000, licence)
    }

    /// Smallest first. docs/models.md has the same table.
    public static let all = [
        Self("smollm2:135m", "unsloth/SmolLM2-135M-Instruct-GGUF", megabytes: 105, "Apache 2.0"),
        Self("qwen3:0.6b", "ggml-org/Qwen3-0.6B-GGUF", "Q8_0", megabytes: 800, "Apache 2.0"),
        Self("gemma3:1b", "lmstudio-community/gemma-3-1b-it-GGUF", megabytes: 806, "Gemma"),
        Self("llama3.2:1b", "bartowski/Llama-3.2-1B-Instruct-GGUF", megabytes: 810, "Llama 3.2"),
        Self("smollm2:1.7b", "HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF", megabytes: 1_060, "Apache 2.0"),
        Self("deepseek-r1:1.5b", "bartowski/DeepSeek-R1-Distill-Qwen-1.5B-GGUF", megabytes: 1_120, "MIT"),
        Self("llama3.2:3b", "bartowski/Llama-3.2-3B-Instruct-GGUF", megabytes: 2_020, "Llama 3.2"),
        Self("gemma3:4b", "ggml-org/gemma-3-4b-it-GGUF", megabytes: 2_490, "Gemma"),
        Self("qwen3:4b", "bartowski/Qwen_Qwen3-4B-GGUF", megabytes: 2_500, "Apache 2.0"),
        Self("mistral:7b", "bartowski/Mistral-7B-Instruct-v0.3-GGUF", megabytes: 4_370, "Apache 2.0"),
        Self("qwen2.5-coder:7b", "bartowski/Qwen2.5-Coder-7B-Instruct-GGUF", megabytes: 4_680, "Apache 2.0"),
        Self("llama3.1:8b", "bartowski/Meta-Llama-3.1-8B-Instruct-GGUF", megabytes: 4_920, "Llama 3.1"),
        Self("qwen3:8b", "bartowski/Qwen_Qwen3-8B-GGUF", megabytes: 5_030, "Apache 2.0"),
        Self("gpt-oss:20b", "bartowski/openai_gpt-oss-20b-GGUF", "MXFP4", megabytes: 12_100, "Apache 2.0"),
        Self("qwen3:30b", "bartowski/Qwen_Qwen3-30B-A3B-GGUF", megabytes: 18_600, "Apache 2.0"),
    ]

    /// Names without the number of parameters, each once.
    public static var families: [String] {
        all.reduce(into: []) { if !$0.contains(String($1.family)) { $0.append(String($1.family)) } }
    }

    /// All models with size and licence, for the help.
    public static var listing: String {
        table(all.map { ["  \($0.name)", size($0.bytes), $0.quantization, $0.licence] })
    }

    /// The model with this name in any case, with or without the tag `latest`. The name of a family is its largest model
    /// that fits.
    ///
    /// - Parameter memory: Bytes that are available.
    public static func named(_ name: String, memory: Int = LocalModel.availableMemory) -> Self? {
        var name = name.lowercased()
        if name.hasSuffix(":latest") { name.removeLast(7) }
        if let model = all.first(where: { $0.name == name }) { return model }
        let family = all.filter { $0.family == name }
        return family.last { $0.fits(memory) } ?? family.first
    }

    /// Whether weights, and keys and values for some thousand tokens, fit.
    private func fits(_ memory: Int) -> Bool { bytes + bytes / 4 + 300_000_000 <= memory }

    /// A small, a medium and a large model of those that fit.
    public static func suggestions(memory: Int = LocalModel.availableMemory) -> [Self] {
        let fitting = all.filter { $0.fits(memory) }
        guard fitting.count > 3 else { return fitting.isEmpty ? [all[0]] : fitting }
        return [fitting[0], fitting[fitting.count / 2], fitting[fitting.count - 1]]
    }

    /// How to get one of `suggestions`, for someone who has no model yet.
    public static func advice(memory: Int = LocalModel.availableMemory) -> String {
        let models = suggestions(memory: memory)
        let rows = models.map { ["  shim pull \($0.name)", size($0.bytes), $0.licence] }
        return """
            These fit in this machine's memory (\(size(memory)) free); docs/models.md lists more:
            \(table(rows))
            """
    }
}
