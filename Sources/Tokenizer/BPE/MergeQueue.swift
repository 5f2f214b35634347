/// Positions by rank, then from the left: a binary heap of single words.
struct MergeQueue {
    private var heap: [UInt64] = []

    // 2³² symbols would be 64 GiB of them, so a position fits 32 bits.
    @inline(__always)
    private static func word(_ rank: UInt32, _ position: Int) -> UInt64 {
        UInt64(rank) << 32 | UInt64(UInt32(truncatingIfNeeded: position))
    }

    /// Begins anew with the merges there are.
    mutating func fill(_ merges: [Merge]) {
        heap.removeAll(keepingCapacity: true)
        for (position, merge) in merges.enumerated() where merge.rank < .max {
            heap.append(Self.word(merge.rank, position))
        }
        for parent in stride(from: heap.count / 2 - 1, through: 0, by: -1) { sink(parent) }
    }

    mutating func push(_ rank: UInt32, _ position: Int) {
        let word = Self.word(rank, position)
        var child = heap.count
        heap.append(word)
        while child > 0 {
            let parent = (child - 1) / 2
            guard word < heap[parent] else { break }
            heap[child] = heap[parent]
            child = parent
        }
        heap[child] = word
    }

    mutating func pop() -> (rank: UInt32, position: Int)? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        if !heap.isEmpty {
            heap[0] = last
            sink(0)
        }
        return (UInt32(truncatingIfNeeded: first >> 32), Int(first & 0xFFFF_FFFF))
    }

    private mutating func sink(_ start: Int) {
        let word = heap[start]
        var parent = start
        while true {
            var child = 2 * parent + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
            guard heap[child] < word else { break }
            heap[parent] = heap[child]
            parent = child
        }
        heap[parent] = word
    }
}
