import Foundation
import Tokenizer

extension GeneratedContent {
    /// Reads JSON, or the beginning of some, as a stream shows it.
    ///
    /// - Throws: `decodingFailure` for what neither is JSON nor begins any.
    public init(json: String) throws { try self.init(json: json, id: GenerationID()) }

    init(json: String, id: GenerationID) throws {
        let whole = PartialJSON(json)
        do {
            let value = try TemplateValue(json: Data(whole.completed.utf8))
            self.init(value, id: id, openLevels: whole.openLevels)
        } catch {
            throw LanguageModelSession.GenerationError.decodingFailure(
                .init(debugDescription: "Generated content: expected JSON, found \(json.prefix(200)): \(error)"))
        }
    }

    /// - Parameter openLevels: How many containers at the end of the text are not closed, this value included; `nil` where it is
    ///   complete.
    private init(_ value: TemplateValue, id: GenerationID, openLevels: Int?) {
        let inner = openLevels.flatMap { $0 > 1 ? $0 - 1 : nil }
        let kind: Kind
        switch value {
        case .none, .undefined: kind = .null
        case .bool(let bool): kind = .bool(bool)
        case .int(let int): kind = .number(Double(int))
        case .double(let double): kind = .number(double)
        case .string(let text): kind = .string(text)
        case .array(let elements):
            kind = .array(
                elements.enumerated().map { index, element in
                    GeneratedContent(
                        element, id: id.inside(String(index)), openLevels: index == elements.count - 1 ? inner : nil)
                })
        case .object(let members):
            // Of a key that comes twice the last value counts.
            var (properties, keys): ([String: GeneratedContent], [String]) = ([:], [])
            for (index, member) in members.entries.enumerated() {
                if properties[member.key] == nil { keys.append(member.key) }
                properties[member.key] = GeneratedContent(
                    member.value, id: id.inside(member.key),
                    openLevels: index == members.entries.count - 1 ? inner : nil)
            }
            kind = .structure(properties: properties, orderedKeys: keys)
        }
        self.init(kind: kind, id: id, isComplete: openLevels == nil)
    }

    /// The value as JSON, its properties in order.
    public var jsonString: String { json.text }

    var json: OrderedJSON {
        switch kind {
        case .null: .null
        case .bool(let bool): .bool(bool)
        case .number(let number): Int(exactly: number).map { .int($0) } ?? .double(number)
        case .string(let text): .string(text)
        case .array(let elements): .array(elements.map(\.json))
        case .structure(let properties, let keys):
            .object(keys.compactMap { key in properties[key].map { (key, $0.json) } })
        }
    }
}
