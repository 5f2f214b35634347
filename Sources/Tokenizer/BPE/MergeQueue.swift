/// A priority queue of merge positions: by rank, then from left to right.
///
/// A long run of one letter gives a million positions with few ranks, arriving from left to right. So each rank has a
/// FIFO queue for positions in order; only positions out of order go to a heap.
struct MergeQueue {
    private struct Line {
        var positions: [UInt32] = []
        var head = 0
    }

    private var lines: [Line] = []
    private var lineOfRank: [UInt32: Int] = [:]
    /// Rank and queue index of each queue that is not empty.
    private var waiting = WordHeap()
    /// Rank and position of entries that are in no queue.
    private var others = WordHeap()

    // A position fits 32 bits: 2³² symbols would take 64 GiB.
    mutating func push(_ rank: UInt32, _ position: Int) {
        let position = UInt32(truncatingIfNeeded: position)
        let index = line(of: rank)
        guard let last = lines[index].positions.last else {
            lines[index].positions.append(position)
            waiting.push(Self.word(rank, UInt32(truncatingIfNeeded: index)))
            return
        }
        if last <= position {
            lines[index].positions.append(position)
        } else {
            others.push(Self.word(rank, position))
        }
    }

    mutating func pop() -> (rank: UInt32, position: Int)? {
        guard let first = waiting.first else { return others.pop().map(Self.parts) }
        let (rank, index) = Self.parts(first)
        let word = Self.word(rank, lines[index].positions[lines[index].head])
        if let other = others.first, other < word { return others.pop().map(Self.parts) }
        lines[index].head += 1
        if lines[index].head == lines[index].positions.count {
            lines[index].positions.removeAll(keepingCapacity: true)
            lines[index].head = 0
            _ = waiting.pop()
        }
        return Self.parts(word)
    }

    private mutating func line(of rank: UInt32) -> Int {
        if let index = lineOfRank[rank] { return index }
        lineOfRank[rank] = lines.count
        lines.append(Line())
        return lines.count - 1
    }

    private static func word(_ rank: UInt32, _ low: UInt32) -> UInt64 { UInt64(rank) << 32 | UInt64(low) }

    private static func parts(_ word: UInt64) -> (rank: UInt32, position: Int) {
        (UInt32(truncatingIfNeeded: word >> 32), Int(word & 0xFFFF_FFFF))
    }
}

/// A binary min-heap.
struct WordHeap {
    private var words: [UInt64] = []

    var first: UInt64? { words.first }

    mutating func push(_ word: UInt64) {
        var child = words.count
        words.append(word)
        while child > 0 {
            let parent = (child - 1) / 2
            guard word < words[parent] else { break }
            words[child] = words[parent]
            child = parent
        }
        words[child] = word
    }

    mutating func pop() -> UInt64? {
        guard let first = words.first, let last = words.popLast() else { return nil }
        guard !words.isEmpty else { return first }
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < words.count else { break }
            if child + 1 < words.count, words[child + 1] < words[child] { child += 1 }
            guard words[child] < last else { break }
            words[parent] = words[child]
            parent = child
        }
        words[parent] = last
        return first
    }
}
