/// Every architecture that the engine knows, by the name that files declare in `general.architecture`.
enum Registry {
    static let families: [String: Family] = [
        "llama": .llama, "qwen2": .qwen2, "qwen2moe": .qwen2moe, "qwen3": .qwen3, "qwen3moe": .qwen3moe,
        "olmoe": .olmoe,
    ]

    static func network(for file: GGUFFile) throws(ModelFileError) -> any Network {
        let architecture = try file.metadata.string("general.architecture")
        guard let family = families[architecture] else {
            throw ModelFileError(
                .unsupported,
                "The architecture '\(architecture)' is not supported; \(families.keys.sorted().joined(separator: ", ")) are.",
                path: file.path)
        }
        return try DecoderBuilder(file, architecture: architecture, family).decoder()
    }
}
