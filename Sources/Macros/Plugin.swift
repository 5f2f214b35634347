@_spi(PluginMessage) import SwiftCompilerPluginMessageHandling
import SwiftSyntaxMacros

/// The compiler plugin that expands FoundationModels' macros.
@main
struct Plugin: PluginProvider {
    static func main() throws {
        let listener = CompilerPluginMessageListener(connection: try StandardIOMessageConnection(), provider: Plugin())
        try listener.main()
    }

    func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type {
        switch typeName {
        case "GenerableMacro": GenerableMacro.self
        case "GuideMacro": GuideMacro.self
        case "SessionPropertyEntryMacro": SessionPropertyEntryMacro.self
        case "SessionPropertyEntryDefaultValueMacro": SessionPropertyEntryDefaultValueMacro.self
        default: throw ExpansionError("There is no macro '\(typeName)' in '\(moduleName)'.")
        }
    }
}

/// An error in the use of a macro, which the compiler shows at the attribute.
struct ExpansionError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
