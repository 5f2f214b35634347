import HTTP
import JSON
import Wire

/// An array of a response that is encoded in pieces as the client reads it.
struct LongList: Sendable {
    /// Bytes of JSON that are made when they are written.
    fileprivate typealias Chunk = @Sendable () throws -> [UInt8]

    /// Maximum values encoded at once: Foundation needs over a hundred bytes for each meanwhile.
    fileprivate static let encodedAtOnce = 4096

    fileprivate let pieces: [Chunk]
    /// Of all elements together.
    fileprivate let values: Int

    /// - Parameters:
    ///   - values: Values per element.
    ///   - element: The element at an index.
    init<Element: Encodable & Sendable>(count: Int, values: Int = 1, element: @escaping @Sendable (Int) -> Element) {
        self.init(count: count, values: values, elements: { $0.map(element) })
    }

    /// - Parameter elements: The elements in a range.
    init<Element: Encodable & Sendable>(
        count: Int, values: Int, elements: @escaping @Sendable (Range<Int>) -> [Element]
    ) {
        self.init(count: count, values: values, json: { try JSON.encode(elements($0)).dropFirst().dropLast() })
    }

    /// - Parameter json: The elements in a range, separated by commas.
    init(count: Int, values: Int, json: @escaping @Sendable (Range<Int>) throws -> ArraySlice<UInt8>) {
        let size = max(1, Self.encodedAtOnce / max(1, values))
        pieces = stride(from: 0, to: count, by: size).map { start in
            { (start == 0 ? [] : [UInt8(ascii: ",")]) + (try json(start..<min(count, start + size))) }
        }
        self.values = count * values
    }
}

extension LongList {
    /// A JSON value with arrays that may be long, in pieces.
    ///
    /// - Parameters:
    ///   - value: With empty arrays in place of the long ones.
    ///   - lists: The long arrays by key, in the order of the empty ones. Other arrays of these keys may be empty only behind
    ///     them; keys are encoded in alphabetical order.
    fileprivate static func split(_ value: some Encodable, filling lists: [String: [LongList]]) throws -> [Chunk] {
        let text = try JSON.encode(value)
        var waiting = lists.mapValues { $0[...] }
        var (pieces, begin) = ([Chunk](), text.startIndex)
        for place in text.indices.dropLast()
        where text[place] == UInt8(ascii: "[") && text[place + 1] == UInt8(ascii: "]") {
            // Within a string the quotes would be escaped.
            let key = lists.keys.first { text[..<place].suffix($0.utf8.count + 3).elementsEqual("\"\($0)\":".utf8) }
            guard let key, let list = waiting[key]?.popFirst() else { continue }
            let part = text[begin...place]
            pieces.append { Array(part) }
            pieces += list.pieces
            begin = place + 1
        }
        let end = text[begin...]
        pieces.append { Array(end) }
        return pieces
    }

    /// The same at once, for less memory than Foundation's encoder needs.
    static func encode(_ value: some Encodable, filling lists: [String: [LongList]]) throws -> [UInt8] {
        try split(value, filling: lists).flatMap { try $0() }
    }
}

extension Response {
    /// A JSON value with arrays that may be long, which are encoded as the client reads them; see `LongList.encode`.
    static func json(_ value: some Encodable, filling lists: [String: [LongList]]) throws -> Self {
        let pieces = try LongList.split(value, filling: lists)
        let headers: Headers = ["Content-Type": "application/json"]
        guard lists.values.joined().reduce(0, { $0 + $1.values }) > LongList.encodedAtOnce else {
            return Response(status: 200, headers: headers, body: .bytes(try pieces.flatMap { try $0() }))
        }
        return Response(
            status: 200, headers: headers,
            body: .stream { writer in for piece in pieces { try await writer.write(piece()) } })
    }
}
