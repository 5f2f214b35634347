public import Foundation

extension SystemLanguageModel {
    /// A LoRA adapter: weights trained for one task, in a file beside the model's.
    public struct Adapter: Sendable {
        let files: [LocalModel.AdapterFile]

        /// - Parameters:
        ///   - fileURL: A GGUF file, as llama.cpp's `convert_lora_to_gguf.py` writes it, or a folder as PEFT saves it.
        ///   - scale: Factor on the adapter's output.
        /// - Throws: `AssetError.invalidAsset` for a file that is not an adapter. Whether it fits the model is checked
        ///   when the model is loaded.
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
                        .unsupported, "This folder is not an adapter: 'adapter_config.json' is missing.", path: path)
                }
            } else {
                let type = try GGUFFile(path: path).metadata.stringIfPresent("general.type")
                guard type == "adapter" else {
                    throw ModelFileError(
                        .unsupported,
                        "This is not an adapter: expected general.type 'adapter', found \(type.map { "'\($0)'" } ?? "none").",
                        path: path)
                }
            }
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
        public struct Context: Sendable {
            public let debugDescription: String
            public init(debugDescription: String) { self.debugDescription = debugDescription }
        }

        /// The file cannot be read, or is not an adapter.
        case invalidAsset(Context)
        /// Never thrown: adapters here are files without names. Present for compatibility with FoundationModels.
        case invalidAdapterName(Context)
        /// Never thrown, for the same reason.
        case compatibleAdapterNotFound(Context)

        public var errorDescription: String? {
            switch self {
            case .invalidAsset(let context), .invalidAdapterName(let context), .compatibleAdapterNotFound(let context):
                context.debugDescription
            }
        }
    }
}
