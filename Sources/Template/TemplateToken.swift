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
    /// Text and strings: their value. Names, numbers (without underscores) and symbols: as written.
    let text: String
    let line: Int

    func isName(_ name: String) -> Bool { kind == .name && text == name }
    func isSymbol(_ symbol: String) -> Bool { kind == .symbol && text == symbol }

    /// How an error message calls it.
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
