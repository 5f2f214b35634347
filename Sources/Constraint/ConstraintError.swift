/// Why a constraint was rejected, or could not be followed further.
public struct ConstraintError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Kind: String, Sendable {
        case schema = "JSON schema"
        case regex = "regular expression"
        case grammar
        case choice
        /// An accepted token is not allowed by the constraint.
        case token
        /// Following the text would exceed the budget of memory or time.
        case budget
    }

    public let kind: Kind
    /// For a schema the JSON pointer of the keyword (`#/properties/a/not`), for a grammar the rule and line.
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
