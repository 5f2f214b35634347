import Cryptography
public import Foundation
import Platform

/// The files in which prompts are kept for later processes (`Configuration.cacheDirectory`).
struct PromptFiles {
    static let defaultBytes = 8 << 30

    let store: PrefixStore

    /// - Returns: `nil` if prompts of this model are kept in memory only.
    init?(_ keys: PromptKeys, _ configuration: LocalModel.Configuration, name: String) {
        let limit = configuration.cacheDiskBytes ?? Self.defaultBytes
        guard let directory = configuration.cacheDirectory, limit > 0 else { return nil }
        store = PrefixStore(
            directory: directory.path, model: keys.model, name: name, limit: limit,
            report: configuration.reportsCacheProblem ?? { _ in })
    }
}

/// The keys that prompts of a loaded model have in files.
struct PromptKeys: Sendable {
    /// The digest that all of them begin with.
    fileprivate let model: [UInt8]
    private let adapters: [ObjectIdentifier: [UInt8]]

    /// - Returns: `nil` if the model's prompts are in no files: none are asked for, or it is no decoder.
    init?(_ loaded: LoadedNetwork, _ configuration: LocalModel.Configuration, adapters: [LoRAAdapter]) {
        guard configuration.cacheDirectory != nil || configuration.slotDirectory != nil,
            loaded.network.kind == .decoder
        else { return nil }
        model = Self.digest(of: loaded, configuration)
        self.adapters = Dictionary(
            adapters.map { (ObjectIdentifier($0), $0.digest) }, uniquingKeysWith: { first, _ in first })
    }

    /// The key of an empty prompt; `nil` if an adapter is not one of the model's.
    func key(_ selection: AdapterSelection, salt: String?) -> PrefixKey? {
        let hash = SHA256()
        for use in selection.uses {
            guard let digest = adapters[ObjectIdentifier(use.adapter)] else { return nil }
            hash.add(digest)
            hash.add(Array("\(use.scale) \(use.start)".utf8))
        }
        return PrefixKey(model: model, adapters: hash.digest, salt: salt)
    }

    /// Everything but the prompt, the adapters and the salt that keys and values depend on, bit for bit: weights, options, the
    /// program with its kernels, and what the processor made it choose.
    private static func digest(of loaded: LoadedNetwork, _ configuration: LocalModel.Configuration) -> [UInt8] {
        let hash = SHA256()
        hash.add(program)
        loaded.file.forEachSample { hash.add(Array($0)) }
        let shape = loaded.network.stateShape
        let hasLongFactors = loaded.file.contains("rope_factors_long.weight")
        let facts: [String] = [
            "\(loaded.compute.kernels.tier)", "\(loaded.isPacked)", "\(shape.format)", "\(shape.layers)",
            configuration.quantization ?? "", hasLongFactors ? "\(configuration.contextSize ?? 0)" : "",
        ]
        for fact in facts { hash.add(Array(fact.utf8)) }
        return hash.digest
    }

    /// Digest of this program's file.
    private static let program: [UInt8] = {
        let hash = SHA256()
        if let file = try? FileHandle(forReadingFrom: ThisProcess.file) {
            while let data = try? file.read(upToCount: 1 << 20), !data.isEmpty { data.withUnsafeBytes(hash.update) }
        }
        return hash.digest
    }()
}

extension LoRAAdapter {
    fileprivate var digest: [UInt8] {
        let hash = SHA256()
        for (name, update) in updates.sorted(by: { $0.key < $1.key }) {
            hash.add(Array("\(name) \(update.rank) \(update.factor)".utf8))
            update.a.withUnsafeBytes(hash.update)
            update.b.withUnsafeBytes(hash.update)
        }
        return hash.digest
    }
}

extension LocalModel.Configuration {
    /// Keeps prompts in the user's cache folder (`localllm/prefixes` in `$XDG_CACHE_HOME` or `~/.cache`) if the file lies in the
    /// folder that `shim pull` fills and `cacheDirectory` is not set.
    public mutating func keepPrompts(
        ofDownloaded file: URL, environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        let folder = ModelFolder.standard(environment).standardizedFileURL.path
        guard cacheDirectory == nil, file.standardizedFileURL.path.hasPrefix(folder + "/") else { return }
        cacheDirectory = Self.cacheFolder(environment)
    }

    /// The folder for kept prompts if no option names one: `localllm/prefixes` in `$XDG_CACHE_HOME` or `~/.cache`.
    package static func cacheFolder(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> URL {
        DataFolder.cache(environment).appendingPathComponent("prefixes")
    }
}

/// The prompts of a model that are kept in a folder.
package struct KeptPrompts {
    package let name: String
    /// Name of the model's own folder.
    package let id: String
    package let bytes: Int
    package let lastUse: Date?
    private let files: [PrefixStore.File]

    /// The models of which prompts are kept, by name.
    package static func models(in directory: URL) -> [KeptPrompts] {
        PrefixStore.models(in: directory.path).compactMap { folder -> KeptPrompts? in
            let files = PrefixStore.files(of: folder)
            guard !files.isEmpty else { return nil }
            let name = (try? String(contentsOfFile: "\(folder)/model", encoding: .utf8)) ?? ""
            return KeptPrompts(
                name: name, id: (folder as NSString).lastPathComponent, bytes: files.reduce(0) { $0 + $1.bytes },
                lastUse: files.map(\.lastUse).max(), files: files)
        }.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
    }

    /// Removes what was last used before a date.
    ///
    /// - Returns: The bytes removed.
    package func clear(before date: Date) throws -> Int {
        let old = files.filter { $0.lastUse < date }
        for file in old { try FileManager.default.removeItem(atPath: file.path) }
        return old.reduce(0) { $0 + $1.bytes }
    }
}
