package import Compute
import Foundation

/// What was done with a slot's file.
package struct SlotTransfer: Sendable, Equatable {
    /// Tokens whose states are in the file.
    package var tokens: Int
    package var bytes: Int
    package var seconds: Double

    package init(tokens: Int, bytes: Int, seconds: Double) {
        (self.tokens, self.bytes, self.seconds) = (tokens, bytes, seconds)
    }
}

// Files are read and written on threads of their own; the engine's thread only hands memory over.
extension ModelThread {
    /// Writes the states of a slot's text to a file.
    ///
    /// - Parameters:
    ///   - slot: A slot's number.
    ///   - path: The file's path; a file there is replaced.
    ///   - describe: Scale of each adapter of the model, and the key of a text with this selection.
    /// - Returns: `nil` if the slot is empty.
    /// - Throws: `SlotFile.Failure`, `LocalModelError.shutDown`.
    package func saveSlot(
        _ slot: Int, to path: String,
        describe: @escaping @Sendable (AdapterSelection) -> (scales: [Float], root: PrefixKey)
    ) async throws -> SlotTransfer? {
        let began = ContinuousClock.now
        let begun = try await withSlots { slots, prefixes, shape, _ -> (id: Int, saving: Saving)? in
            slots.beginWriting(slot, from: &prefixes, shape).map { ($0.id, Saving($0.content, describe)) }
        }
        guard let (id, saving) = begun else { return nil }
        let written = await Self.beside { () throws(SlotFile.Failure) in
            try SlotFile.write(saving.head, saving.parts, to: path)
        }
        // Fails only if the engine has stopped, and with it all use of its memory.
        try? await withSlots { slots, _, _, _ in slots.endWriting(id) }
        return SlotTransfer(
            tokens: saving.head.savedTokens, bytes: try written.get(), seconds: (.now - began) / .seconds(1))
    }

    /// Puts the text of a file into a slot, and its states into the prefix cache.
    ///
    /// - Parameters:
    ///   - slot: A slot's number.
    ///   - path: The file's path.
    ///   - selection: The adapters that a file was computed with; throws if it is not of this model.
    /// - Throws: `SlotFile.Failure`, `LocalModelError.shutDown`, what `selection` throws.
    package func restoreSlot(
        _ slot: Int, from path: String, selection: @escaping @Sendable (SlotFile.Head) throws -> AdapterSelection
    ) async throws -> SlotTransfer {
        let began = ContinuousClock.now
        let (shape, capacity) = try await withSlots { ($2, $3) }
        let file = try await Self.beside { () throws(SlotFile.Failure) in
            // Half of the memory stays for sequences.
            Read(file: try SlotFile(path: path, shape, limit: capacity / 2))
        }.get().file
        let adapters = try selection(file.head)
        let read = Read(file: file)
        try await withSlots { slots, prefixes, shape, capacity in
            prefixes.shrink(to: max(0, capacity - read.file.bytes))
            slots.restore(read.file, adapters, into: slot, &prefixes, shape)
        }
        return SlotTransfer(tokens: file.head.savedTokens, bytes: file.bytes, seconds: (.now - began) / .seconds(1))
    }

    /// Empties a slot, and evicts the states that nothing else uses.
    ///
    /// - Returns: Tokens of its text.
    package func eraseSlot(_ slot: Int) async throws -> Int {
        try await withSlots { slots, prefixes, _, _ in slots.erase(slot, from: &prefixes) }
    }

    /// `@unchecked Sendable`: the states' memory is shared, so nobody changes it, and `Slots` keeps it until `endWriting`.
    private struct Saving: @unchecked Sendable {
        let head: SlotFile.Head
        let parts: [UnsafeRawBufferPointer]

        init(_ content: Slots.Content, _ describe: (AdapterSelection) -> (scales: [Float], root: PrefixKey)) {
            let (scales, root) = describe(content.text.adapters)
            head = SlotFile.Head(
                tokens: content.text.tokens, promptTokens: content.text.promptTokens,
                checkpoints: content.path.map { $0.checkpoint != nil },
                promptPages: content.path.count { $0.isPrompt }, scales: scales, root: root)
            parts = content.parts.map(\.contents)
        }
    }

    /// `@unchecked Sendable`: the engine's thread gets the buffers after the last use here.
    private struct Read: @unchecked Sendable { let file: SlotFile }

    private static func beside<Success: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Success
    ) async -> Result<Success, Failure> {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: Result(catching: body)) }
        }
    }
}
