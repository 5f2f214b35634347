/// A set of small integers. Equal sets compare equal, regardless of earlier removals.
struct Bits: Hashable, Sendable {
    private(set) var words: [UInt64] = []

    static let none = Bits()

    func contains(_ index: Int) -> Bool {
        index >> 6 < words.count && words[index >> 6] >> UInt64(index & 63) & 1 != 0
    }

    mutating func insert(_ index: Int) {
        while words.count <= index >> 6 { words.append(0) }
        words[index >> 6] |= 1 << UInt64(index & 63)
    }

    var isEmpty: Bool { words.isEmpty }

    /// Whether an element of `range` is missing in `other`.
    func hasElement(in range: Range<Int> = 0..<Int.max, notIn other: Bits) -> Bool {
        for index in words.indices.dropFirst(range.lowerBound >> 6) where index << 6 < range.upperBound {
            var word = words[index]
            if index < other.words.count { word &= ~other.words[index] }
            if index << 6 < range.lowerBound { word &= .max << UInt64(range.lowerBound & 63) }
            if range.upperBound >> 6 == index { word &= ~(.max << UInt64(range.upperBound & 63)) }
            if word != 0 { return true }
        }
        return false
    }

    /// Number of elements that are missing in `other`.
    func count(notIn other: Bits) -> Int {
        words.indices.reduce(0) {
            $0 + (words[$1] & ($1 < other.words.count ? ~other.words[$1] : .max)).nonzeroBitCount
        }
    }
}

extension Bits {
    mutating func remove(_ index: Int) {
        guard contains(index) else { return }
        words[index >> 6] &= ~(1 << UInt64(index & 63))
        while words.last == 0 { words.removeLast() }
    }

    mutating func formUnion(_ other: Bits) {
        while words.count < other.words.count { words.append(0) }
        for index in other.words.indices { words[index] |= other.words[index] }
    }

    func union(_ other: Bits) -> Bits {
        var result = self
        result.formUnion(other)
        return result
    }
}
