/// Why a chat template could not be parsed or rendered.
public struct TemplateError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong with the template, or with its values.
    public enum Kind: Sendable {
        /// The source is not a valid template, or uses a tag that chat templates do not support.
        case syntax
        /// Rendering failed: a wrong type, use of an undefined value, a missing argument.
        case runtime
        /// The template rejected the conversation with `raise_exception`; `message` is the template's text.
        case raised
        /// The template used something that the sandbox forbids.
        case security
        /// A limit of ``ChatTemplate/Limits`` was reached.
        case limit
    }

    public var kind: Kind
    /// Line number, counted from 1.
    public var line: Int
    public var message: String

    public init(_ kind: Kind, line: Int, _ message: String) {
        self.kind = kind
        self.line = line
        self.message = message
    }

    public var description: String { "chat template, line \(line): \(message)" }
}
