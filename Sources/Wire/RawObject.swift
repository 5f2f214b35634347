/// A JSON object that keeps the order and source text of its members, for forwarding.
public struct RawObject: Sendable {
    private var members: [(name: String, value: [UInt8])]

    /// - Parameter bytes: Valid JSON. A value other than an object gives an empty object.
    public init(_ bytes: [UInt8]) { members = RawBody(bytes).members() ?? [] }

    /// Sets a member, or removes it with `nil`. Members whose names differ only in case are removed, since some parsers
    /// ignore case.
    ///
    /// - Parameter name: Lower-case name.
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

    /// Folds case like parsers that treat `ſ` as `s`.
    private static func folded(_ name: String) -> String { name.uppercased().lowercased() }

    /// The encoded object.
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
