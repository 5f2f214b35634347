/// Parses grammars in Lark's format, the subset that llguidance reads: rules and terminals made of strings, regular
/// expressions, ranges, groups, `[optional]` parts and the repetitions `*`, `+`, `?`, `~n`, `~n..m`; `%import common.NAME`
/// and `%ignore`. The text must match the rule `start`.
///
/// A text matches if it can be divided into terminals in any way: none has to be the longest possible, as for Lark's
/// lexer. Priorities, aliases and the prefixes `?` and `!` do not change which texts match.
struct LarkReader {
    private indirect enum Expression {
        case text([UInt32], ignoresCase: Bool)
        case pattern(String)
        case range(ClosedRange<UInt32>)
        case name(String)
        case sequence([Expression])
        case choice([Expression])
        /// No maximum: unlimited.
        case repetition(Expression, minimum: Int, maximum: Int?)
    }

    private let source: [UInt32]
    private var index = 0
    private var definitions: [String: Expression] = [:]
    private var names: [String] = []
    private var ignored: [Expression] = []

    private let terms: RegexTerms
    private var terminals: [String: RegexTerms.ID] = [:]
    /// The terminal that is being compiled, and those that refer to it.
    private var open: [String] = []
    /// Text that is ignored after each terminal.
    private var gap: [Grammar.Symbol] = []
    /// The root is a rule without a name, which begins with ignored text.
    private var builder = GrammarBuilder(root: "")

    static func read(
        _ text: String, in notation: Constraint.TextNotation = .plain
    ) throws(ConstraintError) -> Grammar {
        guard text.utf8.count <= GBNFReader.maximumLength else {
            throw ConstraintError(
                .grammar, "", "\(text.utf8.count) bytes are more than \(GBNFReader.maximumLength)")
        }
        var reader = LarkReader(source: text.unicodeScalars.map(\.value), isInJSON: notation != .plain)
        try reader.statements()
        return try reader.grammar(notation)
    }

    private init(source: [UInt32], isInJSON: Bool) {
        self.source = source
        terms = RegexTerms(steps: 10_000_000, isInJSON: isInJSON)
    }

    private func error(_ message: String) -> ConstraintError {
        let line = source[..<min(index, source.count)].count { $0 == 10 } + 1
        return ConstraintError(.grammar, "line \(line)", message)
    }

    // MARK: Characters

    private var next: UInt32? { index < source.count ? source[index] : nil }

    private func isNext(_ text: StaticString) -> Bool {
        let bytes = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return source[min(index, source.count)...].starts(with: bytes.map { UInt32($0) })
    }

    private mutating func take(_ text: StaticString) -> Bool {
        guard isNext(text) else { return false }
        index += text.utf8CodeUnitCount
        return true
    }

    private mutating func skipSpace(lines: Bool) {
        while let character = next {
            if character == 35 || isNext("//") {
                while let character = next, character != 10 { index += 1 }
            } else if character == 32 || character == 9 || character == 13 || (lines && character == 10) {
                index += 1
            } else {
                return
            }
        }
    }

    private mutating func name() throws(ConstraintError) -> String {
        let start = index
        while let character = next, RegexParser.word.contains(character) { index += 1 }
        guard index > start else { throw error("a name is expected") }
        return String(String.UnicodeScalarView(source[start..<index].compactMap(Unicode.Scalar.init)))
    }

    private static func isTerminal(_ name: String) -> Bool {
        name.unicodeScalars.first { $0 != "_" }.map { ("A"..."Z").contains($0) } ?? false
    }

    // MARK: Statements

    private mutating func statements() throws(ConstraintError) {
        skipSpace(lines: true)
        while next != nil {
            if take("%import") {
                try imports()
            } else if take("%ignore") {
                ignored.append(try alternatives(depth: 0))
            } else if take("%") {
                throw error("the directive '%\(try name())' is not supported")
            } else {
                try definition()
            }
            skipSpace(lines: false)
            guard next == nil || next == 10 else { throw error("a new line is expected") }
            skipSpace(lines: true)
        }
    }

    private mutating func definition() throws(ConstraintError) {
        if next == 63 || next == 33 { index += 1 }
        let name = try name()
        if isNext("{") { throw error("templates are not supported") }
        if isNext("[") { throw error("attributes of rules are not supported") }
        if take(".") { _ = try number() }
        skipSpace(lines: false)
        guard take(":") else { throw error("':' is expected after the name '\(name)'") }
        try define(name, try alternatives(depth: 0))
    }

    private mutating func define(_ name: String, _ expression: Expression) throws(ConstraintError) {
        guard definitions.updateValue(expression, forKey: name) == nil else {
            throw error("'\(name)' is defined twice")
        }
        names.append(name)
    }

    /// Reads `common.NAME`, `common.NAME -> ALIAS` or `common (NAME, …)`.
    private mutating func imports() throws(ConstraintError) {
        skipSpace(lines: false)
        guard take("common") else { throw error("only terminals of 'common' can be imported") }
        skipSpace(lines: false)
        if take("(") {
            repeat {
                skipSpace(lines: true)
                let name = try name()
                try define(name, try Self.common(name, error))
                skipSpace(lines: true)
            } while take(",")
            guard take(")") else { throw error("')' is expected") }
            return
        }
        guard take(".") else { throw error("'.' is expected after 'common'") }
        let name = try name()
        let expression = try Self.common(name, error)
        skipSpace(lines: false)
        if take("->") {
            skipSpace(lines: false)
            try define(try self.name(), expression)
        } else {
            try define(name, expression)
        }
    }

    private static func common(
        _ name: String, _ error: (String) -> ConstraintError
    ) throws(ConstraintError) -> Expression {
        guard let pattern = commonTerminals[name] else {
            throw error("'common' has no terminal '\(name)'")
        }
        return .pattern(pattern)
    }

    /// The terminals of Lark's library `common`.
    private static let commonTerminals: [String: String] = {
        let (integer, exponent) = ("[0-9]+", "[eE][+-]?[0-9]+")
        let float = "(?:\(integer)\(exponent)|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:\(exponent))?)"
        return [
            "DIGIT": "[0-9]", "HEXDIGIT": "[0-9a-fA-F]", "INT": integer, "SIGNED_INT": "[+-]?\(integer)",
            "DECIMAL": "[0-9]+\\.[0-9]*|\\.[0-9]+", "FLOAT": float, "SIGNED_FLOAT": "[+-]?\(float)",
            "NUMBER": "\(float)|\(integer)", "SIGNED_NUMBER": "[+-]?(?:\(float)|\(integer))",
            "ESCAPED_STRING": #""(?:[^"\\\n]|\\[^\n])*""#, "LCASE_LETTER": "[a-z]",
            "UCASE_LETTER": "[A-Z]",
            "LETTER": "[a-zA-Z]", "WORD": "[a-zA-Z]+", "CNAME": "[_a-zA-Z][_a-zA-Z0-9]*",
            "WS_INLINE": "[ \\t]+",
            "WS": "[ \\t\\f\\r\\n]+", "CR": "\\r", "LF": "\\n", "NEWLINE": "(?:\\r?\\n)+",
            "SH_COMMENT": "#[^\\n]*",
            "CPP_COMMENT": "//[^\\n]*", "C_COMMENT": "/\\*(?:[^*]|\\*+[^*/])*\\*+/",
            "SQL_COMMENT": "--[^\\n]*",
        ]
    }()

    // MARK: Expressions

    /// At depth 0 the expression ends with its line, unless the next line begins with `|`.
    private mutating func alternatives(depth: Int) throws(ConstraintError) -> Expression {
        guard depth <= GBNFReader.maximumDepth else {
            throw error("groups are nested more than \(GBNFReader.maximumDepth) deep")
        }
        var result: [Expression] = []
        repeat {
            result.append(try sequence(depth: depth))
            let start = index
            skipSpace(lines: true)
            if next != 124, depth == 0 { index = start }
        } while take("|")
        return result.count == 1 ? result[0] : .choice(result)
    }

    private mutating func sequence(depth: Int) throws(ConstraintError) -> Expression {
        var result: [Expression] = []
        skipSpace(lines: depth > 0)
        while let item = try item(depth: depth) {
            result.append(try repeated(item))
            skipSpace(lines: depth > 0)
        }
        if take("->") {
            skipSpace(lines: depth > 0)
            _ = try name()
        }
        return result.count == 1 ? result[0] : .sequence(result)
    }

    /// - Returns: `nil` if no item begins here.
    private mutating func item(depth: Int) throws(ConstraintError) -> Expression? {
        guard let character = next else { return nil }
        switch character {
        case 34: return try string()
        case 47: return try pattern()
        case 40, 91:  // ( [
            index += 1
            let inner = try alternatives(depth: depth + 1)
            guard take(character == 40 ? ")" : "]") else {
                throw error(character == 40 ? "')' is expected" : "']' is expected")
            }
            return character == 40 ? inner : .repetition(inner, minimum: 0, maximum: 1)
        case 37: throw error("directives inside a rule are not supported")  // %
        case 60: throw error("special tokens (<…>) are not supported")
        case 64: throw error("references to other grammars (@…) are not supported")
        default:
            guard RegexParser.word.contains(character) else { return nil }
            let name = try name()
            if isNext("{") { throw error("templates are not supported") }
            return .name(name)
        }
    }

    private mutating func string() throws(ConstraintError) -> Expression {
        let first = try characters()
        let start = index
        skipSpace(lines: false)
        guard take("..") else {
            index = start
            return .text(first, ignoresCase: take("i"))
        }
        skipSpace(lines: false)
        guard next == 34 else { throw error("a string is expected after '..'") }
        let last = try characters()
        guard first.count == 1, last.count == 1, first[0] <= last[0] else {
            throw error("a range is two characters in order")
        }
        return .range(first[0]...last[0])
    }

    private mutating func characters() throws(ConstraintError) -> [UInt32] {
        index += 1
        var result: [UInt32] = []
        while !take("\"") {
            guard let character = next, character != 10 else { throw error("a string does not end") }
            index += 1
            guard character == 92 else {
                result.append(character)
                continue
            }
            guard let escaped = next else { throw error("a string does not end") }
            index += 1
            switch escaped {
            case 110: result.append(10)
            case 114: result.append(13)
            case 116: result.append(9)
            case 102: result.append(12)
            case 118: result.append(11)
            case 120: result.append(try hexadecimal(2))
            case 117: result.append(try hexadecimal(4))
            case 85: result.append(try hexadecimal(8))
            case 34, 39, 92, 47: result.append(escaped)
            default: throw error("an unknown escape in a string")
            }
        }
        return result
    }

    private mutating func hexadecimal(_ digits: Int) throws(ConstraintError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<digits {
            guard let character = next, let byte = UInt8(exactly: character),
                let digit = StringSyntax.hexadecimal(byte)
            else { throw error("\(digits) hexadecimal digits are expected") }
            guard value < 0x0100_0000 else { throw error("a character beyond U+10FFFF") }
            value = value << 4 | UInt32(digit)
            index += 1
        }
        guard Unicode.Scalar(value) != nil else { throw error("an escape that is not a character") }
        return value
    }

    private mutating func pattern() throws(ConstraintError) -> Expression {
        index += 1
        var text: [UInt32] = []
        while !take("/") {
            guard let character = next, character != 10 else {
                throw error("a regular expression does not end")
            }
            let count = character == 92 && index + 1 < source.count && source[index + 1] != 10 ? 2 : 1
            text += source[index..<(index + count)]
            index += count
        }
        if let flag = next, (97...122).contains(flag) {
            throw error("flags of regular expressions are not supported")
        }
        return .pattern(String(String.UnicodeScalarView(text.compactMap(Unicode.Scalar.init))))
    }

    private mutating func repeated(_ item: Expression) throws(ConstraintError) -> Expression {
        var bounds: (Int, Int?)
        if take("*") {
            bounds = (0, nil)
        } else if take("+") {
            bounds = (1, nil)
        } else if take("?") {
            bounds = (0, 1)
        } else {
            let start = index
            skipSpace(lines: false)
            guard take("~") else {
                index = start
                return item
            }
            skipSpace(lines: false)
            let minimum = try number()
            bounds = (minimum, take("..") ? try number() : minimum)
            guard let maximum = bounds.1, maximum >= minimum else {
                throw error("the bounds of a repetition are out of order")
            }
        }
        return .repetition(item, minimum: bounds.0, maximum: bounds.1)
    }

    private mutating func number() throws(ConstraintError) -> Int {
        var value: Int?
        while let digit = next, digit >= 48, digit <= 57 {
            let grown = (value ?? 0) * 10 + Int(digit - 48)
            guard grown <= GBNFReader.maximumCount else {
                throw error("a number of more than \(GBNFReader.maximumCount)")
            }
            value = grown
            index += 1
        }
        guard let value else { throw error("a number is expected") }
        return value
    }

    // MARK: Compiling

    private mutating func grammar(_ notation: Constraint.TextNotation) throws(ConstraintError) -> Grammar {
        for name in names where Self.isTerminal(name) { _ = try terminal(name) }
        var skipped: [RegexTerms.ID] = []
        for expression in ignored { skipped.append(try term(expression)) }
        if !skipped.isEmpty { gap = [.pattern(terms.star(terms.either(skipped)))] }
        try builder.begin("")
        let (before, after) = try frame(notation)
        builder.define([before + gap + [builder.rule("start")] + after])
        for name in names where !Self.isTerminal(name) {
            try builder.begin(name)
            builder.define(try alternatives(definitions[name] ?? .choice([])))
        }
        try builder.removeLeftRecursion()
        guard !terms.isExhausted else {
            throw ConstraintError(.grammar, "", "the terminals are too large")
        }
        return try builder.grammar(terms)
    }

    /// The text before and after the grammar's own, with the spaces of `JSONStyle.Whitespace.separators`.
    private mutating func frame(
        _ notation: Constraint.TextNotation
    ) throws(ConstraintError) -> (before: [Grammar.Symbol], after: [Grammar.Symbol]) {
        func literal(_ text: String) -> [Grammar.Symbol] { text.utf8.map { .bytes(ByteSet($0...$0)) } }
        if notation == .plain { return ([], []) }
        let space = [try builder.newRule([literal(" "), []])]
        guard case .jsonMember(let name) = notation else { return (space + literal("\""), literal("\"")) }
        return (space + literal("{\(RegexTerms.jsonString(name)):") + space + literal("\""), literal("\"}"))
    }

    private mutating func alternatives(_ expression: Expression) throws(ConstraintError) -> [[Grammar
        .Symbol]]
    {
        guard case .choice(let list) = expression else { return [try symbols(expression)] }
        var result: [[Grammar.Symbol]] = []
        for alternative in list { result.append(try symbols(alternative)) }
        return result
    }

    private mutating func symbols(_ expression: Expression) throws(ConstraintError) -> [Grammar
        .Symbol]
    {
        try builder.count(1)
        switch expression {
        case .name(let name) where !Self.isTerminal(name): return [builder.rule(name)]
        case .text([], _): return []
        case .text, .pattern, .range, .name: return [.pattern(try term(expression))] + gap
        case .sequence(let list):
            var result: [Grammar.Symbol] = []
            for part in list { result += try symbols(part) }
            return result
        case .choice: return [try builder.newRule(try alternatives(expression))]
        case .repetition(let body, let minimum, let maximum):
            return try builder.repeated(try symbols(body), minimum, maximum)
        }
    }

    private mutating func terminal(_ name: String) throws(ConstraintError) -> RegexTerms.ID {
        if let known = terminals[name] { return known }
        guard let expression = definitions[name] else {
            throw ConstraintError(.grammar, name, "the terminal is not defined")
        }
        guard !open.contains(name) else {
            throw ConstraintError(.grammar, name, "the terminal refers to itself")
        }
        open.append(name)
        let result = try term(expression)
        open.removeLast()
        terminals[name] = result
        return result
    }

    private mutating func term(_ expression: Expression) throws(ConstraintError) -> RegexTerms.ID {
        guard open.count <= GBNFReader.maximumDepth else {
            throw ConstraintError(
                .grammar, open[0], "terminals refer to others more than \(GBNFReader.maximumDepth) deep")
        }
        switch expression {
        case .text(let characters, let ignoresCase):
            var result = RegexTerms.empty
            for character in characters.reversed() {
                let set = ignoresCase ? Self.bothCases(character) : CharacterSet(character)
                result = terms.concat(terms.characters(set), result)
            }
            return result
        case .pattern(let pattern):
            let term: RegexTerms.ID
            do { term = try RegexParser.parse(pattern, into: terms) } catch {
                throw ConstraintError(.grammar, open.last ?? "", "/\(pattern)/: \(error.message)")
            }
            guard !terms.looksAround(term) else {
                throw ConstraintError(
                    .grammar, open.last ?? "", "/\(pattern)/: anchors and look-ahead are not supported")
            }
            return term
        case .range(let range): return terms.characters(CharacterSet([range]))
        case .name(let name):
            guard Self.isTerminal(name) else {
                throw ConstraintError(
                    .grammar, open.last ?? "", "a terminal cannot contain the rule '\(name)'")
            }
            return try terminal(name)
        case .sequence(let list):
            var result = RegexTerms.empty
            for part in list.reversed() { result = terms.concat(try term(part), result) }
            return result
        case .choice(let list):
            var parts: [RegexTerms.ID] = []
            for part in list { parts.append(try term(part)) }
            return terms.either(parts)
        case .repetition(let body, let minimum, let maximum):
            return terms.counted(
                try term(body), Int32(minimum), maximum.map { Int32($0) } ?? -1)
        }
    }

    /// A character and its simple case mappings.
    private static func bothCases(_ character: UInt32) -> CharacterSet {
        guard let scalar = Unicode.Scalar(character) else { return CharacterSet(character) }
        let others = [scalar.properties.lowercaseMapping, scalar.properties.uppercaseMapping]
            .filter { $0.unicodeScalars.count == 1 }.flatMap { $0.unicodeScalars.map(\.value) }
        return CharacterSet(([character] + others).map { $0...$0 })
    }
}
