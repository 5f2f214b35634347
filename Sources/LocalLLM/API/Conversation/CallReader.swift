import Dialects
import Foundation
import JSON
import Template

/// Turns a parser's deltas into increments of calls.
struct CallReader: Sendable {
    private let custom: Set<String>
    private let allowsSeveral: Bool
    private(set) var count = 0
    /// JSON so far of the current call, if its tool takes text.
    private var text: String?

    init(_ tools: ToolOffer) {
        custom = tools.custom
        allowsSeveral = tools.allowsSeveralCalls
    }

    /// Whether this call exceeds the single one allowed without parallel calls.
    private var isFull: Bool { count > 1 && !allowsSeveral }

    mutating func read(_ delta: AnswerDelta) -> CallDelta? {
        switch delta {
        case .call(let name, let id):
            count += 1
            guard !isFull else { return nil }
            text = custom.contains(name) ? "" : nil
            return CallDelta(index: count - 1, id: Self.id(id), name: name, isCustom: text != nil)
        case .arguments(let piece):
            guard !isFull, !piece.isEmpty else { return nil }
            if text != nil {
                text? += piece
                return nil
            }
            return CallDelta(index: count - 1, arguments: piece)
        case .callEnd:
            guard !isFull, let json = text else { return nil }
            text = nil
            return CallDelta(index: count - 1, isCustom: true, arguments: CallDelta.input(json))
        case .reasoning, .content: return nil
        }
    }

    /// The model's own identifier if it has at least nine bytes, since its template expects it back; mere counters are
    /// not unique in a conversation.
    private static func id(_ own: String?) -> String {
        guard let own, own.utf8.count >= 9 else { return .unique("call_") }
        return own
    }
}

extension CallDelta {
    /// The text that a tool gets, from the JSON of its call.
    package static func input(_ json: String) -> String {
        (try? JSON(parsing: json, .init(depth: TemplateValue.maximumJSONDepth)))?["input"]?.string ?? json
    }
}

extension String {
    /// A new identifier.
    ///
    /// - Parameter prefix: What it identifies, such as `call_`.
    package static func unique(_ prefix: String) -> String {
        "\(prefix)\(UUID().uuidString.lowercased().filter { $0 != "-" })"
    }
}
