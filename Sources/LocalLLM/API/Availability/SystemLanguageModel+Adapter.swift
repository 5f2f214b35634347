public import Foundation

extension SystemLanguageModel {
    /// A LoRA adapter: what a model was taught for one task, in a file beside it.
    public struct Adapter: Sendable {
        let files: [LocalModel.AdapterFile]

        /// - Parameters:
        ///   - fileURL: A GGUF file, as llama.cpp's `convert_lora_to_gguf.py` writes it, or a folder as PEFT saves it.
        ///   - scale: How strongly it acts.
        /// - Throws: `AssetError.invalidAsset` for a file that is no adapter. Whether it fits the model shows when that is loaded.
        public init(fileURL: URL, scale: Double = 1) throws {
            do throws(ModelFileError) { try Self.check(fileURL.path) } catch {
                throw AssetError.invalidAsset(.init(debugDescription: "\(error)"))
            }
            files = [.init(url: fileURL, scale: scale)]
        }

        private static func check(_ path: String) throws(ModelFileError) {
            if SafetensorsFolder.isFolder(path) {
                guard try SafetensorsFolder.json("adapter_config.json", in: path) != nil else {
                    throw ModelFileError(
                        .unsupported, "This folder is no adapter: there is no 'adapter_config.json'.", path: path)
                }
            } else {
                let type = try GGUFFile(path: path).metadata.stringIfPresent("general.type")
                guard type == "adapter" else {
                    throw ModelFileError(
                        .unsupported,
                        "This is no adapter: expected general.type 'adapter', found \(type.map { "'\($0)'" } ?? "none").",
                        path: path)
                }
            }
        }
    }

    /// The default model with an adapter. Its weights are loaded once more where the default model is in memory, too.
    public convenience init(adapter: Adapter, guardrails: Guardrails = .default) {
        var configuration = LocalModel.Configuration()
        configuration.adapters = adapter.files
        self.init(
            ModelHost(.standard(environment: ProcessInfo.processInfo.environment), configuration: configuration),
            .general, guardrails)
    }

    /// The model of a file with an adapter.
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
    /// Why there is no adapter.
    public enum AssetError: Swift.Error, LocalizedError {
        public struct Context: Sendable {
            public let debugDescription: String
            public init(debugDescription: String) { self.debugDescription = debugDescription }
        }

        /// The file cannot be read, or is no adapter.
        case invalidAsset(Context)
        /// Not thrown: adapters here are files, and have no names.
        case invalidAdapterName(Context)
        /// Not thrown, for the same reason.
        case compatibleAdapterNotFound(Context)

        public var errorDescription: String? {
            switch self {
            case .invalidAsset(let context), .invalidAdapterName(let context), .compatibleAdapterNotFound(let context):
                context.debugDescription
            }
        }
    }
}
