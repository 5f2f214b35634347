import JSON

/// A JSON document as schemas need it: exact numbers, strings as UTF-8, keywords recognized.
enum SchemaJSON: Sendable {
    case null
    case bool(Bool)
    case number(Decimal)
    case string([UInt8])
    case array([SchemaJSON])
    case object(Members)

    struct Members: Sendable {
        typealias Member = (key: [UInt8], keyword: Keyword?, value: SchemaJSON)

        let list: [Member]
        /// Empty while there are few keys, which are compared faster than hashed.
        private let index: [[UInt8]: Int]
        private static let fewKeys = 16

        init(_ object: JSON.Object) {
            self.init(
                unique: object.members.map { name, value in
                    let key = Array(name.utf8)
                    return (key, Keyword(key), SchemaJSON(value))
                })
        }

        private init(unique list: [Member]) {
            self.list = list
            let indexed = list.count >= Self.fewKeys ? list : []
            index = Dictionary(indexed.enumerated().map { ($1.key, $0) }, uniquingKeysWith: { first, _ in first })
        }

        subscript(_ key: String) -> SchemaJSON? {
            guard index.isEmpty else { return self[Array(key.utf8)] }
            let (bytes, count) = (key.utf8, key.utf8.count)
            return place { $0.key.count == count && $0.key.elementsEqual(bytes) }.map { list[$0].value }
        }
        subscript(_ keyword: Keyword) -> SchemaJSON? {
            guard index.isEmpty else { return self[Array(keyword.rawValue.utf8)] }
            return place { $0.keyword == keyword }.map { list[$0].value }
        }
        subscript(_ key: [UInt8]) -> SchemaJSON? { place(of: key).map { list[$0].value } }

        private func place(of key: [UInt8]) -> Int? {
            index.isEmpty ? place { $0.key == key } : index[key]
        }

        /// The first member for which `isWanted` is true. Unlike `firstIndex`, it does not retain each on the way.
        @inline(__always)
        private func place(where isWanted: (borrowing Member) -> Bool) -> Int? {
            list.withUnsafeBufferPointer { list in
                for place in list.indices where isWanted(list[place]) { return place }
                return nil
            }
        }
        var isEmpty: Bool { list.isEmpty }
        var count: Int { list.count }

        func without(_ keywords: Set<Keyword>) -> Members {
            Members(unique: list.filter { $0.keyword.map { !keywords.contains($0) } ?? true })
        }
    }

    private static let limits = JSON.Limits(depth: 200)

    init(parsing text: ArraySlice<UInt8>) throws(JSON.SyntaxError) { self.init(try JSON(parsing: text, Self.limits)) }

    init(_ json: JSON) {
        switch json {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .number(let number): self = .number(Decimal(text: number.text.utf8))
        case .string(let text): self = .string(Array(text.utf8))
        case .array(let items): self = .array(items.map { SchemaJSON($0) })
        case .object(let object): self = .object(Members(object))
        }
    }

    /// The kind of value for messages, such as `null`, `"text"`, `{…}`.
    var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// A form that is the same for equal values: numbers by value, properties sorted.
    var canonical: [UInt8] {
        var out: [UInt8] = []
        write(to: &out)
        return out
    }

    private func write(to out: inout [UInt8]) {
        switch self {
        case .null: out += "n".utf8
        case .bool(let value): out += (value ? "t" : "f").utf8
        case .number(let value): out += "#\(value)\(value.isCut ? "+" : "");".utf8
        case .string(let text): out += "\"\(text.count):".utf8 + text
        case .array(let items):
            out += "[".utf8
            for item in items { item.write(to: &out) }
            out += "]".utf8
        case .object(let members):
            out += "{".utf8
            for member in members.list.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                SchemaJSON.string(member.key).write(to: &out)
                member.value.write(to: &out)
            }
            out += "}".utf8
        }
    }
}
