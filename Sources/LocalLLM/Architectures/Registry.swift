/// Every architecture that the engine knows, by the name that files declare in `general.architecture`.
enum Registry {
    static func network(for file: GGUFFile) throws(ModelFileError) -> any Network {
        let architecture = try file.metadata.string("general.architecture")
        switch architecture {
        case "llama":
            return try Llama(
                file, architecture: architecture, rotaryLayout: .adjacent, experts: .init(isOptional: true))
        case "qwen2":
            return try Llama(file, architecture: architecture, rotaryLayout: .halves, mlpScales: false)
        case "qwen2moe":
            return try Llama(
                file, architecture: architecture, rotaryLayout: .halves, mlpScales: false,
                experts: .init(normalizesWeights: false, sharesFeedForwardWidth: true, hasSharedExpert: true))
        case "qwen3": return try Llama(file, architecture: architecture, rotaryLayout: .halves)
        case "qwen3moe":
            return try Llama(
                file, architecture: architecture, rotaryLayout: .halves, experts: .init(sharesFeedForwardWidth: true))
        case "olmoe":
            return try Llama(
                file, architecture: architecture, rotaryLayout: .halves, mlpScales: false,
                experts: .init(normalizesWeights: false), normsAllHeads: true)
        default:
            throw ModelFileError(
                .unsupported,
                "The architecture '\(architecture)' is not supported; llama, olmoe, qwen2, qwen2moe, qwen3 and qwen3moe are.",
                path: file.path)
        }
    }
}
