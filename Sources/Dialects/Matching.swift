/// The result of matching a pattern at a place in a text that is still growing.
enum Match<Found> {
    case no
    /// A prefix matches; more text is needed.
    case partial
    case full(Found)
}

/// Text of an answer that is not parsed yet.
struct PendingText: Sendable {
    var bytes: [UInt8] = []
    /// Number of bytes of `bytes` that are parsed.
    var cursor = 0
    /// Number of parsed bytes that were removed before `bytes`.
    private(set) var released = 0

    var rest: ArraySlice<UInt8> { bytes[cursor...] }
    var isEmpty: Bool { cursor == bytes.count }
    /// Bytes of the answer before the cursor.
    var position: Int { released + cursor }

    mutating func release() {
        guard cursor > 4096 || cursor == bytes.count else { return }
        bytes.removeFirst(cursor)
        released += cursor
        cursor = 0
    }

    func afterSpace(_ place: Int) -> Int {
        var place = place
        while place < bytes.count, isSpace(bytes[place]) { place += 1 }
        return place
    }

    /// - Returns: The place after `text`, if it is found at `place`.
    func match(_ text: [UInt8], at place: Int, isLast: Bool) -> Match<Int> {
        let count = min(text.count, bytes.count - place)
        for index in 0..<count where bytes[place + index] != text[index] { return .no }
        if count == text.count { return .full(place + count) }
        return isLast ? .no : .partial
    }
}

/// A part of a marker, as bytes.
enum MarkerPart: Sendable, Equatable {
    case text([UInt8])
    case name, id, number

    init(_ piece: CallSyntax.Element) {
        switch piece {
        case .text(let text): self = .text(Array(text.utf8))
        case .name: self = .name
        case .id: self = .id
        case .number: self = .number
        }
    }
}

/// The contents of a call's header.
struct CallHeader: Sendable, Equatable {
    var name: [UInt8]?
    var id: [UInt8]?
    /// Start of the name (and below the end of the number after it), for dialects in which all of that is the
    /// identifier.
    var nameStart: Int?
    var numberEnd: Int?
    var end: Int
}

/// The names that calls may have. There may be thousands, and every call is looked up.
struct DeclaredNames: Sendable {
    private let names: Set<ArraySlice<UInt8>>
    /// By their bytes.
    private let sorted: [ArraySlice<UInt8>]
    /// The lengths that occur, longest first, so that the longer of two matching names is used.
    let lengths: [Int]

    init(_ tools: [DeclaredTool]) { self.init(tools.map(\.name)) }

    init(_ list: [String]) {
        names = Set(list.map { Array($0.utf8)[...] }.filter { !$0.isEmpty })
        sorted = names.sorted { $0.lexicographicallyPrecedes($1) }
        lengths = Set(names.map(\.count)).sorted(by: >)
    }

    func contains(_ name: ArraySlice<UInt8>) -> Bool { names.contains(name) }

    /// Whether a name begins with `text` and is longer.
    func hasLonger(than text: ArraySlice<UInt8>) -> Bool {
        guard text.count < lengths.first ?? 0 else { return false }
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle].lexicographicallyPrecedes(text) { low = middle + 1 } else { high = middle }
        }
        // The text itself, if it is a name, comes first among those that begin with it.
        if low < sorted.count, sorted[low].count == text.count { low += 1 }
        return low < sorted.count && sorted[low].starts(with: text)
    }
}

extension PendingText {
    static let longestIdentifier = 256

    /// Matches the parts in order, with optional white space between them.
    ///
    /// - Parameter following: Condition for the text after the last part.
    func match(
        _ parts: ArraySlice<MarkerPart>, at place: Int, _ header: CallHeader, _ names: DeclaredNames, isLast: Bool,
        following: (PendingText, CallHeader) -> Match<CallHeader>
    ) -> Match<CallHeader> {
        guard let part = parts.first else {
            var header = header
            header.end = place
            return following(self, header)
        }
        let place = header.end < 0 ? place : afterSpace(place)
        var header = header
        header.end = place
        let rest = parts.dropFirst()
        guard place < bytes.count else { return isLast ? .no : .partial }
        switch part {
        case .text(let text):
            switch match(text, at: place, isLast: isLast) {
            case .no: return .no
            case .partial: return .partial
            case .full(let end): return match(rest, at: end, header, names, isLast: isLast, following: following)
            }
        case .number:
            var end = place
            while end < bytes.count, (0x30...0x39).contains(bytes[end]) { end += 1 }
            if end == bytes.count, !isLast { return .partial }
            guard end > place else { return .no }
            header.numberEnd = end
            return match(rest, at: end, header, names, isLast: isLast, following: following)
        case .name:
            header.nameStart = header.nameStart ?? place
            if let name = header.name {
                switch match(name, at: place, isLast: isLast) {
                case .no: return .no
                case .partial: return .partial
                case .full(let end): return match(rest, at: end, header, names, isLast: isLast, following: following)
                }
            }
            if !isLast, names.hasLonger(than: bytes[place...]) { return .partial }
            for length in names.lengths where length <= bytes.count - place {
                let end = place + length
                guard names.contains(bytes[place..<end]) else { continue }
                header.name = Array(bytes[place..<end])
                let result = match(rest, at: end, header, names, isLast: isLast, following: following)
                if case .no = result { continue }
                return result
            }
            return .no
        case .id:
            var end = place
            while end < bytes.count, isIdentifier(bytes[end]), end - place < Self.longestIdentifier {
                end += 1
                var header = header
                header.id = Array(bytes[place..<end])
                let result = match(rest, at: end, header, names, isLast: isLast, following: following)
                if case .full = result { return result }
            }
            return end == bytes.count && !isLast ? .partial : partialAfter(rest, at: end, isLast: isLast)
        }
    }

    func match(_ parts: ArraySlice<MarkerPart>, at place: Int, isLast: Bool) -> Match<Int> {
        let result = match(parts, at: place, CallHeader(end: -1), DeclaredNames([String]()), isLast: isLast) {
            .full($1)
        }
        return switch result {
        case .no: .no
        case .partial: .partial
        case .full(let header): .full(header.end)
        }
    }

    /// Whether the text after an identifier may be the beginning of the next part.
    private func partialAfter(_ parts: ArraySlice<MarkerPart>, at place: Int, isLast: Bool) -> Match<CallHeader> {
        guard !isLast, case .text(let text) = parts.first else { return .no }
        if case .no = match(text, at: afterSpace(place), isLast: isLast) { return .no }
        return .partial
    }
}

/// Whether the byte may be part of a call's identifier.
private func isIdentifier(_ byte: UInt8) -> Bool {
    isHexDigit(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        || "-_.:".utf8.contains(byte)
}
