import SwiftSyntax
import SwiftSyntaxBuilder

/// Code for a structure. Its schema is an object with a property for each stored one. Properties of type `GenerationID`
/// are not generated; they get the content's ID.
struct StructureShape: GenerableShape {
    private struct Property {
        /// The identifier in the source, with backticks if needed.
        let identifier: String
        let type: TypeSyntax
        let guide: Guide

        var name: String { identifier.trimmingBackticks }
        var isID: Bool { ["GenerationID", "FoundationModels.GenerationID"].contains(type.trimmedDescription) }

        /// Reads its value from `content`.
        var assignment: String {
            isID
                ? "self.\(identifier) = content.id ?? FoundationModels.GenerationID()"
                : "self.\(identifier) = try content.value(forProperty: \"\(name)\")"
        }
    }

    let access: String
    private let options: GenerableOptions
    private var properties: [Property] = []

    init(_ structure: StructDeclSyntax, _ options: GenerableOptions, access: String) throws {
        self.access = access
        self.options = options
        for member in structure.memberBlock.members {
            guard let variable = member.decl.as(VariableDeclSyntax.self), variable.isStored else { continue }
            let guide = Guide(of: variable)
            // In `var a, b: Int` only the last binding has the type.
            var type: TypeSyntax?
            var found: [Property] = []
            for binding in variable.bindings.reversed() {
                type = binding.typeAnnotation?.type.trimmed ?? type
                guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text else {
                    throw ExpansionError("@Generable: a stored property must have a simple name.")
                }
                // An initialized constant takes no value from the content.
                if variable.bindingSpecifier.text == "let", binding.initializer != nil { continue }
                guard let type else { throw ExpansionError("@Generable: the property '\(name)' must state its type.") }
                found.append(Property(identifier: name, type: type, guide: guide))
            }
            properties += found.reversed()
        }
    }

    var members: [DeclSyntax] { [schema, content, partial] }

    private var explicitNil: String { argument("representNilExplicitlyInGeneratedContent", options.explicitNil) }

    private var generated: [Property] { properties.filter { !$0.isID } }

    private var schema: DeclSyntax {
        let list = generated.map { property in
            let guides = property.guide.guides.map(\.trimmedDescription).joined(separator: ", ")
            return """
                FoundationModels.GenerationSchema.Property(name: "\(property.name)"\
                \(argument("description", property.guide.description)), type: \(property.type.longName).self\
                \(guides.isEmpty ? "" : ", guides: [\(guides)]"))
                """
        }.joined(separator: ",\n")
        return """
            \(raw: access)nonisolated static var generationSchema: FoundationModels.GenerationSchema {
                FoundationModels.GenerationSchema(
                    type: Self.self\(raw: argument("description", options.description))\(raw: explicitNil),
                    properties: [\(raw: list)])\(raw: options.naming)
            }
            """
    }

    private var content: DeclSyntax {
        let list = generated.map { "(\"\($0.name)\", self.\($0.identifier))" }.joined(separator: ", ")
        return """
            \(raw: access)nonisolated var generatedContent: FoundationModels.GeneratedContent {
                FoundationModels.GeneratedContent(structure: [\(raw: list)]\(raw: explicitNil))
            }
            """
    }

    // Swift 6.0 has no default isolation that types would have to opt out of, and refuses the modifier.
    #if compiler(>=6.1)
        private static let isolation = "nonisolated "
    #else
        private static let isolation = ""
    #endif

    /// All properties optional, and an ID for lists in user interfaces unless the structure has a property `id`.
    private var partial: DeclSyntax {
        let hasID = properties.contains { $0.name == "id" }
        let declarations = properties.map { property in
            let type = property.isID ? "FoundationModels.GenerationID" : "\(property.type.longName).PartiallyGenerated?"
            return "\(access)var \(property.identifier): \(type)"
        }
        let assignments = properties.map(\.assignment)
        let id = "self.id = content.id ?? FoundationModels.GenerationID()"
        return """
            \(raw: access)\(raw: Self.isolation)struct PartiallyGenerated: Identifiable, FoundationModels.ConvertibleFromGeneratedContent {
                \(raw: ((hasID ? [] : ["\(access)var id: FoundationModels.GenerationID"]) + declarations).joined(separator: "\n"))
                \(raw: access)nonisolated init(_ content: FoundationModels.GeneratedContent) throws {
                    \(raw: ((hasID ? [] : [id]) + assignments).joined(separator: "\n"))
                }
            }
            """
    }

    var initialization: String { properties.map(\.assignment).joined(separator: "\n") }
}

extension TypeSyntax {
    /// `Array<Optional<T>>` for `[T?]`, since the short forms have no members.
    var longName: String {
        if let optional = self.as(OptionalTypeSyntax.self) { return "Optional<\(optional.wrappedType.longName)>" }
        if let array = self.as(ArrayTypeSyntax.self) { return "Array<\(array.element.longName)>" }
        return trimmedDescription
    }
}

extension String {
    var trimmingBackticks: String { hasPrefix("`") && hasSuffix("`") ? String(dropFirst().dropLast()) : self }
}
