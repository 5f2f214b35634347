/// Every architecture that the engine knows, by the name that files declare in `general.architecture`.
enum Registry {
    static let families: [String: Family] = [
        "llama": .llama, "qwen2": .qwen2, "qwen2moe": .qwen2moe, "qwen3": .qwen3, "qwen3moe": .qwen3moe,
        "olmoe": .olmoe,
        "arwkv7": .arwkv7, "jamba": .jamba, "lfm2": .lfm2, "mamba": .mamba, "mamba2": .mamba2, "qwen35": .qwen35,
        "rwkv6": .rwkv6, "rwkv6qwen2": .rwkv6qwen2, "rwkv7": .rwkv7,
    ]

    static func unsupported(_ architecture: String, path: String) -> ModelFileError {
        ModelFileError(
            .unsupported,
            "The architecture '\(architecture)' is not supported; \(families.keys.sorted().joined(separator: ", ")) are.",
            path: path)
    }

    static func network(for file: GGUFFile) throws(ModelFileError) -> any Network {
        let architecture = try file.metadata.string("general.architecture")
        guard let family = families[architecture] else {
            throw unsupported(architecture, path: file.path)
        }
        return try DecoderBuilder(file, architecture: architecture, family).decoder()
    }
}
