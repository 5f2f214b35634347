/// Parses the JSON object of a call, up to its arguments.
struct CallObject {
    struct Call {
        var name: [UInt8]
        var id: [UInt8]?
        /// Start of the arguments' value.
        var arguments: Int?
        /// Where parsing continues: at the arguments, or after the object.
        var end: Int
        /// Number of objects that remain open after the arguments.
        var openObjects: Int
    }

    private let bytes: [UInt8]
    private var place: Int
    private let keys: ObjectKeys
    private var depth = 0
    private var name: [UInt8]?
    private var id: [UInt8]?
    /// Place and depth of arguments that come before the name.
    private var early: (place: Int, depth: Int)?

    /// - Parameter place: Index of the opening brace.
    init(_ bytes: [UInt8], _ place: Int, _ keys: ObjectKeys) {
        self.bytes = bytes
        self.place = place
        self.keys = keys
    }

    private enum Failure: Error { case notACall, incomplete }

    mutating func read() -> Match<Call> {
        do {
            return .full(try call())
        } catch {
            if case .incomplete = error { return .partial }
            return .no
        }
    }

    private mutating func call() throws(Failure) -> Call {
        try expect(UInt8(ascii: "{"))
        depth = 1
        while true {
            switch try next() {
            case UInt8(ascii: "}"):
                place += 1
                depth -= 1
                if depth == 0 { return try finished() }
            case UInt8(ascii: ","): place += 1
            default:
                if let call = try member() { return call }
            }
        }
    }

    private mutating func member() throws(Failure) -> Call? {
        let key = try string()
        try expect(UInt8(ascii: ":"))
        let first = try next()
        if keys.nameIsKey, depth == 1 {
            return Call(name: key, arguments: place, end: place, openObjects: depth)
        }
        let text = String(decoding: key, as: UTF8.self)
        switch text {
        case keys.wrapper where first == UInt8(ascii: "{"), "function" where first == UInt8(ascii: "{"):
            guard depth < 4 else { throw .notACall }
            place += 1
            depth += 1
        case keys.name where first == UInt8(ascii: "\""), "name" where first == UInt8(ascii: "\"") && name == nil:
            name = try string()
            if let early {
                return Call(
                    name: name ?? [], id: id, arguments: early.place, end: early.place, openObjects: early.depth)
            }
        case keys.arguments, "arguments", "parameters":
            if let name { return Call(name: name, id: id, arguments: place, end: place, openObjects: depth) }
            early = (place, depth)
            try skipValue()
        case keys.id where first == UInt8(ascii: "\""), "id" where first == UInt8(ascii: "\""): id = try string()
        default: try skipValue()
        }
        return nil
    }

    private func finished() throws(Failure) -> Call {
        guard let name else { throw .notACall }
        return Call(name: name, id: id, end: place, openObjects: 0)
    }

    private mutating func next() throws(Failure) -> UInt8 {
        while place < bytes.count, isSpace(bytes[place]) { place += 1 }
        guard place < bytes.count else { throw .incomplete }
        return bytes[place]
    }

    private mutating func expect(_ byte: UInt8) throws(Failure) {
        guard try next() == byte else { throw .notACall }
        place += 1
    }

    /// The text of a string. Escapes in names are not decoded.
    private mutating func string() throws(Failure) -> [UInt8] {
        guard try next() == UInt8(ascii: "\"") else { throw .notACall }
        let start = place + 1
        try skipValue()
        return Array(bytes[start..<(place - 1)])
    }

    private mutating func skipValue() throws(Failure) {
        var scanner = JSONScanner()
        while place < bytes.count {
            switch scanner.feed(bytes[place]) {
            case .more: place += 1
            case .ended:
                place += 1
                return
            case .endedBefore: return
            case .invalid: throw .notACall
            }
        }
        throw .incomplete
    }
}
