/// Recognizes the beginning of a call, up to and including the function's name.
struct CallOpening: Sendable {
    /// A call that has begun.
    struct Found: Sendable {
        /// Index of the call's syntax in the dialect.
        var syntax: Int
        var name: [UInt8]
        var id: [UInt8]?
        /// Start of the arguments; `nil` if there are none.
        var arguments: Int?
        /// Where parsing continues if there are no arguments.
        var end: Int
        /// Number of objects that remain open after the arguments.
        var openObjects = 0
        /// Whether the call is an item of an array.
        var isInArray = false
    }

    /// A sequence of markers with which a call may begin.
    private struct Start: Sendable {
        var syntax: Int
        var parts: [MarkerPart]
        /// Whether the first marker is distinctive enough to search for it anywhere.
        var isMarked: Bool
    }

    let syntaxes: [CallSyntax]
    private let names: DeclaredNames
    private var starts: [Start] = []
    /// First bytes of the marked starts.
    private(set) var firstBytes: Set<UInt8> = []

    init(_ syntaxes: [CallSyntax], _ names: DeclaredNames) {
        self.syntaxes = syntaxes
        self.names = names
        for (index, syntax) in syntaxes.enumerated() {
            let lead = syntax.open + syntax.each
            for pieces in [lead, syntax.each, syntax.separator + syntax.each] {
                for skipped in 0...pieces.count {
                    let parts = (pieces.dropFirst(skipped) + syntax.body.header).map(MarkerPart.init)
                    let isMarked = parts.first.map { Self.isMark($0, isWhole: skipped == 0) } ?? false
                    // A call that lacks its first marker is recognized only if the next piece is a distinctive marker.
                    guard skipped == 0 || isMarked else { continue }
                    let start = Start(syntax: index, parts: parts, isMarked: isMarked)
                    guard !starts.contains(where: { $0.syntax == index && $0.parts == parts }) else { continue }
                    starts.append(start)
                    if isMarked, case .text(let text) = parts[0] { firstBytes.insert(text[0]) }
                }
            }
        }
    }

    /// Whether a marker before a call's header is unlikely to occur in a sentence by chance.
    ///
    /// - Parameter isWhole: Whether the full sequence of markers follows; then any word is sufficient.
    private static func isMark(_ part: MarkerPart, isWhole: Bool) -> Bool {
        guard case .text(let text) = part, text.count >= 3, let first = text.first else { return false }
        return isWhole || "<[>]|{".utf8.contains(first) || first >= 0x80
    }

    /// - Parameters:
    ///   - isFirst: Whether only white space and reasoning precede: calls without a marker are recognized only there.
    ///   - previous: Syntax of the call that just ended, and whether it was in an array.
    func match(
        _ text: PendingText, at place: Int, isFirst: Bool, after previous: (syntax: Int, isInArray: Bool)? = nil,
        isLast: Bool
    ) -> Match<Found> {
        var isPartial = false
        if let previous, previous.isInArray {
            let start = Start(syntax: previous.syntax, parts: [], isMarked: false)
            switch match(start, text, at: place, isItem: true, isLast) {
            case .no: break
            case .partial: isPartial = true
            case .full(var found):
                found.isInArray = true
                return .full(found)
            }
        }
        for start in starts {
            let isAllowed = start.isMarked || isFirst || previous?.syntax == start.syntax
            guard isAllowed else { continue }
            switch match(start, text, at: place, isItem: false, isLast) {
            case .no: continue
            case .partial: isPartial = true
            case .full(let found): return .full(found)
            }
        }
        return isPartial ? .partial : .no
    }

    private func match(
        _ start: Start, _ text: PendingText, at place: Int, isItem: Bool, _ isLast: Bool
    ) -> Match<Found> {
        let syntax = syntaxes[start.syntax]
        var found = Found(syntax: start.syntax, name: [], end: place)
        let result = text.match(start.parts[...], at: place, CallHeader(end: -1), names, isLast: isLast) {
            text, header in
            switch syntax.body {
            case .object(let keys): object(keys, text, header, isLast, &found)
            case .header(_, let arguments): self.arguments(arguments, syntax, text, header, isLast, &found)
            case .pythonic: pythonic(text, header, isItem: isItem, isLast, &found)
            }
        }
        switch result {
        case .no: return .no
        case .partial: return .partial
        case .full(let header):
            found.name = header.name ?? found.name
            found.id = found.id ?? header.id ?? identifier(header, text)
            found.end = header.end
            return .full(found)
        }
    }

    /// `functions.NAME:3` as a whole is an identifier.
    private func identifier(_ header: CallHeader, _ text: PendingText) -> [UInt8]? {
        guard let start = header.nameStart, let end = header.numberEnd, let name = header.name else { return nil }
        let prefix = Array("functions.".utf8)
        guard start >= prefix.count, text.bytes[(start - prefix.count)..<start].elementsEqual(prefix) else {
            return nil
        }
        return text.bytes[start + name.count] == UInt8(ascii: ":")
            ? Array(text.bytes[(start - prefix.count)..<end]) : nil
    }

    // MARK: Bodies

    private func arguments(
        _ kind: CallSyntax.Arguments, _ syntax: CallSyntax, _ text: PendingText, _ header: CallHeader, _ isLast: Bool,
        _ found: inout Found
    ) -> Match<CallHeader> {
        let place = text.afterSpace(header.end)
        guard place < text.bytes.count else { return isLast ? .no : .partial }
        var header = header
        if let opening = kind.opening {
            switch text.match(opening, at: place, isLast: isLast) {
            case .partial: return .partial
            case .full:
                header.end = place
                found.arguments = place
                return .full(header)
            case .no: break
            }
        } else if text.bytes[place] == UInt8(ascii: "{") || text.bytes[place] == UInt8(ascii: "\"") {
            header.end = place
            found.arguments = place
            return .full(header)
        }
        // A call without arguments that is closed immediately.
        for close in [syntax.eachClose.first, syntax.close.first] {
            guard case .text(let close) = close else { continue }
            switch text.match(Array(close.utf8), at: place, isLast: isLast) {
            case .partial: return .partial
            case .full:
                header.end = place
                return .full(header)
            case .no: continue
            }
        }
        return .no
    }

    /// - Parameter isItem: Whether this is a further item of a list of calls.
    private func pythonic(
        _ text: PendingText, _ header: CallHeader, isItem: Bool, _ isLast: Bool, _ found: inout Found
    ) -> Match<CallHeader> {
        let call: [MarkerPart] = [.name, .text([UInt8(ascii: "(")])]
        let parts = isItem ? call : [.text([UInt8(ascii: "[")])] + call
        let result = text.match(parts[...], at: header.end, header, names, isLast: isLast) { text, header in
            let place = text.afterSpace(header.end)
            guard place < text.bytes.count else { return isLast ? .no : .partial }
            if text.bytes[place] == UInt8(ascii: ")") { return .full(header) }
            var end = place  // end of the first key, before "="
            while end < text.bytes.count, isWord(text.bytes[end]) { end += 1 }
            let next = text.afterSpace(end)
            guard next < text.bytes.count else { return isLast ? .no : .partial }
            return end > place && text.bytes[next] == UInt8(ascii: "=") ? .full(header) : .no
        }
        guard case .full(var header) = result else { return result }
        header.end -= 1  // the bracket is the arguments' first byte
        found.arguments = header.end
        found.isInArray = true
        return .full(header)
    }

    private func object(
        _ keys: ObjectKeys, _ text: PendingText, _ header: CallHeader, _ isLast: Bool, _ found: inout Found
    ) -> Match<CallHeader> {
        var place = text.afterSpace(header.end)
        guard place < text.bytes.count else { return isLast ? .no : .partial }
        if text.bytes[place] == UInt8(ascii: "[") {
            found.isInArray = true
            place = text.afterSpace(place + 1)
            guard place < text.bytes.count else { return isLast ? .no : .partial }
        }
        guard text.bytes[place] == UInt8(ascii: "{") else { return .no }
        var reader = CallObject(text.bytes, place, keys)
        switch reader.read() {
        case .no: return .no
        case .partial: return isLast ? .no : .partial
        case .full(let call):
            guard names.contains(call.name[...]) else { return .no }
            found.name = call.name
            found.id = call.id
            found.arguments = call.arguments
            found.openObjects = call.openObjects
            var header = header
            header.end = call.end
            return .full(header)
        }
    }
}

func isWord(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        || byte == UInt8(ascii: "_") || byte >= 0x80
}

extension CallSyntax.Body {
    var header: [CallSyntax.Element] {
        if case .header(let pieces, _) = self { pieces } else { [] }
    }
}

extension CallSyntax.Body {
    /// Marker texts inside the arguments.
    var texts: [String] {
        switch self {
        case .header(_, .quoted(let quote)): [quote]
        case .header(_, .tagged(let tags)):
            [tags.keyOpen, tags.afterKey, tags.valueClose] + tags.afterKeyOfJSON + [tags.afterClosingKey ?? ""]
        case .header(_, .json), .object, .pythonic: []
        }
    }
}

extension CallSyntax.Arguments {
    /// First marker of the arguments; `nil` for JSON.
    var opening: [UInt8]? {
        switch self {
        case .json: nil
        case .quoted: [UInt8(ascii: "{")]
        case .tagged(let tags): Array(tags.keyOpen.utf8)
        }
    }
}
