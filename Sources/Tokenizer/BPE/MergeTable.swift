/// Maps a pair of neighbouring symbols to its merge: (left, right) → (rank, merged).
///
/// A flat hash table with linear probing; key and value are adjacent in memory.
struct MergeTable: Sendable {
    private var entries: [(key: UInt64, value: UInt64)]
    private let mask: Int
    private static let empty = UInt64.max

    init(capacity: Int) {
        var slots = 16
        while 3 * slots < 4 * capacity { slots *= 2 }
        entries = Array(repeating: (Self.empty, 0), count: slots)
        mask = slots - 1
    }

    @inline(__always)
    private static func key(_ left: Int32, _ right: Int32) -> UInt64 {
        UInt64(UInt32(bitPattern: left)) << 32 | UInt64(UInt32(bitPattern: right))
    }

    @inline(__always)
    private func slot(_ key: UInt64) -> Int { Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask }

    /// Adds a merge; of duplicates the first is kept. At most `capacity` merges may be added.
    mutating func add(_ left: Int32, _ right: Int32, _ merge: Merge) {
        let key = Self.key(left, right)
        var slot = slot(key)
        while entries[slot].key != Self.empty {
            if entries[slot].key == key { return }
            slot = (slot + 1) & mask
        }
        entries[slot] = (key, UInt64(merge.rank) << 32 | UInt64(UInt32(bitPattern: merge.symbol)))
    }

    @inline(__always)
    func find(_ left: Int32, _ right: Int32) -> Merge? {
        let key = Self.key(left, right)
        var slot = slot(key)
        return entries.withUnsafeBufferPointer { entries in
            while entries[slot].key != Self.empty {
                if entries[slot].key == key {
                    let value = entries[slot].value
                    return Merge(
                        rank: UInt32(truncatingIfNeeded: value >> 32),
                        symbol: Int32(truncatingIfNeeded: value))
                }
                slot = (slot + 1) & mask
            }
            return nil
        }
    }
}
