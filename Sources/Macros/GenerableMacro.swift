import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Generable`: adds the type's schema, and conversions from and to `GeneratedContent`.
///
/// Reads the stored properties of structures with their `@Guide`s, and the cases of enumerations.
struct GenerableMacro: MemberMacro, ExtensionMacro {
    static func expansion(
        of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax, conformingTo: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        try shape(of: declaration, node).members
    }

    static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        let shape = try shape(of: declaration, node)
        let conformance = protocols.isEmpty ? "" : ": FoundationModels.Generable"
        let declaration: DeclSyntax = """
            extension \(type.trimmed)\(raw: conformance) {
                \(raw: shape.access)nonisolated init(_ content: FoundationModels.GeneratedContent) throws {
                    \(raw: shape.initialization)
                }
            }
            """
        return declaration.as(ExtensionDeclSyntax.self).map { [$0] } ?? []
    }

    private static func shape(
        of declaration: some DeclGroupSyntax, _ node: AttributeSyntax
    ) throws -> any GenerableShape {
        let arguments = node.arguments?.as(LabeledExprListSyntax.self)
        func given(_ label: String) -> ExprSyntax? { arguments?.first { $0.label?.text == label }?.expression }
        let options = GenerableOptions(
            name: given("name"), description: given("description"),
            explicitNil: given("representNilExplicitlyInGeneratedContent"))
        let access =
            declaration.modifiers.first { ["public", "package", "open"].contains($0.name.text) }
            .map { "\($0.name.text == "open" ? "public" : $0.name.text) " } ?? ""
        if let structure = declaration.as(StructDeclSyntax.self) {
            return try StructureShape(structure, options, access: access)
        }
        if let enumeration = declaration.as(EnumDeclSyntax.self) {
            return try EnumerationShape(enumeration, options, access: access)
        }
        throw ExpansionError("@Generable belongs to a structure or an enumeration.")
    }
}

/// The arguments of a `@Generable`.
struct GenerableOptions {
    let name, description, explicitNil: ExprSyntax?

    /// Sets the name of a schema, after its expression.
    var naming: String { name.map { ".named(\($0.trimmedDescription))" } ?? "" }
}

/// The generated code for a type.
protocol GenerableShape {
    /// Access modifier with a trailing space, as "public ", for the protocol's members.
    var access: String { get }
    var members: [DeclSyntax] { get }
    /// The body of `init(_ content: GeneratedContent) throws`.
    var initialization: String { get }
}

/// An optional argument of a call, preceded by a comma.
func argument(_ label: String, _ expression: ExprSyntax?) -> String {
    expression.map { ", \(label): \($0.trimmedDescription)" } ?? ""
}
