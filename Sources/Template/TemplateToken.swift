struct TemplateToken: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        case text
        case outputBegin
        case outputEnd
        case blockBegin
        case blockEnd
        case name
        case string
        case integer
        case float
        case symbol
        case end
    }

    let kind: Kind
    /// The value of text and strings; names, numbers (without underscores) and symbols as written.
    let text: String
    let line: Int

    func isName(_ name: String) -> Bool { kind == .name && text == name }
    func isSymbol(_ symbol: String) -> Bool { kind == .symbol && text == symbol }

    /// A description for error messages.
    var described: String {
        switch kind {
        case .text: "template text"
        case .outputBegin: "'{{'"
        case .outputEnd: "'}}'"
        case .blockBegin: "'{%'"
        case .blockEnd: "'%}'"
        case .end: "the end of the template"
        case .string: "a string"
        case .name, .integer, .float, .symbol: "'\(text)'"
        }
    }
}
