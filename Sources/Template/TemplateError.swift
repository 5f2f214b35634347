/// Why a chat template could not be parsed or rendered.
public struct TemplateError: Error, Equatable, Sendable, CustomStringConvertible {
    public enum Kind: Sendable {
        /// The source is not a template, or uses a tag that chat templates cannot have.
        case syntax
        /// Rendering failed: a wrong type, an undefined value used, an argument missing.
        case runtime
        /// The template refused the conversation with `raise_exception`; `message` is the template's own text.
        case raised
        /// The template asked for something that the sandbox forbids.
        case security
        /// A bound of ``ChatTemplate/Limits`` was reached.
        case limit
    }

    public var kind: Kind
    /// 1 is the template's first line.
    public var line: Int
    public var message: String

    public init(_ kind: Kind, line: Int, _ message: String) {
        self.kind = kind
        self.line = line
        self.message = message
    }

    public var description: String { "chat template, line \(line): \(message)" }
}
