/// A JSON object whose members are kept in order and as they were written, to be passed on.
public struct RawObject: Sendable {
    private var members: [(name: String, value: [UInt8])]

    /// - Parameter bytes: Known to be JSON. Another value than an object is an empty one.
    public init(_ bytes: [UInt8]) { members = RawBody(bytes).members() ?? [] }

    /// Sets or, with `nil`, removes a member. Names that differ in case only are removed: some readers do not tell them
    /// apart.
    ///
    /// - Parameter name: In lower case.
    public mutating func set(_ name: String, _ value: (some Encodable)?) throws {
        members.removeAll { Self.folded($0.name) == name && (value == nil || $0.name != name) }
        guard let value else { return }
        let encoded = try JSON.encode(value)
        if let index = members.firstIndex(where: { $0.name == name }) {
            members[index].value = encoded
        } else {
            members.append((name, encoded))
        }
    }

    /// As readers fold cases that take `ſ` for `s`.
    private static func folded(_ name: String) -> String { name.uppercased().lowercased() }

    /// The object, its names encoded anew.
    public func encoded() throws -> [UInt8] {
        var bytes = [UInt8(ascii: "{")]
        for (index, member) in members.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += try JSON.encode(member.name)
            bytes.append(UInt8(ascii: ":"))
            bytes += member.value
        }
        return bytes + [UInt8(ascii: "}")]
    }
}
