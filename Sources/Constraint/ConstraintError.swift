/// Why a constraint was rejected, or could not be followed further.
public struct ConstraintError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong with the source.
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
        self.message = Self.cut(message)
    }

    /// Longer names and messages are cut: they quote patterns and rules, which may have megabytes.
    private static let longest = 400

    /// Leaves out the middle of a long text.
    private static func cut(_ text: String) -> String {
        guard text.utf8.count > longest else { return text }
        return "\(text.prefix(longest / 2))…\(text.suffix(longest / 2))"
    }

    public var description: String {
        path.isEmpty ? "\(kind.rawValue): \(message)" : "\(kind.rawValue): \(Self.cut(path)): \(message)"
    }
}
