/// Every architecture that the engine knows, by the name that files declare in `general.architecture`.
enum Registry {
    static let families: [String: Family] = [
        "llama": .llama, "qwen2": .qwen2, "qwen2moe": .qwen2moe, "qwen3": .qwen3, "qwen3moe": .qwen3moe,
        "olmoe": .olmoe,
        "arwkv7": .arwkv7, "jamba": .jamba, "lfm2": .lfm2, "mamba": .mamba, "mamba2": .mamba2, "qwen35": .qwen35,
        "rwkv6": .rwkv6, "rwkv6qwen2": .rwkv6qwen2, "rwkv7": .rwkv7,
    ]

    /// Names of architectures, sorted.
    private static var known: [String] {
        (Array(families.keys) + Array(EncoderFamily.architectures.keys) + ["t5"]).sorted()
    }

    /// `nil` for a decoder.
    private static func encoderFamily(
        _ file: GGUFFile, _ architecture: String
    ) throws(ModelFileError) -> EncoderFamily? {
        if let family = EncoderFamily.architectures[architecture] { return family }
        let hyper = Hyperparameters(file: file, architecture: architecture)
        guard families[architecture] != nil, try hyper.bool("attention.causal") == false else { return nil }
        guard let family = EncoderFamily.unmaskedDecoders[architecture] else {
            let known = EncoderFamily.unmaskedDecoders.keys.sorted().joined(separator: ", ")
            throw hyper.invalid("attention.causal", "true, or the architecture one of \(known)", found: false)
        }
        return family
    }

    static func network(for file: GGUFFile) throws(ModelFileError) -> any Network {
        let architecture = try file.metadata.string("general.architecture")
        if let family = try encoderFamily(file, architecture) {
            return try EncoderBuilder(file, architecture: architecture, family).encoder()
        }
        if architecture == "t5" { return try T5(file, architecture: architecture) }
        guard let family = families[architecture] else {
            throw ModelFileError(
                .unsupported,
                "The architecture '\(architecture)' is not supported; \(known.joined(separator: ", ")) are.",
                path: file.path)
        }
        return try DecoderBuilder(file, architecture: architecture, family).decoder()
    }
}
