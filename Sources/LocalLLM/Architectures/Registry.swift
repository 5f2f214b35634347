/// Every architecture that the engine knows, by the name that files declare in `general.architecture`.
enum Registry {
    static func network(for file: GGUFFile) throws(ModelFileError) -> any Network {
        let architecture = try file.metadata.string("general.architecture")
        switch architecture {
        case "llama": return try Llama(file, architecture: architecture, rotaryLayout: .adjacent)
        case "qwen2":
            return try Llama(file, architecture: architecture, rotaryLayout: .halves, mlpScales: false)
        case "qwen3": return try Llama(file, architecture: architecture, rotaryLayout: .halves)
        default:
            throw ModelFileError(
                .unsupported,
                "The architecture '\(architecture)' is not supported; llama, qwen2 and qwen3 are.", path: file.path)
        }
    }
}
