/// What a text that is still growing has of something looked for at one of its places.
enum Match<Found> {
    case no
    /// So far it fits; more text decides.
    case partial
    case full(Found)
}

/// Text of an answer that is not decided yet.
struct PendingText: Sendable {
    var bytes: [UInt8] = []
    /// Bytes before this one are read.
    var cursor = 0
    /// Bytes read and let go of, before `bytes`.
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

    /// - Returns: The place after `text`, if it stands at `place`.
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

    init(_ piece: CallSyntax.Piece) {
        switch piece {
        case .text(let text): self = .text(Array(text.utf8))
        case .name: self = .name
        case .id: self = .id
        case .number: self = .number
        }
    }
}

/// What a call's header said.
struct CallHeader: Sendable, Equatable {
    var name: [UInt8]?
    var id: [UInt8]?
    /// Where the name begins and the number after it ends, for dialects whose identifier is all of that.
    var nameStart: Int?
    var numberEnd: Int?
    var end: Int
}

/// The names that calls may have, longest first: of two names that fit, the longer is meant.
struct DeclaredNames: Sendable {
    let names: [[UInt8]]

    init(_ tools: [DeclaredTool]) {
        names = Set(tools.map { Array($0.name.utf8) }).filter { !$0.isEmpty }.sorted { $0.count > $1.count }
    }
}

extension PendingText {
    static let longestIdentifier = 256

    /// Matches the parts one after another, white space between them or not.
    ///
    /// - Parameter following: What must hold after the last part, at that place.
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
            let candidates = header.name.map { [$0] } ?? names.names
            for name in candidates {
                switch match(name, at: place, isLast: isLast) {
                case .no: continue
                case .partial: return .partial
                case .full(let end):
                    var header = header
                    header.nameStart = header.nameStart ?? place
                    header.name = name
                    let result = match(rest, at: end, header, names, isLast: isLast, following: following)
                    if case .no = result { continue }
                    return result
                }
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
        let result = match(parts, at: place, CallHeader(end: -1), DeclaredNames([]), isLast: isLast) { .full($1) }
        return switch result {
        case .no: .no
        case .partial: .partial
        case .full(let header): .full(header.end)
        }
    }

    /// Whether what follows an identifier may be the beginning of the next part.
    private func partialAfter(_ parts: ArraySlice<MarkerPart>, at place: Int, isLast: Bool) -> Match<CallHeader> {
        guard !isLast, case .text(let text) = parts.first else { return .no }
        if case .no = match(text, at: afterSpace(place), isLast: isLast) { return .no }
        return .partial
    }
}

/// Letters, digits and what else identifiers of calls have.
private func isIdentifier(_ byte: UInt8) -> Bool {
    isHexDigit(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        || "-_.:".utf8.contains(byte)
}
