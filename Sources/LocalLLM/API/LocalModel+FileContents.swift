public import Foundation
import Platform
public import Template
public import Tokenizer

extension LocalModel {
    /// The tokenizer of a GGUF file, without loading a model. The file may hold only a vocabulary.
    ///
    /// - Throws: `ModelFileError`; `LocalModelError.noTokenizer` with the reason, if the file has no usable tokenizer.
    public static func tokenizer(of url: URL) throws -> TextTokenizer {
        try TextFormat(GGUFFile(path: url.path)).tokenizer.get()
    }

    /// The chat template of a GGUF file, without loading a model; the default template if the file has none.
    ///
    /// - Throws: `ModelFileError`; `LocalModelError.templateFailed` if it cannot be parsed.
    public static func chatTemplate(of url: URL) throws -> ChatTemplate {
        try TextFormat(GGUFFile(path: url.path)).template.get()
    }

    /// The text of the chat template of a GGUF file; the default template's if the file has none.
    ///
    /// - Throws: `ModelFileError`.
    public static func chatTemplateSource(of url: URL) throws -> String {
        try TextFormat(GGUFFile(path: url.path)).templateSource
    }

    /// Describes the model in a GGUF file. The tensors' presence and shapes are checked; their data is not read.
    public static func info(of url: URL) throws(ModelFileError) -> Info {
        let file = try GGUFFile(path: url.path)
        let network = try Registry.network(for: file)
        return try Info(
            file, network, PoolingHead(file, isCausal: network.kind == .decoder),
            fallbackName: url.modelName)
    }

    /// The memory that a model would need if it were loaded now. The weights are not read.
    ///
    /// - Throws: `ModelFileError`, `LocalModelError.invalidOption`.
    public static func estimate(of url: URL, configuration: Configuration = .init()) throws -> MemoryEstimate {
        try MemoryEstimate(GGUFFile(path: url.path, configuration), configuration)
    }

    /// Checks that the file is GGUF and not truncated: a model, or any part of a split one.
    public static func checkHeader(of url: URL) throws(ModelFileError) { _ = try GGUFPart(MappedFile(path: url.path)) }

    /// Checks the configuration of a folder of safetensors, whose weights may be missing.
    ///
    /// - Throws: `ModelFileError` for a folder without a configuration, or of a class that is not supported.
    public static func checkConfiguration(ofFolder url: URL) throws(ModelFileError) {
        guard let config = try SafetensorsFolder.json("config.json", in: url.path) else {
            throw ModelFileError(.unreadable, "There is no 'config.json'.", path: url.path)
        }
        _ = try CheckpointFamily.make(config, path: url.path + "/config.json")
    }

    /// Checks the beginning of a file that is still being downloaded.
    ///
    /// - Returns: Whether enough has arrived to know the architecture.
    /// - Throws: `ModelFileError` for a file that is not GGUF, or a model of an unsupported architecture.
    public static func checkBeginning(of url: URL) throws(ModelFileError) -> Bool {
        let file = try MappedFile(path: url.path)
        guard let architecture = try GGUFPart.architecture(ofBeginning: file) else { return false }
        guard Registry.known.contains(architecture) else {
            throw Registry.unsupported(architecture, path: url.path)
        }
        return true
    }

    /// Bytes that can be allocated before the system kills this process.
    public static var availableMemory: Int { SystemMemory.available() }
}

extension URL {
    /// The name of a file without its extension, or of a folder, which has none: "Qwen3-0.6B".
    var modelName: String { hasDirectoryPath ? lastPathComponent : deletingPathExtension().lastPathComponent }
}
