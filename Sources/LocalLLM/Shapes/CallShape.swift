import Constraint
import Dialects
import Foundation

/// The calls of an answer in a dialect's notation.
struct CallShape {
    typealias Shape = ConstraintGraph.Shape

    private let syntax: CallSyntax
    private let names: [String]
    /// Text between the name and the arguments. Arguments in JSON begin with their own space.
    private let afterName: String
    /// For each tool, the text between its name and the end of the call.
    private let rests: [Shape]
    /// Brackets that are open while the arguments are written.
    private let open: [Character]
    private let allowsSeveral: Bool
    private let hasFreeHeader: Bool
    private let gap: Shape
    private let identifier: Shape
    /// What is not enforced of the tools' schemas.
    let unenforced: [ToolSchemaError]

    /// - Parameter hasFreeHeader: Whether text between name and arguments can be written in several ways (Harmony).
    init(
        _ syntax: CallSyntax, _ tools: [CallableTool], allowsSeveral: Bool, hasFreeHeader: Bool,
        _ compile: @escaping AnswerShape.Compile
    ) throws {
        self.syntax = syntax
        self.allowsSeveral = allowsSeveral && syntax.allowsSeveral
        self.hasFreeHeader = hasFreeHeader
        names = tools.map(\.name)
        var afterName = syntax.textAfterName
        switch syntax.body {
        case .object, .header(_, .json): while afterName.last == " " { afterName.removeLast() }
        default: break
        }
        self.afterName = afterName
        let gap: Shape = .constraint(try compile(.regex("[ \\n]{0,2}")))
        self.gap = gap
        identifier = .constraint(try compile(.regex("[a-zA-Z0-9]{9}")))
        var open: [Character] = []
        if case .object = syntax.body { open = Self.openBrackets(syntax.textBeforeName + "f" + syntax.textAfterName) }
        self.open = open
        let end = try Self.end(syntax, open, gap, compile)
        let header = try Self.headerEnd(syntax, compile)
        let arguments = tools.map { ArgumentShape($0, syntax, gap, compile) }
        rests = try arguments.map { .sequence(header + [try $0.shape(), end]) }
        unenforced = arguments.flatMap(\.unenforced)
    }

    // MARK: Whole calls

    /// All calls of a message, at least one.
    var whole: Shape { calls(first: anyCall(syntax.textBeforeName)) }

    /// The remainder of `whole` after the text has begun with `beginning`.
    func rest(after beginning: String) -> Shape {
        calls(
            first: .anyOf(
                zip(names, rests).compactMap { name, rest in
                    let text = syntax.textBeforeName + name + afterName
                    guard text.hasPrefix(beginning) else { return nil }
                    return .sequence(literals(String(text.dropFirst(beginning.count))) + [rest])
                }))
    }

    /// Markers that begin a call, with what must follow each.
    var triggers: [(marker: ConstraintGraph.Marker, then: Shape)] {
        if hasFreeHeader {
            // The channel may come before or after the name, and the type of the arguments with or without its marker.
            let after: [Shape] = [
                .optional(.literal("<|channel|>commentary")),
                .optional(.anyOf([" <|constrain|>json", "<|constrain|>json", " json"].map { .literal($0) })),
                .literal("<|message|>"),
            ]
            let headers = zip(names, rests).map { Shape.sequence([.literal($0)] + after + [$1]) }
            return [(marker: ConstraintGraph.Marker(" to=functions."), then: .anyOf(headers))]
        }
        let before = syntax.textBeforeName
        if case .text(let marker)? = (syntax.open + syntax.each).first, before.hasPrefix(marker) {
            return [(marker: ConstraintGraph.Marker(marker), then: rest(after: marker))]
        }
        if case .pythonic = syntax.body {
            return names.map { name in
                let text = before + name + afterName
                return (marker: ConstraintGraph.Marker(text, isFirst: true), then: rest(after: text))
            }
        }
        // An object without a marker is a call if the answer begins with it.
        var key = before
        while let last = key.last, last != "\"" { key.removeLast() }
        key.removeLast(min(1, key.count))
        while let last = key.last, last != "\"" { key.removeLast() }
        if key.isEmpty { key = before }
        return [(marker: ConstraintGraph.Marker(key, isFirst: true), then: rest(after: key))]
    }

    // MARK: Parts

    private func anyCall(_ head: String) -> Shape {
        .anyOf(zip(names, rests).map { Shape.sequence(literals(head + $0 + afterName) + [$1]) })
    }

    /// Text of the dialect in which the template's example identifier is replaced by any identifier.
    private func literals(_ text: String) -> [Shape] {
        Array(text.components(separatedBy: "call00001").map { [Shape.literal($0)] }.joined(separator: [identifier]))
    }

    private func calls(first: Shape) -> Shape {
        var parts = [first]
        if allowsSeveral, let next = nextHead {
            let separator: [Shape] =
                open.first == "[" || isList ? [.literal(","), gap] : texts(syntax.separator) + [gap]
            parts.append(.optional(.repeated(.sequence([gap] + separator + [anyCall(next)]))))
        }
        if open.first == "[" || isList { parts += [gap, .literal("]")] }
        parts += texts(syntax.close).flatMap { [gap, $0] }
        return .sequence(parts)
    }

    private var isList: Bool { if case .pythonic = syntax.body { true } else { false } }

    /// Text before the name in the second and later calls; `nil` if unknown.
    private var nextHead: String? {
        let before = syntax.textBeforeName
        if isList { return "" }
        if open.first == "[" {
            return before.range(of: "[{").map { String(before[before.index(after: $0.lowerBound)...]) }
        }
        if case .text(let text)? = syntax.each.first {
            return before.range(of: text, options: .backwards).map { String(before[$0.lowerBound...]) }
        }
        if case .object = syntax.body, !syntax.separator.isEmpty { return before }
        return nil
    }

    private func texts(_ pieces: [CallSyntax.Element]) -> [Shape] { pieces.compactMap(\.literal) }

    /// The rest of a header after the name, from its first identifier or number on.
    private static func headerEnd(_ syntax: CallSyntax, _ compile: AnswerShape.Compile) throws -> [Shape] {
        guard case .header(let pieces, _) = syntax.body,
            syntax.beforeName.isEmpty || pieces.drop(while: { $0 != .name }).contains(.id)
        else { return [] }
        return try pieces.drop { $0 != .name }.dropFirst().drop { $0.literal != nil }.map { piece in
            switch piece {
            case .text(let text): .literal(text)
            case .number: .constraint(try compile(.regex("[0-9]{1,3}")))
            case .id, .name: .constraint(try compile(.regex("[a-zA-Z0-9_.:-]{1,64}")))
            }
        }
    }

    /// The text that ends a call after its arguments.
    private static func end(
        _ syntax: CallSyntax, _ open: [Character], _ gap: Shape, _ compile: AnswerShape.Compile
    ) throws -> Shape {
        var parts: [Shape] = []
        var braces = open.filter { $0 == "{" }.count
        if case .object(let keys) = syntax.body {
            if let id = keys.id, braces == 1, !syntax.textBeforeName.contains("\"\(id)\"") {
                parts.append(.optional(.constraint(try compile(.regex(", ?\"\(id)\": ?\"[a-zA-Z0-9_-]{1,64}\"")))))
            }
            while braces > 0 {
                parts += [gap, .literal("}")]
                braces -= 1
            }
        }
        parts += syntax.eachClose.compactMap(\.literal).flatMap { [gap, $0] }
        return .sequence(parts)
    }

    /// Brackets that a text opens and does not close, outside of strings.
    private static func openBrackets(_ text: String) -> [Character] {
        var (open, isInString) = ([Character](), false)
        for character in text {
            switch character {
            case "\"": isInString.toggle()
            case "{" where !isInString, "[" where !isInString: open.append(character)
            case "}" where !isInString, "]" where !isInString: _ = open.popLast()
            default: break
            }
        }
        return open
    }
}

extension CallSyntax.Element {
    fileprivate var literal: ConstraintGraph.Shape? {
        if case .text(let text) = self { .literal(text) } else { nil }
    }
}
