import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@SessionPropertyEntry var count = 0`: a key with the default value, and accessors that look it up.
struct SessionPropertyEntryMacro: AccessorMacro, PeerMacro {
    static func expansion(
        of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
        let entry = try Entry(declaration)
        return [
            "get { self[\(raw: entry.key).self] }",
            "set { self[\(raw: entry.key).self] = newValue }",
        ]
    }

    static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        let entry = try Entry(declaration)
        return [
            """
            private enum \(raw: entry.key): FoundationModels.SessionPropertyKey {
                @FoundationModels.__SessionPropertyEntryDefaultValue
                static var defaultValue\(raw: entry.type) = \(raw: entry.value)
            }
            """
        ]
    }

    private struct Entry {
        let key: String
        /// Type annotation, if there is one.
        let type: String
        let value: String

        init(_ declaration: some DeclSyntaxProtocol) throws {
            guard let variable = declaration.as(VariableDeclSyntax.self), variable.bindingSpecifier.text == "var",
                variable.bindings.count == 1, let binding = variable.bindings.first,
                let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
            else { throw ExpansionError("@SessionPropertyEntry belongs to a single variable.") }
            key = "__Key_\(name.trimmingBackticks)"
            type = binding.typeAnnotation.map { ": \($0.type.trimmedDescription)" } ?? ""
            let isOptional = binding.typeAnnotation?.type.is(OptionalTypeSyntax.self) == true
            guard let value = binding.initializer?.value.trimmedDescription ?? (isOptional ? "nil" : nil) else {
                throw ExpansionError("@SessionPropertyEntry: the property '\(name)' must have an initial value.")
            }
            self.value = value
        }
    }
}

/// Computes the default value of a key each time, so that it need not be shared.
struct SessionPropertyEntryDefaultValueMacro: AccessorMacro {
    static func expansion(
        of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
        guard let value = declaration.as(VariableDeclSyntax.self)?.bindings.first?.initializer?.value.trimmed else {
            throw ExpansionError("A session property must have an initial value.")
        }
        return ["get { \(value) }"]
    }
}
