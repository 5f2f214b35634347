import SwiftSyntax

/// A structure: an object with a property for each stored one.
struct StructureShape: GenerableShape {
    private struct Property {
        /// As the source writes it, with backticks if it needs them.
        let identifier: String
        let type: TypeSyntax
        let guide: Guide

        var name: String { identifier.trimmingBackticks }
    }

    let access: String
    private let description: ExprSyntax?
    private var properties: [Property] = []

    init(_ structure: StructDeclSyntax, description: ExprSyntax?, access: String) throws {
        self.access = access
        self.description = description
        for member in structure.memberBlock.members {
            guard let variable = member.decl.as(VariableDeclSyntax.self), variable.isStored else { continue }
            let guide = Guide(of: variable)
            // In `var a, b: Int` the type stands with the last.
            var type: TypeSyntax?
            var found: [Property] = []
            for binding in variable.bindings.reversed() {
                type = binding.typeAnnotation?.type.trimmed ?? type
                guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text else {
                    throw ExpansionError("@Generable: a stored property must have a simple name.")
                }
                guard let type else { throw ExpansionError("@Generable: the property '\(name)' must state its type.") }
                if variable.bindingSpecifier.text == "let", binding.initializer != nil { continue }
                found.append(Property(identifier: name, type: type, guide: guide))
            }
            properties += found.reversed()
        }
    }

    var members: [DeclSyntax] {
        let schema = properties.map { property in
            let guides = property.guide.guides.map(\.trimmedDescription).joined(separator: ", ")
            return """
                LocalLLM.GenerationSchema.Property(name: "\(property.name)"\
                \(argument("description", property.guide.description)), type: \(property.type.longName).self\
                \(guides.isEmpty ? "" : ", guides: [\(guides)]"))
                """
        }.joined(separator: ",\n")
        let values = properties.map {
            "properties.append((\"\($0.name)\", \($0.type.isOptional ? "LocalLLM.GeneratedContent(optional: self.\($0.identifier))" : "self.\($0.identifier)")))"
        }.joined(separator: "\n")
        let partial = properties.map { "\(access)var \($0.identifier): \($0.type.longName).PartiallyGenerated?" }
            .joined(separator: "\n")
        let partialValues = properties.map { "self.\($0.identifier) = try content.value(forProperty: \"\($0.name)\")" }
            .joined(separator: "\n")
        return [
            """
            \(raw: access)nonisolated static var generationSchema: LocalLLM.GenerationSchema {
                LocalLLM.GenerationSchema(
                    type: Self.self\(raw: argument("description", description)),
                    properties: [\(raw: schema)])
            }
            """,
            """
            \(raw: access)nonisolated var generatedContent: LocalLLM.GeneratedContent {
                \(raw: properties.isEmpty ? "let" : "var") properties: [(String, any LocalLLM.ConvertibleToGeneratedContent)] = []
                \(raw: values)
                return LocalLLM.GeneratedContent(properties: properties, uniquingKeysWith: { _, second in second })
            }
            """,
            """
            \(raw: access)nonisolated struct PartiallyGenerated: Identifiable, LocalLLM.ConvertibleFromGeneratedContent {
                \(raw: access)var id: LocalLLM.GenerationID
                \(raw: partial)
                \(raw: access)nonisolated init(_ content: LocalLLM.GeneratedContent) throws {
                    self.id = content.id ?? LocalLLM.GenerationID()
                    \(raw: partialValues)
                }
            }
            """,
        ]
    }

    var initialization: String {
        properties.map { "self.\($0.identifier) = try content.value(forProperty: \"\($0.name)\")" }
            .joined(separator: "\n")
    }
}

extension TypeSyntax {
    var isOptional: Bool {
        self.is(OptionalTypeSyntax.self) || self.as(IdentifierTypeSyntax.self)?.name.text == "Optional"
    }

    /// `Array<Optional<T>>` for `[T?]`: the short forms have no members.
    var longName: String {
        if let optional = self.as(OptionalTypeSyntax.self) { return "Optional<\(optional.wrappedType.longName)>" }
        if let array = self.as(ArrayTypeSyntax.self) { return "Array<\(array.element.longName)>" }
        return trimmedDescription
    }
}

extension String {
    var trimmingBackticks: String { hasPrefix("`") && hasSuffix("`") ? String(dropFirst().dropLast()) : self }
}
