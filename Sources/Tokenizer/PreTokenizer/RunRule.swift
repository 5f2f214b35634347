/// A set of scalars, by classes and ranges.
struct ScalarSet: Sendable {
    var classes: CharacterClass = []
    /// Ascending. White space beyond ASCII is in no range: llama.cpp's expressions do not match it.
    var ranges: [ClosedRange<UInt32>] = []
    /// Whether the set is inverted.
    var inverted = false

    @inline(__always)
    func contains(_ text: ClassifiedText, _ position: Int) -> Bool {
        let kind = text.classes[position]
        guard !kind.meets(classes) else { return !inverted }
        guard !ranges.isEmpty else { return inverted }
        let scalar = text.scalar(position)
        guard scalar < 0x80 || !kind.meets(.whitespace) else { return inverted }
        return isInRange(scalar) != inverted
    }

    private func isInRange(_ scalar: UInt32) -> Bool {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < scalar { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].contains(scalar)
    }
}

/// Isolates runs of scalars of one set: `X+`, ` ?X+`, `X{1,3}`, …
struct RunRule: Sendable {
    var set: ScalarSet
    var count: ClosedRange<Int> = 1...Int.max
    /// The run may be preceded by one scalar of these classes.
    var lead: CharacterClass = []

    func match(_ text: ClassifiedText, _ position: Int, _ end: Int) -> Int? {
        var start = position
        if text.classes[position].meets(lead) {
            let next = text.next(position)
            if next < end, set.contains(text, next) { start = next }
        }
        var (runEnd, length) = (start, 0)
        while runEnd < end, length < count.upperBound, set.contains(text, runEnd) {
            runEnd = text.next(runEnd)
            length += 1
        }
        return length >= count.lowerBound ? runEnd : nil
    }
}

/// Splits digits into groups of three, counted from the right: 1234567 → 1 234 567.
struct DigitGroupRule: Sendable {
    /// The classes of digits.
    var digits: CharacterClass
    /// Whether to split between a number's first group and the text before it.
    ///
    /// For `afmoe` and `tiny_aya` llama.cpp does not; a later pass splits them, mostly with the same result.
    var cutsBefore: Bool

    func split(_ text: ClassifiedText, _ piece: Range<Int>, into ends: inout [Int]) {
        var position = piece.lowerBound
        var lastEnd = piece.lowerBound
        while position < piece.upperBound {
            guard text.classes[position].meets(digits) else {
                position = text.next(position)
                continue
            }
            let start = position
            var count = 0
            while position < piece.upperBound, text.classes[position].meets(digits) {
                position = text.next(position)
                count += 1
            }
            var group = start
            for left in stride(from: count, to: 0, by: -1) {
                if left % 3 == 0, group > lastEnd, left < count || cutsBefore {
                    ends.append(group)
                    lastEnd = group
                }
                group = text.next(group)
            }
            if !cutsBefore {
                ends.append(position)
                lastEnd = position
            }
        }
        if lastEnd < piece.upperBound { ends.append(piece.upperBound) }
    }
}

/// A fixed prefix, bytes of a range, a fixed suffix: `<sentinel:[0-9]+>`.
struct FramedRule: Sendable {
    var prefix: [UInt8]
    var body: ClosedRange<UInt8>
    var maxCount: Int
    var suffix: UInt8

    func match(_ text: ClassifiedText, _ position: Int, _ end: Int) -> Int? {
        guard text.bytes[position..<end].starts(with: prefix) else { return nil }
        let bodyStart = position + prefix.count
        var bodyEnd = bodyStart
        while bodyEnd < end, bodyEnd - bodyStart < maxCount, body.contains(text.bytes[bodyEnd]) { bodyEnd += 1 }
        guard bodyEnd > bodyStart, bodyEnd < end, text.bytes[bodyEnd] == suffix else { return nil }
        return bodyEnd + 1
    }
}
