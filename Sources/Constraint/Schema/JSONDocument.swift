/// A JSON document with exact strings and ordered properties.
///
/// Foundation's decoders compare names by canonical equivalence, which would unify distinct tokens of a vocabulary such
/// as U+00C5 and U+212B. Here names are compared as bytes.
package struct JSONDocument: Sendable {
    private let json: SchemaJSON

    /// Why and where bytes are not valid JSON.
    package struct Failure: Error {
        package let message: String
        package let offset: Int
    }

    private init(json: SchemaJSON) { self.json = json }

    package init(_ bytes: [UInt8]) throws(Failure) {
        do {
            json = try JSONReader.read(bytes[...])
        } catch {
            throw Failure(message: error.message, offset: error.offset)
        }
    }

    package static let null = JSONDocument(json: .null)

    package var isNull: Bool { if case .null = json { true } else { false } }
    package var bool: Bool? { if case .bool(let value) = json { value } else { nil } }
    /// The bytes of a string, in UTF-8.
    package var utf8: [UInt8]? { if case .string(let value) = json { value } else { nil } }
    package var string: String? { utf8.map { String(decoding: $0, as: UTF8.self) } }
    package var array: [JSONDocument]? {
        if case .array(let items) = json { items.map { JSONDocument(json: $0) } } else { nil }
    }
    package var isObject: Bool { if case .object = json { true } else { false } }
    /// The properties of an object.
    package var members: [(key: [UInt8], value: JSONDocument)]? {
        if case .object(let members) = json { members.list.map { ($0.key, JSONDocument(json: $0.value)) } } else { nil }
    }

    /// An integer, also if written as `1.0` or `1e3`.
    package var int: Int? {
        guard case .number(let number) = json, !number.isCut, number.isInteger, number.exponent <= 18,
            var magnitude = Int(exactly: number.mantissa)
        else { return nil }
        for _ in 0..<number.exponent {
            let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
            if overflow { return nil }
            magnitude = product
        }
        return number.isNegative ? -magnitude : magnitude
    }

    package var double: Double? { if case .number(let number) = json { Double("\(number)") } else { nil } }

    /// The property of this name; `nil` if it is missing or `null`.
    package subscript(key: String) -> JSONDocument? {
        guard case .object(let members) = json, let value = members[key] else { return nil }
        if case .null = value { return nil }
        return JSONDocument(json: value)
    }

    /// The kind of value for messages, such as `null`, `"text"`, `{…}`.
    package var kind: String { json.kind }
}
