public import Foundation
public import Template
public import Tokenizer

extension LocalModel {
    /// The tokenizer of a GGUF file, without loading a model: the file may hold a vocabulary only.
    ///
    /// - Throws: `ModelFileError`; `LocalModelError.noTokenizer`, which says why, where it has none that can be used.
    public static func tokenizer(of url: URL) throws -> TextTokenizer {
        try TextFormat(GGUFFile(path: url.path)).tokenizer.get()
    }

    /// The chat template of a GGUF file, without loading a model; the default one where it has none.
    ///
    /// - Throws: `ModelFileError`; `LocalModelError.templateFailed` for one that cannot be parsed.
    public static func chatTemplate(of url: URL) throws -> ChatTemplate {
        try TextFormat(GGUFFile(path: url.path)).template.get()
    }

    /// The same template's text.
    ///
    /// - Throws: `ModelFileError`.
    public static func chatTemplateSource(of url: URL) throws -> String {
        try TextFormat(GGUFFile(path: url.path)).templateSource
    }

    /// What a GGUF file says of its model. The weights are not read, but there and of the right shapes.
    public static func info(of url: URL) throws(ModelFileError) -> Info {
        let file = try GGUFFile(path: url.path)
        let network = try Registry.network(for: file)
        return try Info(
            file, network, PoolingHead(file, isCausal: network.kind == .decoder),
            fallbackName: url.deletingPathExtension().lastPathComponent)
    }

    /// What a model would take of memory if it were loaded now. The weights are not read.
    ///
    /// - Throws: `ModelFileError`, `LocalModelError.invalidOption`.
    public static func estimate(of url: URL, configuration: Configuration = .init()) throws -> MemoryEstimate {
        try MemoryEstimate(GGUFFile(path: url.path, configuration), configuration)
    }

    /// Checks that this is a GGUF file as long as it says: a model, or any part of a split one.
    public static func checkHeader(of url: URL) throws(ModelFileError) { _ = try GGUFPart(MappedFile(path: url.path)) }

    /// Checks the beginning of a file that is still being downloaded.
    ///
    /// - Returns: Whether enough of it is there to know the architecture.
    /// - Throws: `ModelFileError` for what is no GGUF file, or a model of an architecture that is not supported.
    public static func checkBeginning(of url: URL) throws(ModelFileError) -> Bool {
        let file = try MappedFile(path: url.path)
        guard let architecture = try GGUFPart.architecture(ofBeginning: file) else { return false }
        guard Registry.known.contains(architecture) else {
            throw Registry.unsupported(architecture, path: url.path)
        }
        return true
    }

    /// Bytes that new allocations can have without this process being killed.
    public static var availableMemory: Int { SystemMemory.available() }
}
