import SwiftSyntax
import SwiftSyntaxBuilder

/// Code for an enumeration. Its schema is a choice of strings, or if cases have associated values, an object with one
/// property, named as the case, that holds an object of the values.
struct EnumerationShape: GenerableShape {
    private struct Case {
        let identifier: String
        let values: [Value]
        /// The raw value in the source.
        let rawValue: ExprSyntax?

        var name: String { identifier.trimmingBackticks }
    }

    private struct Value {
        /// `nil` if the value has no label.
        let label: String?
        let type: TypeSyntax
        let index: Int

        var name: String { label ?? "_\(index)" }
    }

    let access: String
    private let options: GenerableOptions
    private let cases: [Case]
    /// Whether raw values are strings. These are generated, else the names of the cases.
    private let hasTexts: Bool

    init(_ enumeration: EnumDeclSyntax, _ options: GenerableOptions, access: String) throws {
        self.access = access
        self.options = options
        cases = enumeration.memberBlock.members.compactMap { $0.decl.as(EnumCaseDeclSyntax.self) }
            .flatMap(\.elements).map { element in
                let values = element.parameterClause?.parameters.enumerated().map { index, parameter in
                    let label = parameter.firstName?.text
                    return Value(label: label == "_" ? nil : label, type: parameter.type.trimmed, index: index)
                }
                return Case(
                    identifier: element.name.text, values: values ?? [], rawValue: element.rawValue?.value.trimmed)
            }
        let inherited = enumeration.inheritanceClause?.inheritedTypes.map(\.type.trimmedDescription) ?? []
        hasTexts = !Set(inherited).isDisjoint(with: ["String", "Swift.String"])
        guard !cases.isEmpty else { throw ExpansionError("@Generable: the enumeration has no cases.") }
    }

    private var hasValues: Bool { cases.contains { !$0.values.isEmpty } }

    var members: [DeclSyntax] {
        let schema: DeclSyntax = """
            \(raw: access)nonisolated static var generationSchema: FoundationModels.GenerationSchema {
                FoundationModels.GenerationSchema(type: Self.self\(raw: argument("description", options.description)), \(raw: choices))\(raw: options.naming)
            }
            """
        let content: DeclSyntax = """
            \(raw: access)nonisolated var generatedContent: FoundationModels.GeneratedContent {
                switch self {
                \(raw: cases.map(written).joined(separator: "\n"))
                }
            }
            """
        return [schema, content]
    }

    /// The strings generated for the cases, if none has associated values.
    private var texts: String {
        cases.map(text).joined(separator: ", ")
    }

    private func text(_ item: Case) -> String {
        (hasTexts ? item.rawValue?.description : nil) ?? "\"\(item.name)\""
    }

    private var choices: String {
        guard hasValues else { return "anyOf: [\(texts)]" }
        let list = cases.map { item in
            let properties = item.values.map {
                "FoundationModels.GenerationSchema.Property(name: \"\($0.name)\", type: \($0.type.longName).self)"
            }
            return "(name: \"\(item.name)\", properties: [\(properties.joined(separator: ", "))])"
        }
        return "cases: [\(list.joined(separator: ", "))]"
    }

    /// A case of the switch in `generatedContent`.
    private func written(_ item: Case) -> String {
        guard hasValues else { return "case .\(item.identifier): FoundationModels.GeneratedContent(\(text(item)))" }
        let names = item.values.map { "value\($0.index)" }
        let pattern = names.isEmpty ? "" : "(\(names.map { "let \($0)" }.joined(separator: ", ")))"
        let values = item.values.map { value in
            let written = "value\(value.index)"
            return "(\"\(value.name)\", \(written))"
        }
        return """
            case .\(item.identifier)\(pattern):
                FoundationModels.GeneratedContent(structure: [("\(item.name)", FoundationModels.GeneratedContent(structure: \
            [\(values.joined(separator: ", "))]))])
            """
    }

    var initialization: String {
        if hasTexts, !hasValues {
            return """
                let text = try content.choice([\(texts)])
                guard let value = Self(rawValue: text) else { throw content.unknownChoice(text) }
                self = value
                """
        }
        let names = cases.map { "\"\($0.name)\"" }.joined(separator: ", ")
        let branches = cases.map { item in
            let values = item.values.map { value in
                "\(value.label.map { "\($0): " } ?? "")try values.value(forProperty: \"\(value.name)\")"
            }
            let arguments = values.isEmpty ? "" : "(\(values.joined(separator: ", ")))"
            return "case \"\(item.name)\": self = .\(item.identifier)\(arguments)"
        }.joined(separator: "\n")
        let usesValues =
            hasValues
            ? "let (name, values) = try content.choice(of: [\(names)])" : "let name = try content.choice([\(names)])"
        return """
            \(usesValues)
            switch name {
            \(branches)
            default: throw content.unknownChoice(name)
            }
            """
    }
}
