import Compute
import KernelFormats
import Platform
import Synchronization

/// Moves pages of prompts between the prefix cache and a `PrefixStore`, beside the engine's thread: no step waits for a disk.
///
/// Only the engine's thread uses it. Pages that are being written are kept alive here, since their memory is counted by the
/// engine's thread.
final class PrefixDisk {
    /// Shorter prompts are neither stored nor looked up.
    static let leastPages = 4
    /// Maximum bytes that wait to be written, and their part of the memory for states. What finds no room is written when its
    /// prompt comes again.
    private static let waitingLimit = (bytes: 256 << 20, part: 8)
    /// Seconds for which writing goes on after the engine was stopped.
    private static let secondsToFinish = 5.0

    private let store: PrefixStore
    private let shape: StateShape
    private let mostWaiting: Int
    private let reader = FairThreads(name: "prefix reads", limit: 2, clientLimit: 1)
    private let writer = FairThreads(name: "prefix writes", limit: 1, clientLimit: 1, niceness: 10)
    /// Parts that are being written.
    private var writing: [Int: [SequenceState.Buffer]] = [:]
    private var waitingBytes = 0
    private var lastID = 0
    private let finished = Finished()

    /// What the writer has done.
    private final class Finished: Sendable {
        struct State {
            var ids: [Int] = []
            var deadline: ContinuousClock.Instant?
        }
        let state = Mutex(State())
        var isTooLate: Bool { state.withLock { $0.deadline.map { $0 <= .now } ?? false } }
    }

    /// Pages of a prompt that were read.
    struct Found: Sendable {
        /// Index of the first page.
        let first: Int
        let pages: [[AlignedBuffer]]
        /// The checkpoint after the last of them.
        let checkpoint: [AlignedBuffer]?

        var bytes: Int { (pages + [checkpoint ?? []]).reduce(0) { $1.reduce($0) { $0 + $1.byteCount } } }
    }

    /// - Parameter capacity: Bytes of memory for states.
    init(_ store: PrefixStore, _ shape: StateShape, capacity: Int) {
        (self.store, self.shape) = (store, shape)
        mostWaiting = min(Self.waitingLimit.bytes, capacity / Self.waitingLimit.part)
    }

    // MARK: Reading

    /// Whether a prompt has pages to look for after those of `path`.
    func mayHave(_ prompt: ArraySlice<Int32>, after path: [PrefixCache.Node]) -> Bool {
        (prompt.count - 1) / pageTokens - path.count >= Self.leastPages
    }

    /// Looks for the pages of a prompt that follow those of a node.
    ///
    /// - Parameters:
    ///   - known: Pages up to the node.
    ///   - secondsOfRow: Seconds to compute a token; 0: not known. What is read more slowly is not read any further.
    ///   - bytes: Maximum bytes to read.
    ///   - report: Called on another thread.
    func find(
        _ prompt: ArraySlice<Int32>, _ media: SequenceMedia?, after key: PrefixKey, known: Int, client: String,
        secondsOfRow: Double, bytes: Int,
        report: @escaping @Sendable (Found?) -> Void
    ) {
        let (store, shape, prompt) = (store, shape, Array(prompt))
        let most = max(0, bytes) / max(1, shape.sharedPageBytes.reduce(0, +))
        reader.add(
            { _ in
                report(
                    store.find(
                        prompt, media, after: key, known: known, shape, most: most,
                        secondsOfPage: secondsOfRow * Double(pageTokens)))
                return .reusable
            }, of: client)
    }

    // MARK: Writing

    /// Stores the pages and checkpoints of a path that are not stored yet, in their order.
    func keep(_ path: [PrefixCache.Node]) {
        guard path.count >= Self.leastPages else { return }
        for node in path where node.isPrompt {
            guard let key = node.key else { return }
            if !node.isStored {
                guard write(key, .page, node.pages) else { return }
                node.isStored = true
            }
            if let checkpoint = node.checkpoint, !node.isCheckpointStored {
                guard write(key, .checkpoint, checkpoint.parts) else { return }
                node.isCheckpointStored = true
            }
        }
    }

    /// - Returns: Whether there is room for it.
    private func write(_ key: PrefixKey, _ kind: PrefixStore.Kind, _ parts: [SequenceState.Buffer]) -> Bool {
        let bytes = parts.reduce(0) { $0 + $1.contents.count }
        guard waitingBytes + bytes <= mostWaiting || writing.isEmpty else { return false }
        lastID += 1
        waitingBytes += bytes
        writing[lastID] = parts
        let contents = Contents(parts: parts.map(\.contents))
        let (id, store, finished) = (lastID, store, finished)
        writer.add(
            { _ in
                if !finished.isTooLate { _ = store.write(key, kind, contents.parts) }
                finished.state.withLock { $0.ids.append(id) }
                return .reusable
            }, of: "")
        return true
    }

    /// Memory of parts that `writing` keeps, and that nobody changes: they are shared.
    private struct Contents: @unchecked Sendable {
        let parts: [UnsafeRawBufferPointer]
    }

    /// Lets go of the parts that were written.
    func release() {
        for id in finished.state.withLock({ exchange(&$0.ids, with: []) }) {
            guard let parts = writing.removeValue(forKey: id) else { continue }
            waitingBytes -= parts.reduce(0) { $0 + $1.contents.count }
        }
    }

    /// Marks the stored pages of a path as used, if that was not done in the last minutes.
    func touch(_ path: [PrefixCache.Node]) {
        let keys = path.filter(\.isStored).compactMap(\.key)
        guard !keys.isEmpty, let last = path.last, last.touched.map({ $0 + .seconds(600) <= .now }) ?? true else {
            return
        }
        last.touched = .now
        writer.add(
            { [store] _ in
                store.touch(keys)
                return .reusable
            }, of: "")
    }

    /// Writes what waits, for a few seconds, and ends the threads.
    func stop() {
        finished.state.withLock { $0.deadline = .now + .seconds(Self.secondsToFinish) }
        reader.stop()
        writer.stop()
        while !writing.isEmpty {
            release()
            usleep(10_000)
        }
    }
}

extension PrefixStore {
    /// Reads the longest run of pages; with checkpoints, up to the last page that has one.
    fileprivate func find(
        _ prompt: [Int32], _ media: SequenceMedia?, after key: PrefixKey, known: Int, _ shape: StateShape, most: Int,
        secondsOfPage: Double
    ) -> PrefixDisk.Found? {
        var keys: [PrefixKey] = []
        var last = key
        for page in known..<(prompt.count - 1) / pageTokens where keys.count < most {
            let next = last.next(prompt[page * pageTokens..<(page + 1) * pageTokens], media)
            guard let next, has(next, .page) else { break }
            keys.append(next)
            last = next
        }
        if shape.needsCheckpoints {
            keys.removeLast(keys.count - 1 - (keys.lastIndex { has($0, .checkpoint) } ?? -1))
        }
        guard keys.count >= PrefixDisk.leastPages else { return nil }
        let started = ContinuousClock.now
        var pages: [[AlignedBuffer]] = []
        for key in keys {
            let isSlow = secondsOfPage > 0 && (.now - started) / .seconds(1) > secondsOfPage * Double(pages.count + 4)
            guard !isSlow, let parts = read(key, .page, sizes: shape.sharedPageBytes) else { break }
            pages.append(parts)
        }
        touch(Array(keys.prefix(pages.count)))
        guard shape.needsCheckpoints else {
            return pages.isEmpty ? nil : PrefixDisk.Found(first: known, pages: pages, checkpoint: nil)
        }
        // Pages are of no use up to a place without a checkpoint.
        while let key = pages.isEmpty ? nil : keys[pages.count - 1] {
            let sizes = shape.checkpointBytes(at: (known + pages.count) * pageTokens)
            if let checkpoint = read(key, .checkpoint, sizes: sizes) {
                return PrefixDisk.Found(first: known, pages: pages, checkpoint: checkpoint)
            }
            pages.removeLast()
        }
        return nil
    }
}
