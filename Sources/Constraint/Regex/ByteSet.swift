/// A set of byte values.
struct ByteSet: Hashable, Sendable {
    private var words: SIMD4<UInt64> = .zero

    static let all = ByteSet(0...255)

    init() {}

    init(_ range: ClosedRange<UInt8>) {
        for byte in range { insert(byte) }
    }

    mutating func insert(_ byte: UInt8) { words[Int(byte >> 6)] |= 1 << UInt64(byte & 63) }
    func contains(_ byte: UInt8) -> Bool { words[Int(byte >> 6)] >> UInt64(byte & 63) & 1 != 0 }
    var isEmpty: Bool { words == .zero }
    func union(_ other: ByteSet) -> ByteSet {
        var result = self
        result.words |= other.words
        return result
    }
}

/// Code points as ascending ranges that neither overlap nor touch.
struct CharacterSet: Equatable, Sendable {
    private(set) var ranges: [ClosedRange<UInt32>] = []

    static let any = CharacterSet([0...0xd7ff, 0xe000...0x10ffff])

    init(_ ranges: [ClosedRange<UInt32>] = []) {
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = self.ranges.last, range.lowerBound <= last.upperBound &+ 1 {
                let upper = max(last.upperBound, range.upperBound)
                self.ranges[self.ranges.count - 1] = last.lowerBound...upper
            } else {
                self.ranges.append(range)
            }
        }
    }

    init(_ character: UInt32) { ranges = [character...character] }

    func union(_ other: CharacterSet) -> CharacterSet { CharacterSet(ranges + other.ranges) }

    /// All characters not in this set; surrogates are not characters.
    var inverted: CharacterSet {
        var result: [ClosedRange<UInt32>] = []
        for range in Self.any.ranges {
            var from = range.lowerBound
            for taken in ranges where taken.upperBound >= range.lowerBound && taken.lowerBound <= range.upperBound {
                if taken.lowerBound > from { result.append(from...(taken.lowerBound - 1)) }
                from = max(from, taken.upperBound + 1)
            }
            if from <= range.upperBound { result.append(from...range.upperBound) }
        }
        return CharacterSet(result)
    }

    func contains(_ character: UInt32) -> Bool { ranges.contains { $0.contains(character) } }

    /// The UTF-8 encodings of the set's characters, as sequences of byte ranges.
    var utf8Sequences: [[ClosedRange<UInt8>]] {
        var result: [[ClosedRange<UInt8>]] = []
        for range in ranges {
            for (length, bounds) in Self.lengths {
                let (low, high) = (max(range.lowerBound, bounds.lowerBound), min(range.upperBound, bounds.upperBound))
                if low <= high { Self.split(low, high, length, into: &result) }
            }
        }
        return result
    }

    private static let lengths: [(Int, ClosedRange<UInt32>)] = [
        (1, 0...0x7f), (2, 0x80...0x7ff), (3, 0x800...0xd7ff), (3, 0xe000...0xffff), (4, 0x10000...0x10ffff),
    ]

    /// Splits a range until its characters share a prefix, followed by one range of bytes and then any bytes.
    private static func split(_ low: UInt32, _ high: UInt32, _ length: Int, into result: inout [[ClosedRange<UInt8>]]) {
        for tail in 1..<max(length, 1) {
            let mask: UInt32 = (1 << UInt32(6 * tail)) - 1
            guard low & ~mask != high & ~mask else { continue }
            if low & mask != 0 {
                split(low, low | mask, length, into: &result)
                return split((low | mask) + 1, high, length, into: &result)
            }
            if high & mask != mask {
                split(low, (high & ~mask) - 1, length, into: &result)
                return split(high & ~mask, high, length, into: &result)
            }
        }
        let (first, last) = (encode(low, length), encode(high, length))
        result.append(zip(first, last).map { $0...$1 })
    }

    static func encode(_ character: UInt32, _ length: Int) -> [UInt8] {
        guard length > 1 else { return [UInt8(truncatingIfNeeded: character)] }
        let lead: UInt8 = length == 2 ? 0xc0 : length == 3 ? 0xe0 : 0xf0
        return (0..<length).map { index in
            let bits = UInt8(truncatingIfNeeded: character >> UInt32(6 * (length - 1 - index)))
            return index == 0 ? lead | bits : 0x80 | bits & 0x3f
        }
    }

    static func encode(_ character: UInt32) -> [UInt8] {
        encode(character, character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4)
    }
}
