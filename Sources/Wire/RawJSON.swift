import Foundation
import Synchronization

/// The source text of a value in a request's body. It keeps the order of members, on which schemas and templates
/// depend.
public struct RawJSON: Codable, Sendable, Equatable {
    /// The JSON text.
    public var text: [UInt8]

    public init(_ text: [UInt8]) { self.text = text }

    public init(from decoder: any Decoder) throws {
        if let body = decoder.userInfo[.requestBody] as? RawBody, let text = body.value(at: decoder.codingPath) {
            self.text = text
        } else {
            text = try JSON.encode(try JSONValue(from: decoder))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        try JSONDecoder().decode(JSONValue.self, from: Data(text)).encode(to: encoder)
    }

    /// Whether the value is null, `[]`, `{}` or `""`, which clients send for none.
    public var isEmpty: Bool {
        ["null", "[]", "{}", "\"\""].contains(String(decoding: text.filter { $0 > 0x20 }, as: UTF8.self))
    }
}

/// The bytes of a valid JSON body, for finding values by path.
///
/// Each container is scanned once, so that finding all of its values takes linear time.
final class RawBody: Sendable {
    private enum Children: Sendable {
        case elements([Range<Int>])
        case members([String: Range<Int>])
    }

    private let bytes: [UInt8]
    /// Children of scanned containers, by the position of their opening bracket.
    private let known = Mutex<[Int: Children]>([:])
    /// Position of the whole value.
    private let start: Int

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        start = bytes.firstIndex { $0 > 0x20 } ?? bytes.count
    }

    /// The members of an object in order, with unescaped names; `nil` if the value is not an object.
    func members() -> [(name: String, value: [UInt8])]? {
        guard start < bytes.count, bytes[start] == UInt8(ascii: "{") else { return nil }
        return members(of: start).map { ($0.name, Array(bytes[$0.value])) }
    }

    /// The text of the value at a path, or `nil`.
    func value(at path: [any CodingKey]) -> [UInt8]? {
        known.withLock { known in
            // Exact once it is a child; the root extends to the end of the body.
            var range = start..<bytes.count
            for key in path {
                if known[range.lowerBound] == nil {
                    guard let children = children(of: range.lowerBound) else { return nil }
                    known[range.lowerBound] = children
                }
                switch known[range.lowerBound] {
                case .elements(let elements):
                    guard let index = key.intValue, elements.indices.contains(index) else { return nil }
                    range = elements[index]
                case .members(let members):
                    guard let value = members[key.stringValue] else { return nil }
                    range = value
                case nil: return nil
                }
            }
            return path.isEmpty ? value(from: start).map { Array(bytes[$0]) } : Array(bytes[range])
        }
    }

    /// - Returns: `nil` if the value is not a container.
    private func children(of start: Int) -> Children? {
        guard start < bytes.count else { return nil }
        switch bytes[start] {
        case UInt8(ascii: "{"):
            return .members(Dictionary(members(of: start).map { ($0.name, $0.value) }) { first, _ in first })
        case UInt8(ascii: "["):
            var place = start + 1
            var elements: [Range<Int>] = []
            while let value = value(from: place) {
                elements.append(value)
                place = afterSpace(value.upperBound) + 1
            }
            return .elements(elements)
        default: return nil
        }
    }

    private func members(of start: Int) -> [(name: String, value: Range<Int>)] {
        var place = start + 1
        var members: [(name: String, value: Range<Int>)] = []
        while let key = value(from: place), bytes[key.lowerBound] == UInt8(ascii: "\"") {
            guard let value = value(from: afterSpace(key.upperBound) + 1) else { break }
            members.append((name(bytes[key]), value))
            place = afterSpace(value.upperBound) + 1
        }
        return members
    }

    /// The name in a key with quotes.
    private func name(_ key: ArraySlice<UInt8>) -> String {
        guard key.contains(UInt8(ascii: "\\")) else {
            return String(decoding: key.dropFirst().dropLast(), as: UTF8.self)
        }
        return (try? JSONDecoder().decode(String.self, from: Data(key))) ?? ""
    }

    private func afterSpace(_ place: Int) -> Int {
        var place = place
        while place < bytes.count, bytes[place] <= 0x20 { place += 1 }
        return place
    }

    /// Range of the next value at or after a position; `nil` before a closing bracket.
    private func value(from position: Int) -> Range<Int>? {
        let start = afterSpace(position)
        guard start < bytes.count, bytes[start] != UInt8(ascii: "]"), bytes[start] != UInt8(ascii: "}") else {
            return nil
        }
        var (place, depth, isInString, isEscaped) = (start, 0, false, false)
        while place < bytes.count {
            let byte = bytes[place]
            if isInString {
                if !isEscaped, byte == UInt8(ascii: "\"") {
                    isInString = false
                    if depth == 0 { return start..<place + 1 }
                }
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if depth == 0 { return start..<place }
                    depth -= 1
                    if depth == 0 { return start..<place + 1 }
                case UInt8(ascii: ","), 0...0x20: if depth == 0 { return start..<place }
                default: break
                }
            }
            place += 1
        }
        return start..<bytes.count
    }
}

extension CodingUserInfoKey {
    /// The body being decoded, for `RawJSON`.
    static var requestBody: CodingUserInfoKey { CodingUserInfoKey(rawValue: "requestBody")! }  // the name is arbitrary
}
