/// Recognizes an answer that consists of calls without the dialect's markers: one JSON object with a name and arguments,
/// or several, in a list or in a row, also in a Markdown fence or between `<tools>` and `</tools>`.
///
/// Many models write calls in this way in spite of their templates. The whole answer must be such calls, of declared
/// tools. Bytes are read once, however the text arrives.
struct BareCalls: Sendable {
    struct Call: Sendable {
        var name: [UInt8]
        var id: [UInt8]?
        /// Place of the arguments, an object or a string, in the text.
        var arguments: Range<Int>
    }

    private enum Phase: Sendable { case opening, items, closing }

    private let names: DeclaredNames
    private var phase = Phase.opening
    /// Everything before is read.
    private var place = 0
    /// What closes the wrappers that were opened, the innermost last.
    private var closers: [[UInt8]] = []
    private var isList = false
    private var calls: [Call] = []
    /// The values of the current object that were skipped, or are being skipped.
    private var skipped: [Skipped] = []

    private struct Skipped: Sendable {
        var start: Int
        var end: Int
        var scanner = JSONScanner()
        var isComplete = false
    }

    private static let fence = Array("```".utf8)
    private static let tools = (open: Array("<tools>".utf8), close: Array("</tools>".utf8))
    private static let keys = DeclaredNames(["name", "arguments", "parameters", "id", "type", "function"])
    private static let types = DeclaredNames(["function"])
    private static let longestLanguage = 20
    private static let longestID = 256
    private static let longestSpace = 256

    private enum Failure: Error { case notCalls, incomplete }

    init(_ names: DeclaredNames) { self.names = names }

    /// Whether calls may begin with this byte.
    static func mayBegin(with byte: UInt8) -> Bool { "{[`<".utf8.contains(byte) }

    /// Reads on in an answer.
    ///
    /// - Parameter text: The whole answer so far, from the place where calls may begin.
    mutating func read(_ text: ArraySlice<UInt8>, isLast: Bool) -> Match<[Call]> {
        let bytes = Reading(text)
        do {
            while true {
                switch phase {
                case .opening: try open(bytes)
                case .items: try items(bytes, isLast)
                case .closing:
                    try close(bytes, isLast)
                    return isLast ? .full(calls) : .partial
                }
            }
        } catch {
            if case .incomplete = error { return isLast ? .no : .partial }
            return .no
        }
    }

    /// The text, with places from 0.
    private struct Reading {
        private let text: ArraySlice<UInt8>

        init(_ text: ArraySlice<UInt8>) { self.text = text }

        var count: Int { text.count }
        subscript(place: Int) -> UInt8 { text[text.startIndex + place] }
        subscript(range: Range<Int>) -> ArraySlice<UInt8> {
            text[(text.startIndex + range.lowerBound)..<(text.startIndex + range.upperBound)]
        }

        /// - Returns: The place after white space; more than calls need is not skipped.
        func afterSpace(_ start: Int) -> Int {
            var place = start
            while place < count, place - start < BareCalls.longestSpace, isSpace(self[place]) { place += 1 }
            return place
        }

        /// - Returns: The byte at `place`.
        func byte(_ place: Int) throws(Failure) -> UInt8 {
            guard place < count else { throw .incomplete }
            return self[place]
        }

        /// - Returns: The place after `expected`.
        func take(_ expected: [UInt8], _ place: Int) throws(Failure) -> Int {
            for (offset, byte) in expected.enumerated() {
                guard try self.byte(place + offset) == byte else { throw .notCalls }
            }
            return place + expected.count
        }
    }

    // MARK: Around the calls

    private mutating func open(_ bytes: Reading) throws(Failure) {
        place = bytes.afterSpace(place)
        switch try bytes.byte(place) {
        case UInt8(ascii: "{"): phase = .items
        case UInt8(ascii: "["):
            isList = true
            place += 1
            phase = .items
        case UInt8(ascii: "<") where !closers.contains(Self.tools.close):
            place = try bytes.take(Self.tools.open, place)
            closers.append(Self.tools.close)
        case UInt8(ascii: "`") where !closers.contains(Self.fence):
            var end = try bytes.take(Self.fence, place)
            while try bytes.byte(end) != 0x0a {
                guard isWord(bytes[end]) || isSpace(bytes[end]), end - place < Self.longestLanguage else {
                    throw .notCalls
                }
                end += 1
            }
            place = end
            closers.append(Self.fence)
        default: throw .notCalls
        }
    }

    /// Reads objects. Outside of a list, white space or a comma separates them.
    private mutating func items(_ bytes: Reading, _ isLast: Bool) throws(Failure) {
        while true {
            var next = bytes.afterSpace(place)
            if !calls.isEmpty {
                guard next < bytes.count || isList else { return phase = .closing }
                switch try bytes.byte(next) {
                case UInt8(ascii: "]") where isList:
                    place = next + 1
                    return phase = .closing
                case UInt8(ascii: ","): next = bytes.afterSpace(next + 1)
                case UInt8(ascii: "{") where !isList: break
                default:
                    guard !isList else { throw .notCalls }
                    return phase = .closing
                }
            }
            let (call, end) = try object(bytes, next)
            calls.append(call)
            skipped = []
            place = end
        }
    }

    private mutating func close(_ bytes: Reading, _ isLast: Bool) throws(Failure) {
        var next = bytes.afterSpace(place)
        // Another object may follow.
        if !isList, next < bytes.count, [UInt8(ascii: ","), UInt8(ascii: "{")].contains(bytes[next]) {
            phase = .items
            return try items(bytes, isLast)
        }
        for closer in closers.reversed() {
            // The last closer is often cut off, or forgotten.
            if isLast, closer.starts(with: bytes[next..<bytes.count]) { return }
            next = bytes.afterSpace(try bytes.take(closer, next))
        }
        guard next == bytes.count else { throw .notCalls }
    }

    // MARK: Objects

    /// Reads `{"name": …, "arguments": …}`, the members in any order, also within `"function": {…}`.
    ///
    /// - Returns: The call, and the place after it.
    private mutating func object(
        _ bytes: Reading, _ start: Int, isInner: Bool = false
    ) throws(Failure) -> (call: Call, end: Int) {
        var place = try bytes.take([UInt8(ascii: "{")], start)
        var name, id: [UInt8]?
        var arguments: Range<Int>?
        var inner: Call?
        var keys: Set<[UInt8]> = []
        while true {
            place = bytes.afterSpace(place)
            let key = try string(bytes, &place, oneOf: Self.keys)
            guard keys.insert(key).inserted else { throw .notCalls }
            place = try bytes.take([UInt8(ascii: ":")], bytes.afterSpace(place))
            place = bytes.afterSpace(place)
            let first = try bytes.byte(place)
            switch String(decoding: key, as: UTF8.self) {
            case "name": name = try string(bytes, &place, oneOf: names)
            case "arguments", "parameters":
                guard first == UInt8(ascii: "{") || first == UInt8(ascii: "\"") else { throw .notCalls }
                let end = try skip(bytes, place)
                if first == UInt8(ascii: "\"") { try checkText(bytes[place..<end]) }
                arguments = place..<end
                place = end
            case "id":
                guard first == UInt8(ascii: "\"") else { throw .notCalls }
                let end = try skip(bytes, place)
                guard end - place < Self.longestID else { throw .notCalls }
                id = Array(bytes[(place + 1)..<(end - 1)])
                place = end
            case "type": _ = try string(bytes, &place, oneOf: Self.types)
            default:
                guard first == UInt8(ascii: "{") else {
                    name = try string(bytes, &place, oneOf: names)
                    break
                }
                guard !isInner else { throw .notCalls }
                (inner, place) = try object(bytes, place, isInner: true)
            }
            place = bytes.afterSpace(place)
            let next = try bytes.byte(place)
            place += 1
            if next == UInt8(ascii: "}") { break }
            guard next == UInt8(ascii: ",") else { throw .notCalls }
        }
        if var inner, name == nil, arguments == nil {
            inner.id = inner.id ?? id
            return (inner, place)
        }
        guard let name, let arguments, inner == nil else { throw .notCalls }
        return (Call(name: name, id: id, arguments: arguments), place)
    }

    /// Reads a string that is one of the choices. Fails at the first byte with which none of them goes on.
    private func string(
        _ bytes: Reading, _ place: inout Int, oneOf choices: DeclaredNames
    ) throws(Failure) -> [UInt8] {
        let start = try bytes.take([UInt8(ascii: "\"")], place)
        var end = start
        while end < bytes.count, end - start <= choices.lengths.first ?? 0, bytes[end] != UInt8(ascii: "\"") {
            end += 1
        }
        let text = bytes[start..<end]
        guard end < bytes.count else {
            guard choices.contains(text) || choices.hasLonger(than: text) else { throw .notCalls }
            throw .incomplete
        }
        guard bytes[end] == UInt8(ascii: "\""), choices.contains(text) else { throw .notCalls }
        place = end + 1
        return Array(text)
    }

    /// Checks that a string contains JSON, as some models write arguments.
    private func checkText(_ string: ArraySlice<UInt8>) throws(Failure) {
        var text = PendingText(bytes: Array(string))
        var reader = JSONArguments(close: [], schema: ArgumentSchema())
        let json = reader.read(&text)
        guard json.first == UInt8(ascii: "{"), JSONScanner.isValue(json) else { throw .notCalls }
    }

    /// - Returns: The place after the value at `start`.
    private mutating func skip(_ bytes: Reading, _ start: Int) throws(Failure) -> Int {
        let index = skipped.firstIndex { $0.start == start } ?? skipped.count
        if index == skipped.count { skipped.append(Skipped(start: start, end: start)) }
        while !skipped[index].isComplete {
            switch skipped[index].scanner.feed(try bytes.byte(skipped[index].end)) {
            case .more: break
            case .ended: skipped[index].isComplete = true
            case .endedBefore, .invalid: throw .notCalls
            }
            skipped[index].end += 1
        }
        return skipped[index].end
    }
}
