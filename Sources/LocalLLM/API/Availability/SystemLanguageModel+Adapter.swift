public import Foundation

extension SystemLanguageModel {
    /// A LoRA adapter: what a model was taught for one task, in a file beside it.
    public struct Adapter: Sendable {
        let files: [LocalModel.AdapterFile]

        /// - Parameters:
        ///   - fileURL: A GGUF file, as llama.cpp's `convert_lora_to_gguf.py` writes it, or a folder as PEFT saves it.
        ///   - scale: How strongly it acts.
        /// - Throws: `ModelFileError` for what is no adapter. Whether it fits to the model shows when that is loaded.
        public init(fileURL: URL, scale: Double = 1) throws {
            if SafetensorsFolder.isFolder(fileURL.path) {
                guard try SafetensorsFolder.json("adapter_config.json", in: fileURL.path) != nil else {
                    throw ModelFileError(
                        .unsupported, "This folder is no adapter: there is no 'adapter_config.json'.",
                        path: fileURL.path)
                }
            } else {
                let metadata = try GGUFFile(path: fileURL.path).metadata
                guard try metadata.stringIfPresent("general.type") == "adapter" else {
                    throw ModelFileError(
                        .unsupported, "This is no adapter: its 'general.type' is not 'adapter'.", path: fileURL.path)
                }
            }
            files = [.init(url: fileURL, scale: scale)]
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
