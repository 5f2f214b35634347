import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// The addresses at which a file is mapped, and whether some of its bytes were gone when they were read: somebody made the
/// file shorter.
///
/// Reading such bytes raises SIGBUS, which ends a process that does not handle it. The handler puts zeros in their place and
/// notes it here, so that whoever computed with them can say that the result is worth nothing. Signals for other addresses
/// go to the handler that was there before.
final class MappedRange: Sendable {
    private let slot: Int?

    init(_ bytes: UnsafeRawBufferPointer) {
        slot = Slots.shared.reserve(from: UInt(bitPattern: bytes.baseAddress), count: UInt(bytes.count))
    }

    deinit { if let slot { Slots.shared.free(slot) } }

    /// The file is no longer mapped. What is known of it stays.
    func end() { if let slot { Slots.shared.end(slot) } }

    var isLost: Bool { slot.map { Slots.shared.isLost($0) } ?? false }
}

/// What the handler reads: fixed memory, atomics, and no locks. Files beyond `count` at once are not protected.
///
/// `@unchecked Sendable`: the pointer is never changed, and what it points to is atomic.
private final class Slots: @unchecked Sendable {
    static let shared = Slots()

    private static let count = 1024

    private struct Slot: ~Copyable {
        let isTaken = Atomic(false)
        /// 0 while there is none.
        let start = Atomic<UInt>(0)
        let end = Atomic<UInt>(0)
        let isLost = Atomic(false)
    }

    private let slots = UnsafeMutablePointer<Slot>.allocate(capacity: Slots.count)

    private init() {
        for index in 0..<Self.count { (slots + index).initialize(to: Slot()) }
        #if os(Linux)
            installHandler()
        #endif
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

    /// Called by the handler: notes that an address cannot be read.
    ///
    /// - Returns: The end of the file that it belongs to.
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

#if os(Linux)
    /// The handler that was there before. Written once, before the handler that reads it is installed.
    nonisolated(unsafe) private var previousHandler = sigaction()
    private let pageBytes = UInt(getpagesize())

    private func installHandler() {
        _ = pageBytes
        sigaction(SIGBUS, nil, &previousHandler)
        var action = sigaction()
        action.__sigaction_handler.sa_sigaction = { _, info, _ in
            let code = errno
            defer { errno = code }
            if let address = info?.pointee._sifields._sigfault.si_addr {
                let page = UInt(bitPattern: address) / pageBytes * pageBytes
                // All that follows: a file is shortened at its end.
                if let end = Slots.shared.lose(UInt(bitPattern: address)),
                    mmap(
                        UnsafeMutableRawPointer(bitPattern: page), Int(end - page), PROT_READ,
                        MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0) != MAP_FAILED
                {
                    return
                }
            }
            // Raised again, where the handler before ends the process.
            sigaction(SIGBUS, &previousHandler, nil)
        }
        action.sa_flags = SA_SIGINFO | SA_ONSTACK
        sigaction(SIGBUS, &action, nil)
    }
#endif
