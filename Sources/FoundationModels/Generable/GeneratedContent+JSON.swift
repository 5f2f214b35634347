public import Foundation
import JSON

extension GeneratedContent {
    /// Parses JSON or a prefix of it, as streams deliver it: strings, arrays and objects that are not closed yet
    /// contain what has arrived and have `isComplete == false`. Fragments that are not a value yet (a key alone, half a
    /// number or literal) are dropped.
    ///
    /// - Throws: `ParsingError` for text that is not JSON or a prefix of it, a number out of range, and nesting
    ///   deeper than 128 levels.
    public init(json: String) throws { try self.init(json: json, id: GenerationID()) }

    init(json: String, id: GenerationID) throws {
        var reader = ContentReader(json)
        do {
            self = try reader.read(id)
        } catch {
            throw ParsingError(
                rawContent: json,
                debugDescription: """
                    Generated content: expected \(error.expected) at byte \(error.position) of \(json.prefix(200))
                    """)
        }
    }

    /// The value decoded as a `Decodable` type, for apps that describe their types with schemas made at run time.
    ///
    /// - Throws: `DecodingError`.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: Data(jsonString.utf8))
    }

    /// The value as JSON text, properties in order.
    public var jsonString: String { json.text }

    var json: JSON {
        switch kind {
        case .null: .null
        case .bool(let bool): .bool(bool)
        case .number(let number): Int(exactly: number).map { JSON($0) } ?? JSON(number)
        case .string(let text): .string(text)
        case .array(let elements): .array(elements.map(\.json))
        case .structure(let properties, let keys):
            .object(JSON.Object(keys.compactMap { key in properties[key].map { (name: key, value: $0.json) } }))
        }
    }
}

extension GeneratedContent {
    /// Generated text is not a value of the requested type: it was cut off, or the app's type rejected it.
    public struct ParsingError: LocalizedError, Sendable {
        /// The text that the model wrote, which may end anywhere.
        public var rawContent: String
        /// What the initializer of the app's type threw; `nil` if the text is not complete JSON.
        public var underlyingError: (any Error)?
        public var debugDescription: String

        /// For initializers of an app's types that reject content.
        public init(rawContent: String, underlyingError: (any Error)? = nil, debugDescription: String) {
            self.rawContent = rawContent
            self.underlyingError = underlyingError
            self.debugDescription = debugDescription
        }
    }
}

extension GeneratedContent.ParsingError: CustomDebugStringConvertible {}

extension GeneratedContent.ParsingError {
    public var errorDescription: String? { "The language model's answer could not be read." }
    public var failureReason: String? { debugDescription }
    public var recoverySuggestion: String? { "Try again." }
}
