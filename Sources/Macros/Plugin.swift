@_spi(PluginMessage) import SwiftCompilerPluginMessageHandling
import SwiftSyntaxMacros

/// The program that the compiler asks to expand LocalLLM's macros.
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
        default: throw ExpansionError("There is no macro '\(typeName)' in '\(moduleName)'.")
        }
    }
}

/// A mistake in the use of a macro; the compiler shows it at the attribute.
struct ExpansionError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
