import HTTP
import Wire

extension Response {
    /// Maximum values encoded at once: Foundation needs over a hundred bytes for each meanwhile.
    private static let encodedAtOnce = 4096

    /// A JSON object with a list. A long list is encoded in pieces as the client reads it.
    ///
    /// - Parameters:
    ///   - name: The list's key.
    ///   - values: Values per element.
    ///   - element: The element at an index.
    ///   - rest: The object's other fields.
    static func json<Element: Encodable & Sendable>(
        list name: String, count: Int, values: Int = 1, rest: some Encodable,
        element: @escaping @Sendable (Int) -> Element
    ) throws -> Self {
        let rest = try JSON.encode(rest).dropFirst().dropLast()
        let before = rest.isEmpty ? "" : String(decoding: rest, as: UTF8.self) + ","
        let begin = Array("{\(before)\"\(name)\":[".utf8)
        let size = max(1, encodedAtOnce / max(1, values))
        let encode = { @Sendable (start: Int) throws -> [UInt8] in
            let part = (start..<min(count, start + size)).map(element)
            return (start == 0 ? [] : [UInt8(ascii: ",")]) + (try JSON.encode(part).dropFirst().dropLast())
        }
        let end = Array("]}".utf8)
        let headers: Headers = ["Content-Type": "application/json"]
        guard count > size else {
            return Response(
                status: 200, headers: headers, body: .bytes(try begin + (count == 0 ? [] : encode(0)) + end))
        }
        return Response(
            status: 200, headers: headers,
            body: .stream { writer in
                try await writer.write(begin)
                for start in stride(from: 0, to: count, by: size) { try await writer.write(encode(start)) }
                try await writer.write(end)
            })
    }
}
