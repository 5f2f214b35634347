import SwiftSyntax
import SwiftSyntaxMacros

/// `@Guide` marks a property; `@Generable` on the type reads it.
struct GuideMacro: PeerMacro {
    static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard let variable = declaration.as(VariableDeclSyntax.self), variable.isStored else {
            throw ExpansionError("@Guide belongs to a stored property.")
        }
        return []
    }
}

/// The arguments of a `@Guide`: `@Guide(description: "…", .range(1...5))`.
struct Guide {
    var description: ExprSyntax?
    var guides: [ExprSyntax] = []

    init(of variable: VariableDeclSyntax) {
        for case .attribute(let attribute) in variable.attributes
        where ["Guide", "FoundationModels.Guide"].contains(attribute.attributeName.trimmedDescription) {
            guard case .argumentList(let arguments) = attribute.arguments else { continue }
            for argument in arguments {
                if argument.label?.text == "description" {
                    description = argument.expression
                } else {
                    guides.append(argument.expression)
                }
            }
        }
    }
}

extension VariableDeclSyntax {
    /// Whether it is a stored instance property.
    var isStored: Bool {
        guard !modifiers.contains(where: { ["static", "class", "lazy"].contains($0.name.text) }) else { return false }
        return bindings.allSatisfy { binding in
            switch binding.accessorBlock?.accessors {
            case nil: true
            case .getter: false
            case .accessors(let list):
                list.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
            default: false
            }
        }
    }
}
