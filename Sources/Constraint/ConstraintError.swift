/// Why a constraint was refused, or could not be followed any further.
public struct ConstraintError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Kind: String, Sendable {
        case schema = "JSON schema"
        case regex = "regular expression"
        case grammar
        case choice
        /// A token was accepted that the constraint does not allow.
        case token
        /// Following the text would take more memory or time than is granted.
        case budget
    }

    public let kind: Kind
    /// Where: for a schema the JSON pointer of the keyword (`#/properties/a/not`), for a grammar the rule and line.
    public let path: String
    public let message: String

    init(_ kind: Kind, _ path: String, _ message: String) {
        self.kind = kind
        self.path = path
        self.message = message
    }

    public var description: String {
        path.isEmpty ? "\(kind.rawValue): \(message)" : "\(kind.rawValue): \(path): \(message)"
    }
}
