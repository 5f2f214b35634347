import Foundation

/// A value of a request's body as it was written: the order of an object's members, which a schema and a template look at, is kept.
public struct RawJSON: Codable, Sendable, Equatable {
    /// JSON.
    public var text: [UInt8]

    public init(_ text: [UInt8]) { self.text = text }

    public init(from decoder: any Decoder) throws {
        if let body = decoder.userInfo[.requestBody] as? [UInt8],
            let text = Self.slice(of: body, at: decoder.codingPath)
        {
            self.text = text
        } else {
            text = try JSON.encode(try JSONValue(from: decoder))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        try JSONDecoder().decode(JSONValue.self, from: Data(text)).encode(to: encoder)
    }

    /// Null, or a list, object or string without anything in it: clients send these for "none".
    public var isEmpty: Bool {
        ["null", "[]", "{}", "\"\""].contains(String(decoding: text.filter { $0 > 0x20 }, as: UTF8.self))
    }

    /// The value at a path in a body that is known to be JSON. Of a repeated key the first value counts, as in Foundation.
    private static func slice(of body: [UInt8], at path: [any CodingKey]) -> [UInt8]? {
        var reader = Reader(body: body[...])
        for key in path {
            let found = key.intValue.map { reader.element($0) } ?? reader.member(key.stringValue)
            guard let found else { return nil }
            reader = Reader(body: found)
        }
        return Array(reader.body)
    }

    /// Walks over JSON without reading what it passes.
    private struct Reader {
        let body: ArraySlice<UInt8>

        func element(_ index: Int) -> ArraySlice<UInt8>? {
            var (place, count) = (afterSpace(body.startIndex) + 1, 0)
            while let value = value(at: afterSpace(place)) {
                if count == index { return value }
                count += 1
                place = afterSpace(value.endIndex) + 1
            }
            return nil
        }

        func member(_ name: String) -> ArraySlice<UInt8>? {
            var place = afterSpace(body.startIndex) + 1
            while let key = value(at: afterSpace(place)), key.first == UInt8(ascii: "\"") {
                guard let value = value(at: afterSpace(afterSpace(key.endIndex) + 1)) else { break }
                if (try? JSONDecoder().decode(String.self, from: Data(key))) == name { return value }
                place = afterSpace(value.endIndex) + 1
            }
            return nil
        }

        private func afterSpace(_ place: Int) -> Int {
            var place = place
            while place < body.endIndex, body[place] <= 0x20 { place += 1 }
            return place
        }

        private func value(at start: Int) -> ArraySlice<UInt8>? {
            guard start < body.endIndex, body[start] != UInt8(ascii: "]"), body[start] != UInt8(ascii: "}") else {
                return nil
            }
            var (place, depth, isInString, isEscaped) = (start, 0, false, false)
            while place < body.endIndex {
                let byte = body[place]
                if isInString {
                    if !isEscaped, byte == UInt8(ascii: "\"") {
                        isInString = false
                        if depth == 0 { return body[start...place] }
                    }
                    isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                } else {
                    switch byte {
                    case UInt8(ascii: "\""): isInString = true
                    case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                    case UInt8(ascii: "}"), UInt8(ascii: "]"):
                        if depth == 0 { return body[start..<place] }
                        depth -= 1
                        if depth == 0 { return body[start...place] }
                    case UInt8(ascii: ","), 0...0x20: if depth == 0 { return body[start..<place] }
                    default: break
                    }
                }
                place += 1
            }
            return body[start...]
        }
    }
}

extension CodingUserInfoKey {
    /// The bytes that are decoded, for `RawJSON`.
    static var requestBody: CodingUserInfoKey { CodingUserInfoKey(rawValue: "requestBody")! }  // any name will do
}
