/// The transitions of a machine by state and byte, filled in on demand.
///
/// One block of memory, 1 KiB per state, so that a walk over the vocabulary costs one load per byte. The machine that has it frees
/// it: as a noncopyable member of a class, Swift 6.0 freed its memory twice.
struct TransitionTable {
    /// Not computed yet.
    static let unknown: Int32 = -2

    private var entries: UnsafeMutablePointer<Int32>
    private var capacity = 4
    private var count = 0

    init() { entries = .allocate(capacity: 256 * 4) }

    func deallocate() { entries.deallocate() }

    /// Adds states with unknown transitions until there are `count`.
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

    /// - Parameter state: Must have been added; not checked.
    subscript(state: Int32, byte: UInt8) -> Int32 {
        @inline(__always) get { entries[Int(state) << 8 | Int(byte)] }
        @inline(__always) nonmutating set { entries[Int(state) << 8 | Int(byte)] = newValue }
    }
}
