public import Foundation

extension LocalModel {
    /// What to load and how.
    public struct Configuration: Sendable {
        /// The format that weights get when they are loaded, by llama.cpp's names (`Q4_K_M`, `Q8_0`, …); `nil`: the one they have. Meant
        /// for folders of safetensors. It takes time at each load; `bench convert` writes the result to a file.
        public var quantization: String?
        /// Most tokens a sequence may have; `nil` is what the model was trained for, or less where half of the memory
        /// that is available now would not hold the keys and values of so many.
        public var contextSize: Int?
        /// `nil` counts the physical cores that this process may use.
        public var threads: Int?
        /// `nil` takes the fastest that this processor runs.
        public var tier: KernelTier?
        /// How keys and values are remembered: `q8_0` takes little more than half of the memory, and rounds them.
        public var cacheFormat: KVCacheFormat
        /// Most requests that wait while others run; `LocalModelError.queueFull` for more.
        public var queueLimit: Int
        /// LoRA adapters, as GGUF files. Any number may act at once.
        public var adapters: [AdapterFile] = []
        /// The model's image encoder, an `mmproj` file; `nil`: it reads no pictures.
        public var imageEncoder: URL?
        /// Most tokens to remember, for tests; `nil` is what half of the available memory holds.
        package var cacheTokens: Int?

        public init(
            contextSize: Int? = nil, threads: Int? = nil, tier: KernelTier? = nil, cacheFormat: KVCacheFormat = .f16,
            queueLimit: Int = 128, imageEncoder: URL? = nil
        ) {
            self.contextSize = contextSize
            self.threads = threads
            self.tier = tier
            self.cacheFormat = cacheFormat
            self.queueLimit = queueLimit
            self.imageEncoder = imageEncoder
        }

        /// - Throws: `invalidOption` for what no model could be loaded with.
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
    /// The model of a file or a folder, in the format that the configuration wants.
    init(path: String, _ configuration: LocalModel.Configuration) throws {
        try self.init(path: path)
        guard let mixture = try configuration.mixture() else { return }
        self = try quantized(mixture, threads: configuration.threads)
    }
}
