public import Foundation
import Tiers

extension LocalModel {
    /// What to load and how.
    public struct Configuration: Sendable {
        /// Format to quantize the weights to at load, by llama.cpp's names (`Q4_K_M`, `Q8_0`, …); `nil`: keep the
        /// file's. Meant for folders of safetensors. The work is repeated at each load; `bench convert` writes the
        /// result to a file.
        public var quantization: String?
        /// Maximum tokens of a sequence. `nil`: the trained context, or less if half of the memory available at load
        /// cannot hold its keys and values.
        public var contextSize: Int?
        /// `nil`: one per physical core that this process may use.
        public var threads: Int?
        /// `nil`: the fastest that this processor supports.
        package var tier: KernelTier?
        /// Format of the KV cache: `q8_0` takes little more than half of the memory, at reduced precision.
        public var cacheFormat: KVCacheFormat
        /// Whether the experts of a mixture are read from the file when they are used, and only as many kept in memory as
        /// there is room for: a model larger than the memory runs, but slower. Needs a GGUF file.
        public var expertsOnDisk = false
        /// Whether models of architectures load whose results were never compared with a reference (`Architecture.Check.none`).
        public var allowsUnchecked = false
        /// Temperature, filters and repetition penalty of requests that do not set them; behind these, the model's own
        /// recommendations. Other members have no effect.
        package var sampling = SamplingOptions()
        /// Bytes of experts to keep in memory, for tests; `nil`: by the available memory.
        package var expertBytes: Int?
        /// Maximum number of waiting requests; one more fails with `LocalModelError.queueFull`.
        public var queueLimit: Int
        /// LoRA adapters. Any number may be active at once.
        public var adapters: [AdapterFile] = []
        /// The model's image encoder, an `mmproj` file; `nil`: the model does not accept images.
        public var imageEncoder: URL?
        /// A smaller model with the same vocabulary that drafts tokens; `nil`: only the text so far and heads for
        /// multi-token prediction in the model's file do. Drafts speed answers up without changing them.
        public var draftModel: URL?
        /// A folder in which the keys and values of prompts are kept for later processes: a prompt that begins like an earlier one
        /// is read from there where that is faster than computing it. Several processes may use a folder together. Its files
        /// tell what the prompts said (docs/security.md). `nil`: prompts are kept in memory only.
        public var cacheDirectory: URL?
        /// Maximum bytes of all files in `cacheDirectory`, where those used last stay. `nil`: 8 GiB; 0: none are kept.
        public var cacheDiskBytes: Int?
        /// A folder in which the states of slots are saved on request (`saveSlot`); `nil`: they cannot be saved.
        package var slotDirectory: URL?
        /// Called with a sentence when prompts cannot be kept, for a log.
        package var reportsCacheProblem: (@Sendable (String) -> Void)?
        /// Capacity of the cache in tokens, for tests; `nil`: what half of the available memory holds.
        package var cacheTokens: Int?

        /// What is not set here can be set on the value. `nil` stands for the model's, or the machine's, default.
        public init(
            contextSize: Int? = nil, threads: Int? = nil, cacheFormat: KVCacheFormat = .f16, queueLimit: Int = 128,
            imageEncoder: URL? = nil
        ) {
            self.contextSize = contextSize
            self.threads = threads
            self.cacheFormat = cacheFormat
            self.queueLimit = queueLimit
            self.imageEncoder = imageEncoder
        }

        package init(threads: Int? = nil, tier: KernelTier?, cacheFormat: KVCacheFormat = .f16) {
            self.init(threads: threads, cacheFormat: cacheFormat)
            self.tier = tier
        }

        /// - Throws: `invalidOption` for a value that no model could be loaded with.
        public func validate() throws(LocalModelError) {
            _ = try kernels()
            _ = try mixture()
        }

        func mixture() throws(LocalModelError) -> Mixture? {
            guard let quantization else { return nil }
            guard let mixture = Mixture(named: quantization) else {
                throw .invalidOption(
                    "quantization: expected one of \(Mixture.names.joined(separator: ", ")), found '\(quantization)'")
            }
            return mixture
        }

        func kernels() throws(LocalModelError) -> KernelSet {
            if let contextSize, !(1...Int(Int32.max)).contains(contextSize) {
                throw .invalidOption("contextSize: expected 1...\(Int32.max), found \(contextSize)")
            }
            if let threads, !(1...1024).contains(threads) {
                throw .invalidOption("threads: expected 1...1024, found \(threads)")
            }
            guard let tier else { return .best }
            guard let kernels = KernelSet.available.first(where: { $0.tier == tier }) else {
                let names = KernelTier.available.map(\.rawValue).joined(separator: ", ")
                throw .invalidOption("tier: this processor runs \(names), not \(tier.rawValue)")
            }
            return kernels
        }
    }
}

extension GGUFFile {
    /// Opens a file or a folder, in the format that the configuration requests.
    package init(path: String, _ configuration: LocalModel.Configuration) throws {
        try self.init(path: path)
        guard let mixture = try configuration.mixture() else { return }
        self = try quantized(mixture, threads: configuration.threads)
    }
}
