/// The set of tokens that may come next, one bit each.
public struct TokenMask: Sendable, Equatable {
    /// Bit `id % 64` of word `id / 64` is set if token `id` is allowed.
    public internal(set) var words: [UInt64]
    /// Number of tokens in the vocabulary.
    public let count: Int

    /// An empty set over `count` tokens.
    public init(count: Int) {
        self.count = count
        words = Array(repeating: 0, count: (count + 63) / 64)
    }

    public func contains(_ token: Int32) -> Bool {
        token >= 0 && Int(token) < count && words[Int(token) >> 6] >> UInt64(token & 63) & 1 != 0
    }

    public mutating func insert(_ token: Int32) {
        guard token >= 0, Int(token) < count else { return }
        words[Int(token) >> 6] |= 1 << UInt64(token & 63)
    }

    public mutating func remove(_ token: Int32) {
        guard token >= 0, Int(token) < count else { return }
        words[Int(token) >> 6] &= ~(1 << UInt64(token & 63))
    }

    public mutating func formUnion(_ other: TokenMask) {
        for index in words.indices where index < other.words.count { words[index] |= other.words[index] }
    }

    public mutating func removeAll() {
        // Allocates a new array, since a copy of the set may share this one.
        words = Array(repeating: 0, count: (count + 63) / 64)
    }

    /// Number of allowed tokens.
    public var allowedCount: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }
    public var isEmpty: Bool { words.allSatisfy { $0 == 0 } }
}
