/// Header fields in order. Names are case-insensitive and may repeat.
package struct Headers: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    package struct Field: Sendable, Equatable {
        package var name: String
        package var value: String
    }

    /// All fields in order.
    package private(set) var fields: [Field] = []

    package init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    package init() {}

    /// Adds a field and keeps others with the same name.
    package mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// The first value of a name. Setting replaces all values; `nil` removes them.
    package subscript(name: String) -> String? {
        get { fields.first { equalsIgnoringCase($0.name, name) }?.value }
        set {
            fields.removeAll { equalsIgnoringCase($0.name, name) }
            if let newValue { append(name, newValue) }
        }
    }

    /// Every value of a name, in order.
    package func all(_ name: String) -> [String] {
        fields.compactMap { equalsIgnoringCase($0.name, name) ? $0.value : nil }
    }

    /// The comma-separated elements of every value of a name, in lower case, without empty ones.
    func list(_ name: String) -> [String] {
        all(name).flatMap { value in
            value.utf8.split(separator: UInt8(ascii: ",")).compactMap { element in
                let text = trimmingBlanks(Array(element)[...])
                return text.isEmpty ? nil : String(decoding: text.map(lowercased), as: UTF8.self)
            }
        }
    }
}

/// Compares bytes, ignoring ASCII case. Swift's `==` would also accept canonically equivalent characters.
func equalsIgnoringCase(_ a: String, _ b: String) -> Bool {
    a.utf8.count == b.utf8.count && zip(a.utf8, b.utf8).allSatisfy { lowercased($0) == lowercased($1) }
}

private func lowercased(_ byte: UInt8) -> UInt8 {
    (0x41...0x5a).contains(byte) ? byte | 0x20 : byte
}
