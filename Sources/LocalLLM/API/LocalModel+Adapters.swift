import Constraint
import Foundation
import Synchronization

extension LocalModel {
    /// A loaded adapter.
    public struct Adapter: Sendable, Equatable {
        /// Index in `Configuration.adapters`; `SamplingOptions.adapterScales` uses it as the key.
        public var id: Int
        /// Its name, for a user to choose by.
        public var name: String
        /// The file or folder that it was loaded from.
        public var path: String
        /// The factor of its change of the weights, for requests that set no other; 0: off.
        public var scale: Double
        /// Tokens that activate the adapter when a prompt contains them; empty: it is always active.
        public var invocationTokens: [Int32]
        /// The adapter's task as its file names it, such as `retrieval.query`.
        public var task: String?
        /// Prefix of the texts that the adapter was trained on.
        public var promptPrefix: String?
    }

    /// The adapters that were loaded with the model, with their current scales.
    public var adapters: [Adapter] {
        let scales = adapterScales.withLock { $0 }
        return loadedAdapters.enumerated().map { id, adapter in
            Adapter(
                id: id, name: adapter.name, path: adapter.path, scale: Double(scales[id]),
                invocationTokens: adapter.invocation, task: adapter.task, promptPrefix: adapter.promptPrefix)
        }
    }

    /// Sets the scales for requests without `adapterScales`; adapters that are not named get 0.
    ///
    /// - Throws: `invalidOption` for an unknown ID, or a scale that is not finite.
    public func setAdapterScales(_ scales: [Int: Double]) throws(LocalModelError) {
        let new = try checkedScales(scales)
        adapterScales.withLock { $0 = new }
    }

    static func load(_ files: [AdapterFile], for base: GGUFFile, _ kind: ModelKind) throws -> [LoRAAdapter] {
        guard !files.isEmpty else { return [] }
        guard kind != .encoderDecoder else {
            throw LocalModelError.wrongKind("LoRA adapters of encoder-decoders are not supported.")
        }
        let model = try AdaptableModel(base)
        return try files.map { file in
            guard Float(file.scale).isFinite else {
                throw LocalModelError.invalidOption("lora: expected a number as scale, found \(file.scale)")
            }
            let patterns = ModulePatterns()
            return try LoRAAdapter(
                path: file.url.path, base: model, isOfEncoder: kind == .encoder, matches: patterns.match)
        }
    }

    /// The adapters of a sequence that begins with these tokens.
    func selection(_ scales: [Int: Double]?, prompt: [Int32]) throws(LocalModelError) -> AdapterSelection {
        guard !loadedAdapters.isEmpty || scales?.isEmpty == false else { return .none }
        let used = try scales.map { scales throws(LocalModelError) in try checkedScales(scales) }
        return AdapterSelection(loadedAdapters, scales: used ?? adapterScales.withLock { $0 }, prompt: prompt)
    }

    private func checkedScales(_ scales: [Int: Double]) throws(LocalModelError) -> [Float] {
        var result = [Float](repeating: 0, count: loadedAdapters.count)
        for (id, scale) in scales {
            guard result.indices.contains(id) else {
                throw .invalidOption("lora: there are \(result.count) adapters, with ids from 0; found the id \(id)")
            }
            guard Float(scale).isFinite else {
                throw .invalidOption("lora: expected a number as scale, found \(scale)")
            }
            result[id] = Float(scale)
        }
        return result
    }
}
