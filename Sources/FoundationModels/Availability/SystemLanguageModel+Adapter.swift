public import Foundation
import GGUF
public import LocalLLM

extension SystemLanguageModel {
    /// A LoRA adapter: weights trained for one task, in a file beside the model's.
    public struct Adapter: Sendable {
        let files: [LocalModel.AdapterFile]
        private let described: [String: String]

        /// - Parameters:
        ///   - fileURL: A GGUF file, as llama.cpp's `convert_lora_to_gguf.py` writes it, or a folder as PEFT saves it.
        ///   - scale: Factor on the adapter's output.
        /// - Throws: `AssetError.invalidAsset` for a file that is not an adapter. Whether it fits the model is checked
        ///   when the model is loaded.
        public init(fileURL: URL, scale: Double) throws {
            do throws(ModelFileError) { described = try Self.description(of: fileURL.path) } catch {
                throw AssetError.invalidAsset(.init(debugDescription: "\(error)"))
            }
            files = [.init(url: fileURL, scale: scale)]
        }

        /// - Throws: As with a scale.
        public init(fileURL: URL) throws { try self.init(fileURL: fileURL, scale: 1) }

        /// The adapter `NAME.gguf` in the folder of downloaded models.
        ///
        /// - Throws: `AssetError.invalidAdapterName` if there is no such file; as for a file.
        public init(name: String) throws {
            guard let file = Self.files(named: name).first else {
                throw AssetError.invalidAdapterName(
                    .init(debugDescription: "No such file: \(Self.folder.path)/\(name).gguf"))
            }
            try self.init(fileURL: file)
        }

        /// What the file says about the adapter: `name`, `description`, `author`, `version`, `license` and `url`, as far
        /// as it has them.
        public var creatorDefinedMetadata: [String: Any] { described }

        /// Checks the file again. Adapters here are used as they are; nothing is compiled.
        ///
        /// - Throws: As the initializer.
        #if compiler(>=6.2)
            @concurrent
        #endif
        public func compile() async throws {
            for file in files { _ = try Self(fileURL: file.url, scale: file.scale) }
        }

        /// Names of the files in the folder of downloaded models that hold this adapter: one, or none.
        public static func compatibleAdapterIdentifiers(name: String) -> [String] {
            files(named: name).filter { (try? Self(fileURL: $0)) != nil }.map(\.lastPathComponent)
        }

        /// Removes nothing: adapters are the app's files, and no copies of them are kept.
        public static func removeObsoleteAdapters() throws {}

        private static var folder: URL { ModelFolder.standard(ProcessInfo.processInfo.environment) }

        private static func files(named name: String) -> [URL] {
            ModelFolder.models(in: folder).filter { $0.deletingPathExtension().lastPathComponent == name }
        }

        private static func description(of path: String) throws(ModelFileError) -> [String: String] {
            if SafetensorsFolder.isFolder(path) {
                guard try SafetensorsFolder.json("adapter_config.json", in: path) != nil else {
                    throw ModelFileError(
                        .unsupported, "This folder is not an adapter: 'adapter_config.json' is missing.", path: path)
                }
                return ["name": URL(fileURLWithPath: path).lastPathComponent]
            }
            let metadata = try GGUFFile(path: path).metadata
            let type = try metadata.stringIfPresent("general.type")
            guard type == "adapter" else {
                throw ModelFileError(
                    .unsupported,
                    "This is not an adapter: expected general.type 'adapter', found \(type.map { "'\($0)'" } ?? "none").",
                    path: path)
            }
            var described: [String: String] = [:]
            for key in ["name", "description", "author", "version", "license", "url"] {
                described[key] = try metadata.displayTextIfPresent("general.\(key)")
            }
            return described
        }
    }

    /// The default model with an adapter. It has its own copy of the weights, even if the default model is in memory.
    public convenience init(adapter: Adapter, guardrails: Guardrails = .default) {
        var configuration = LocalModel.Configuration()
        configuration.adapters = adapter.files
        self.init(
            ModelHost(.standard(environment: ProcessInfo.processInfo.environment), configuration: configuration),
            .general, guardrails)
    }

    /// The model in a file, with an adapter.
    public convenience init(
        contentsOf file: URL, adapter: Adapter, configuration: LocalModel.Configuration = .init(),
        guardrails: Guardrails = .default
    ) {
        var configuration = configuration
        configuration.adapters += adapter.files
        self.init(contentsOf: file, configuration: configuration, guardrails: guardrails)
    }
}

extension SystemLanguageModel.Adapter {
    /// Why an adapter could not be opened.
    public enum AssetError: Swift.Error, LocalizedError {
        /// The explanation of an error.
        public struct Context: Sendable {
            public let debugDescription: String
            /// Says in one sentence what is wrong, with the file's path.
            public init(debugDescription: String) { self.debugDescription = debugDescription }
        }

        /// The file cannot be read, or is not an adapter.
        case invalidAsset(Context)
        /// The folder of downloaded models has no adapter of this name.
        case invalidAdapterName(Context)
        /// Never thrown: whether an adapter fits the model is checked when the model is loaded.
        case compatibleAdapterNotFound(Context)

        public var recoverySuggestion: String? {
            switch self {
            case .invalidAsset: "Use an adapter as a GGUF file, or a PEFT folder."
            case .invalidAdapterName: "Put the adapter's file there, or give its URL."
            case .compatibleAdapterNotFound: "Train the adapter for this model."
            }
        }

        public var errorDescription: String? {
            switch self {
            case .invalidAsset(let context), .invalidAdapterName(let context), .compatibleAdapterNotFound(let context):
                context.debugDescription
            }
        }
    }
}
