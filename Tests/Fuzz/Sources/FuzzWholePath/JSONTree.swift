/// JSON as it is spelled: members in order, keys twice where they are there twice, numbers and strings as written.
indirect enum JSONTree: Sendable {
    case scalar([UInt8])
    case array([JSONTree])
    case object([(key: [UInt8], value: JSONTree)])

    /// `nil` where the bytes are no JSON, or nested deeper than 40 levels.
    init?(_ bytes: some Collection<UInt8>) {
        var reader = Reader(bytes: Array(bytes))
        guard let tree = reader.value(depth: 0), reader.place == reader.bytes.count else { return nil }
        self = tree
    }

    var bytes: [UInt8] {
        switch self {
        case .scalar(let text): text
        case .array(let items): [0x5b] + items.map(\.bytes).joined(separator: [0x2c]) + [0x5d]
        case .object(let members):
            [0x7b] + members.map { $0.key + [0x3a] + $0.value.bytes }.joined(separator: [0x2c]) + [0x7d]
        }
    }

    /// Itself and all values in it.
    var count: Int {
        switch self {
        case .scalar: 1
        case .array(let items): 1 + items.reduce(0) { $0 + $1.count }
        case .object(let members): 1 + members.reduce(0) { $0 + $1.value.count }
        }
    }

    /// Changes the value of this number, in the order in which they are written; 0 is the whole.
    ///
    /// - Returns: Whether there was one; `number` then is 0, and else what is left of it after these.
    @discardableResult mutating func change(_ number: inout Int, _ work: (inout JSONTree) -> Void) -> Bool {
        guard number > 0 else {
            work(&self)
            return true
        }
        number -= 1
        switch self {
        case .scalar: return false
        case .array(var items):
            for index in items.indices where items[index].change(&number, work) {
                self = .array(items)
                return true
            }
        case .object(var members):
            for index in members.indices where members[index].value.change(&number, work) {
                self = .object(members)
                return true
            }
        }
        return false
    }

    /// All members of all objects in it.
    var members: [(key: [UInt8], value: JSONTree)] {
        switch self {
        case .scalar: []
        case .array(let items): items.flatMap(\.members)
        case .object(let members): members + members.flatMap(\.value.members)
        }
    }

    private struct Reader {
        let bytes: [UInt8]
        var place = 0

        mutating func skipSpace() {
            while place < bytes.count, [0x20, 0x0a, 0x0d, 0x09].contains(bytes[place]) { place += 1 }
        }

        mutating func take(_ byte: UInt8) -> Bool {
            skipSpace()
            guard place < bytes.count, bytes[place] == byte else { return false }
            place += 1
            return true
        }

        mutating func value(depth: Int) -> JSONTree? {
            guard depth < 40 else { return nil }
            defer { skipSpace() }
            if take(0x5b) {
                var items: [JSONTree] = []
                if take(0x5d) { return .array([]) }
                repeat {
                    guard let item = value(depth: depth + 1) else { return nil }
                    items.append(item)
                } while take(0x2c)
                return take(0x5d) ? .array(items) : nil
            }
            if take(0x7b) {
                var members: [(key: [UInt8], value: JSONTree)] = []
                if take(0x7d) { return .object([]) }
                repeat {
                    skipSpace()
                    guard let key = string(), take(0x3a), let value = value(depth: depth + 1) else { return nil }
                    members.append((key, value))
                } while take(0x2c)
                return take(0x7d) ? .object(members) : nil
            }
            skipSpace()
            if let text = string() { return .scalar(text) }
            let start = place
            while place < bytes.count, ![0x2c, 0x5d, 0x7d, 0x20, 0x0a, 0x0d, 0x09].contains(bytes[place]) { place += 1 }
            return place > start ? .scalar(Array(bytes[start..<place])) : nil
        }

        /// With its quotes.
        mutating func string() -> [UInt8]? {
            guard place < bytes.count, bytes[place] == 0x22 else { return nil }
            let start = place
            place += 1
            while place < bytes.count, bytes[place] != 0x22 { place += bytes[place] == 0x5c ? 2 : 1 }
            guard place < bytes.count else { return nil }
            place += 1
            return Array(bytes[start..<place])
        }
    }
}
