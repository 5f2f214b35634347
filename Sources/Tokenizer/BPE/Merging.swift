/// A merge of two neighbouring symbols. The merge with the lowest rank is applied first; of equal ranks the leftmost.
struct Merge {
    var rank: UInt32
    var symbol: Int32
}

/// A piece of text that is merged to tokens.
struct TextSymbol {
    /// A token ID, or another number known to the rules; -1 if no rule applies.
    var id: Int32
    /// An offset fits 32 bits: 2³² symbols would take 32 GiB.
    private let offset: UInt32

    init(id: Int32, start: Int) {
        self.id = id
        offset = UInt32(truncatingIfNeeded: start)
    }

    /// Offset of its first byte. It ends where the next symbol begins.
    var start: Int { Int(offset) }
}

/// The source of merges: BPE's merge list, or SentencePiece's scored vocabulary.
protocol MergeRules {
    /// - Parameter bytes: Range of both symbols' bytes.
    func merge(_ left: Int32, _ right: Int32, bytes: Range<Int>, of text: UnsafeBufferPointer<UInt8>) -> Merge?
}

/// Merges symbols until no rule applies. Reuses its memory between calls.
struct Merger<Rules: MergeRules> {
    let rules: Rules
    /// The text's symbols: characters before `run`, merged symbols after it.
    var symbols: [TextSymbol] = []
    private var merges: [Merge] = []
    private var neighbours: [Neighbours] = []

    /// Indices of the adjacent symbols; -1 before the first, the count after the last.
    private struct Neighbours {
        var previous: Int32
        var next: Int32
    }

    /// Up to this many symbols the best merge is found by linear search, which is quadratic but has no overhead.
    private static var shortCount: Int { 48 }
    private static var none: Merge { Merge(rank: .max, symbol: -1) }

    init(_ rules: Rules) { self.rules = rules }

    /// - Parameter end: End of the last symbol.
    mutating func run(_ text: UnsafeBufferPointer<UInt8>, end: Int) {
        guard symbols.count > 1 else { return }
        merges.removeAll(keepingCapacity: true)
        merges.reserveCapacity(symbols.count)
        for i in 1..<symbols.count {
            merges.append(merge(i - 1, i, end: i + 1 < symbols.count ? symbols[i + 1].start : end, text))
        }
        merges.append(Self.none)
        if symbols.count <= Self.shortCount { runShort(text, end) } else { runLong(text, end) }
    }

    @inline(__always)
    private func merge(_ left: Int, _ right: Int, end: Int, _ text: UnsafeBufferPointer<UInt8>) -> Merge {
        guard symbols[left].id >= 0, symbols[right].id >= 0 else { return Self.none }
        return rules.merge(symbols[left].id, symbols[right].id, bytes: symbols[left].start..<end, of: text) ?? Self.none
    }

    private mutating func runShort(_ text: UnsafeBufferPointer<UInt8>, _ end: Int) {
        while true {
            var best = 0
            for i in 1..<merges.count where merges[i].rank < merges[best].rank { best = i }
            guard merges[best].rank < .max else { return }
            symbols[best].id = merges[best].symbol
            symbols.remove(at: best + 1)
            merges.remove(at: best + 1)
            for left in max(best - 1, 0)...best {
                guard left + 1 < symbols.count else {
                    merges[left] = Self.none
                    continue
                }
                merges[left] = merge(
                    left, left + 1, end: left + 2 < symbols.count ? symbols[left + 2].start : end, text)
            }
        }
    }

    private mutating func runLong(_ text: UnsafeBufferPointer<UInt8>, _ end: Int) {
        let count = symbols.count
        neighbours.removeAll(keepingCapacity: true)
        neighbours.reserveCapacity(count)
        for i in 0..<Int32(truncatingIfNeeded: count) {
            neighbours.append(Neighbours(previous: i - 1, next: i + 1))
        }
        var queue = MergeQueue()
        for i in 0..<count where merges[i].rank < .max { queue.push(merges[i].rank, i) }
        while let (rank, left) = queue.pop() {
            // Outdated if the symbol was merged away or its pair has changed.
            guard merges[left].rank == rank else { continue }
            let right = Int(neighbours[left].next)
            let next = Int(neighbours[right].next)
            symbols[left].id = merges[left].symbol
            symbols[right].id = -2
            merges[right] = Self.none
            neighbours[left].next = Int32(truncatingIfNeeded: next)
            if next < count { neighbours[next].previous = Int32(truncatingIfNeeded: left) }
            for position in [Int(neighbours[left].previous), left] where position >= 0 {
                let second = Int(neighbours[position].next)
                guard second < count else {
                    merges[position] = Self.none
                    continue
                }
                let after = Int(neighbours[second].next)
                merges[position] = merge(position, second, end: after < count ? symbols[after].start : end, text)
                if merges[position].rank < .max { queue.push(merges[position].rank, position) }
            }
        }
        symbols.removeAll { $0.id == -2 }
    }
}
