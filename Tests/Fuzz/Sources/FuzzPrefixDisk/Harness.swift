import Compute
import Cryptography
import Foundation
import KernelFormats
import Synchronization

@testable import Engine

/// The stored pages of a prompt, and the checkpoints after them. An input damages one of the files.
private final class StoredPrompt {
    private static let pageCount = 6

    private let shape: StateShape
    private let store: PrefixStore
    private let disk: PrefixDisk
    private let folder: String
    private let root = PrefixKey(model: [1], adapters: [], salt: nil)
    private let tokens = Array(0...Int32(pageCount * pageTokens))
    /// By page.
    private let keys: [PrefixKey]

    init(hasCheckpoints: Bool) {
        let attention = LayerState.keysAndValues(heads: 1, keyWidth: 8, valueWidth: 8)
        shape = StateShape(hasCheckpoints ? [attention, .recurrent(floats: 4)] : [attention])
        let directory = NSTemporaryDirectory() + "fuzz-prefixes-\(getpid())-\(hasCheckpoints)"
        store = PrefixStore(
            directory: directory, model: SHA256.digest(of: [1]), name: "", limit: 1 << 30
        ) { preconditionFailure($0) }
        folder = PrefixStore.models(in: directory).first ?? ""
        disk = PrefixDisk(store, shape, capacity: 1 << 30)
        var keys: [PrefixKey] = []
        for page in 0..<Self.pageCount {
            keys.append((keys.last ?? root).next(tokens[page * pageTokens..<(page + 1) * pageTokens])!)
        }
        self.keys = keys
    }

    /// What each byte of a file's contents is.
    private func filling(_ kind: PrefixStore.Kind, _ page: Int) -> UInt8 { UInt8(2 * page + (kind == .page ? 0 : 1)) }

    private func sizes(_ kind: PrefixStore.Kind, _ page: Int) -> [Int] {
        kind == .page ? shape.sharedPageBytes : shape.checkpointBytes(at: (page + 1) * pageTokens)
    }

    private func write(_ kind: PrefixStore.Kind, _ page: Int) {
        let parts = sizes(kind, page).map { size in
            let part = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
            part.initializeMemory(as: UInt8.self, repeating: filling(kind, page))
            return UnsafeRawBufferPointer(part)
        }
        precondition(store.write(keys[page], kind, parts), "a file is not written")
        for part in parts { part.deallocate() }
    }

    /// Nothing may trap, and what is found is what was written: a damaged file and what needs it are not.
    func check(_ input: ArraySlice<UInt8>) {
        guard input.count >= 4 else { return }
        let kinds: [PrefixStore.Kind] = shape.needsCheckpoints ? [.page, .checkpoint] : [.page]
        for kind in kinds { for page in keys.indices { write(kind, page) } }
        var rest = input
        let (choice, place) = (rest.removeFirst(), Int(rest.removeFirst()))
        let (kind, page) = (kinds[Int(choice) % kinds.count], Int(choice / 4) % keys.count)
        let path = "\(folder)/\(keys[page].digest.hexadecimal).\(kind.rawValue)"
        let old = [UInt8](FileManager.default.contents(atPath: path) ?? Data())
        let new = damaged(old, by: Array(rest), at: place * old.count / 256, way: Int(choice / 2) % 2)
        try! Data(new).write(to: URL(filePath: path))
        let found = find()
        for (index, parts) in (found?.pages ?? []).enumerated() { expect(parts, .page, index) }
        if let found, let checkpoint = found.checkpoint { expect(checkpoint, .checkpoint, found.pages.count - 1) }
        guard new != old else { return precondition(found?.pages.count == keys.count, "a whole prompt is not found") }
        // The files after a damaged page are of no use; a damaged checkpoint costs the pages since the one before.
        precondition(found.map { $0.pages.count <= page || kind == .checkpoint } ?? true, "a damaged page is used")
        precondition(found?.pages.count != page + 1 || kind == .page, "a damaged checkpoint is used")
        unlink(path)
    }

    /// Another end of a file, or other bytes in it.
    private func damaged(_ file: [UInt8], by bytes: [UInt8], at place: Int, way: Int) -> [UInt8] {
        guard way == 1 else { return file.prefix(place) + bytes }
        var file = file
        for (index, byte) in zip(place..<file.count, bytes) { file[index] ^= byte }
        return file
    }

    private func find() -> PrefixDisk.Found? {
        let result = Mutex<PrefixDisk.Found?>(nil)
        let isDone = DispatchSemaphore(value: 0)
        disk.find(tokens[...], nil, after: root, known: 0, client: "", secondsOfRow: 0, bytes: 1 << 30) { found in
            result.withLock { $0 = found }
            isDone.signal()
        }
        isDone.wait()
        return result.withLock { $0 }
    }

    private func expect(_ parts: [AlignedBuffer], _ kind: PrefixStore.Kind, _ page: Int) {
        let sizes = sizes(kind, page)
        precondition(parts.count == sizes.count, "other parts than were written")
        for (part, size) in zip(parts, sizes) {
            let bytes = UnsafeRawBufferPointer(start: part.base, count: size)
            precondition(bytes.allSatisfy { $0 == filling(kind, page) }, "other bytes than were written")
        }
    }
}

/// Of a model with keys and values, and of one that has checkpoints, too.
nonisolated(unsafe) private var prompts: [StoredPrompt] = []

/// What libFuzzer, whose library has the `main`, calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    if prompts.isEmpty { prompts = [false, true].map(StoredPrompt.init) }
    let input = Array(UnsafeBufferPointer(start: bytes, count: count))
    if let first = input.first { prompts[Int(first) % prompts.count].check(input.dropFirst()) }
    return 0
}
