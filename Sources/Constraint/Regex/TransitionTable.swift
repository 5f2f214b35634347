/// Where a machine goes from each of its states on each byte, filled in as it is asked for.
///
/// One block of memory, 1 KiB a state, so that a walk over the vocabulary costs one load a byte.
struct TransitionTable: ~Copyable {
    /// Not worked out yet.
    static let unknown: Int32 = -2

    private var entries: UnsafeMutablePointer<Int32>
    private var capacity = 4
    private var count = 0

    init() { entries = .allocate(capacity: 256 * 4) }

    deinit { entries.deallocate() }

    /// Adds states, all of whose entries are unknown, until there are `count`.
    mutating func grow(to count: Int) {
        guard count > self.count else { return }
        if count > capacity {
            capacity = max(2 * capacity, count)
            let grown = UnsafeMutablePointer<Int32>.allocate(capacity: 256 * capacity)
            grown.update(from: entries, count: 256 * self.count)
            entries.deallocate()
            entries = grown
        }
        (entries + 256 * self.count).initialize(repeating: Self.unknown, count: 256 * (count - self.count))
        self.count = count
    }

    /// - Parameter state: One of those that were added; this is not checked.
    subscript(state: Int32, byte: UInt8) -> Int32 {
        @inline(__always) get { entries[Int(state) << 8 | Int(byte)] }
        @inline(__always) nonmutating set { entries[Int(state) << 8 | Int(byte)] = newValue }
    }
}
