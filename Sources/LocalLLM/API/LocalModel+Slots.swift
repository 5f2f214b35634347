import Foundation

/// Where the states of slots are saved, and the keys that say whose they are.
struct SlotFiles: Sendable {
    let directory: URL
    let keys: PromptKeys
}

/// Why the state of a slot was not saved or restored.
package enum SlotError: Error, Equatable {
    /// The model was loaded without `Configuration.slotDirectory`, or is of a kind whose states are not shared.
    case notSupported
    case noSuchSlot(Int)
    case empty(Int)
    /// Says what a name may be.
    case invalidName(String)
    case noSuchFile(String)
    /// Says what was expected in the file and what was found.
    case invalidFile(String)
    case notWritten(String)
}

extension LocalModel {
    /// Writes the states of a slot's text, computed and cached, to a file in `Configuration.slotDirectory`. A file with the
    /// same name is replaced.
    ///
    /// - Parameters:
    ///   - slot: Number of a slot, below `maximumRunning` (`SamplingOptions.slot`).
    ///   - name: The file's name.
    /// - Throws: `SlotError`, `LocalModelError`.
    package func saveSlot(_ slot: Int, as name: String) async throws -> SlotTransfer {
        let (path, keys) = try place(of: name, slot)
        let folder = (path as NSString).deletingLastPathComponent
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw SlotError.notWritten("cannot create \(folder): \(error.localizedDescription)")
        }
        let adapters = loadedAdapters
        let saved = try await failing(name) {
            try await thread.saveSlot(slot, to: path) { selection in
                let scales = adapters.map { adapter in selection.uses.first { $0.adapter === adapter }?.scale ?? 0 }
                return (scales, keys.key(selection, salt: nil) ?? PrefixKey(model: [], adapters: [], salt: nil))
            }
        }
        guard let saved else { throw SlotError.empty(slot) }
        return saved
    }

    /// Puts a saved text into a slot and its states into the prefix cache: prompts that begin with it need not compute them.
    ///
    /// - Parameters:
    ///   - slot: Number of a slot, below `maximumRunning`.
    ///   - name: The name of a file in `Configuration.slotDirectory`, which this model has written, with the same adapters and
    ///     the same version of the program.
    /// - Throws: `SlotError`, `LocalModelError`.
    package func restoreSlot(_ slot: Int, from name: String) async throws -> SlotTransfer {
        let (path, keys) = try place(of: name, slot)
        return try await failing(name) {
            try await thread.restoreSlot(slot, from: path) { [self] head in
                guard head.scales.count == loadedAdapters.count else {
                    throw SlotFile.Failure.invalid(
                        "was saved with \(head.scales.count) adapters; the model has \(loadedAdapters.count)")
                }
                let ids = 0..<Int32(info.vocabularySize)
                guard head.tokens.allSatisfy(ids.contains) else {
                    throw SlotFile.Failure.invalid("has a token that is not in the model's vocabulary")
                }
                let adapters = AdapterSelection(
                    loadedAdapters, scales: head.scales, prompt: Array(head.tokens[..<head.promptTokens]))
                guard keys.key(adapters, salt: nil) == head.root else {
                    throw SlotFile.Failure.invalid(
                        "was saved with another model, adapter, cache type, processor or version of the program")
                }
                return adapters
            }
        }
    }

    /// Empties a slot. States that no other text begins with are computed again if they are needed.
    ///
    /// - Returns: Tokens of its text.
    /// - Throws: `SlotError`, `LocalModelError`.
    package func eraseSlot(_ slot: Int) async throws -> Int {
        _ = try files(of: slot)
        return try await thread.eraseSlot(slot)
    }

    private func files(of slot: Int) throws(SlotError) -> SlotFiles {
        guard let slotFiles else { throw .notSupported }
        guard (0..<Self.maximumRunning).contains(slot) else { throw .noSuchSlot(slot) }
        return slotFiles
    }

    private func place(of name: String, _ slot: Int) throws(SlotError) -> (path: String, keys: PromptKeys) {
        let files = try files(of: slot)
        guard Self.isFileName(name) else {
            throw .invalidName(
                "expected a file name of 1 to 200 bytes without slashes and control characters that does not begin with a "
                    + "period, found \(String(reflecting: String(name.prefix(80))))")
        }
        return (files.directory.appendingPathComponent(name).path, files.keys)
    }

    /// Whether the name stays in its folder, on every system, and is not that of a file that is being written.
    static func isFileName(_ name: String) -> Bool {
        (1...200).contains(name.utf8.count) && !name.hasPrefix(".")
            && name.unicodeScalars.allSatisfy {
                !"/\\:".unicodeScalars.contains($0) && $0.properties.generalCategory != .control
            }
    }

    /// - Parameter name: The file's name, for errors.
    private func failing<Success>(_ name: String, _ body: () async throws -> Success) async throws -> Success {
        do {
            return try await body()
        } catch let failure as SlotFile.Failure {
            switch failure {
            case .missing: throw SlotError.noSuchFile(name)
            case .invalid(let reason): throw SlotError.invalidFile(reason)
            case .notWritten(let reason): throw SlotError.notWritten(reason)
            }
        }
    }
}
