/// A model architecture that the engine can run.
public struct Architecture: Sendable {
    /// The value of `general.architecture` in model files.
    public let name: String
    /// The kinds of models with this architecture.
    public let kinds: [Kind]
    public let check: Check

    /// A kind of model.
    public enum Kind: String, Sendable {
        case dense
        case mixture = "mixture of experts"
        /// Some or all layers keep a recurrent state of fixed size.
        case recurrent = "recurrent or hybrid"
        case encoder
        case encoderDecoder = "encoder-decoder"
    }

    /// How results of the architecture were verified.
    public enum Check: String, Sendable {
        /// The test suite compares them with stored results of the reference implementation.
        case referenceData = "reference data"
        /// Compared with llama.cpp's logits of a tiny random model.
        case llamaCpp = "llama.cpp"
        /// Compared with transformers' logits of a tiny random model.
        case transformers
    }

    /// All supported architectures, sorted by name.
    public static let all: [Architecture] = {
        var all: [Architecture] = []
        for (name, family) in Registry.families {
            all.append(Architecture(name: name, kinds: kinds(name, family), check: check(name)))
        }
        for name in EncoderFamily.architectures.keys {
            all.append(Architecture(name: name, kinds: [.encoder], check: check(name)))
        }
        all.append(Architecture(name: "t5", kinds: [.encoderDecoder], check: check("t5")))
        return all.sorted { $0.name < $1.name }
    }()

    private static func kinds(_ name: String, _ family: Family) -> [Kind] {
        var kinds: [Kind] = family.experts == nil ? [.dense] : [.mixture]
        if family.experts?.isOptional == true { kinds.insert(.dense, at: 0) }
        if Family.recurrents[name] != nil { kinds.append(.recurrent) }
        return kinds
    }

    private static func check(_ name: String) -> Check {
        withReferenceData.contains(name) ? .referenceData : name == "gptj" ? .transformers : .llamaCpp
    }

    /// Architectures for which `ReferenceFamilyTests` and the encoder tests hold reference results.
    private static let withReferenceData: Set<String> = [
        "afmoe", "arcee", "arwkv7", "baichuan", "bailingmoe2", "bert", "bloom", "chatglm", "cohere2", "command-r",
        "deepseek", "deepseek2", "dots1", "ernie4_5", "eurobert", "exaone4", "falcon", "falcon-h1", "gemma",
        "gemma-embedding", "gemma2", "gemma3", "gemma4", "glm4", "glm4moe", "gpt-oss", "gpt2", "gptneox", "granite",
        "granitehybrid", "granitemoe", "hunyuan-dense", "hunyuan-moe", "internlm2", "jamba", "jina-bert-v2",
        "jina-bert-v3", "kimi-linear", "lfm2", "lfm2moe", "llama", "llama-embed", "llama4", "mamba", "mamba2",
        "minicpm", "minicpm3", "minimax-m2", "mistral3", "modern-bert", "mpt", "nemotron", "nemotron_h", "neo-bert",
        "nomic-bert", "nomic-bert-moe", "olmo2", "olmoe", "openelm", "phi2", "phi3", "phimoe", "qwen2", "qwen2moe",
        "qwen3", "qwen35", "qwen35moe", "qwen3moe", "qwen3next", "rwkv6", "rwkv6qwen2", "rwkv7", "seed_oss",
        "smallthinker", "smollm3", "stablelm", "starcoder2", "t5", "t5encoder",
    ]
}
