import Platform
import Synchronization

/// The addresses of a mapped file, and whether a read found that the file had been truncated.
///
/// Reading beyond the end of a truncated file raises SIGBUS, which would end the process. The handler installed here
/// maps zeros in place of the missing bytes and sets a flag, so that whoever computed with them can reject the result.
/// Signals for other addresses go to the previous handler.
package final class MappedRange: Sendable {
    private let slot: Int?

    init(_ bytes: UnsafeRawBufferPointer) {
        slot = Slots.shared.reserve(from: UInt(bitPattern: bytes.baseAddress), count: UInt(bytes.count))
    }

    deinit { if let slot { Slots.shared.free(slot) } }

    /// Ends the protection, when the file is unmapped. The flag stays readable.
    func end() { if let slot { Slots.shared.end(slot) } }

    var isLost: Bool { slot.map { Slots.shared.isLost($0) } ?? false }
}

/// The data that the signal handler reads: fixed memory and atomics, no locks. At most `count` files are protected at a
/// time.
///
/// `@unchecked Sendable`: the pointer never changes, and its target is atomic.
private final class Slots: @unchecked Sendable {
    static let shared = Slots()

    private static let count = 1024

    private struct Slot: ~Copyable {
        let isTaken = Atomic(false)
        /// 0: the slot has no mapping.
        let start = Atomic<UInt>(0)
        let end = Atomic<UInt>(0)
        let isLost = Atomic(false)
    }

    private let slots = UnsafeMutablePointer<Slot>.allocate(capacity: Slots.count)

    private init() {
        for index in 0..<Self.count { (slots + index).initialize(to: Slot()) }
        installHandler()
    }

    func reserve(from start: UInt, count: UInt) -> Int? {
        for index in 0..<Self.count
        where slots[index].isTaken.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing)
            .exchanged
        {
            slots[index].isLost.store(false, ordering: .relaxed)
            slots[index].end.store(start + count, ordering: .relaxed)
            slots[index].start.store(start, ordering: .releasing)
            return index
        }
        return nil
    }

    func end(_ index: Int) { slots[index].start.store(0, ordering: .releasing) }

    func free(_ index: Int) {
        end(index)
        slots[index].isTaken.store(false, ordering: .releasing)
    }

    func isLost(_ index: Int) -> Bool { slots[index].isLost.load(ordering: .acquiring) }

    /// Called by the signal handler: marks the file of an address as truncated.
    ///
    /// - Returns: End of the file's addresses; `nil` if no file is mapped there.
    fileprivate func lose(_ address: UInt) -> UInt? {
        for index in 0..<Self.count {
            let start = slots[index].start.load(ordering: .acquiring)
            let end = slots[index].end.load(ordering: .relaxed)
            guard start != 0, (start..<end).contains(address) else { continue }
            slots[index].isLost.store(true, ordering: .releasing)
            return end
        }
        return nil
    }
}

private let pageBytes = UInt(getpagesize())

private func installHandler() {
    _ = pageBytes
    handleBusErrors { address in
        let page = address / pageBytes * pageBytes
        // Map zeros up to the end: files are truncated at their end.
        guard let end = Slots.shared.lose(address) else { return false }
        return mmap(
            UnsafeMutableRawPointer(bitPattern: page), Int(end - page), PROT_READ, MAP_PRIVATE | MAP_ANON | MAP_FIXED,
            -1, 0) != MAP_FAILED
    }
}
