/// Why a regular expression was rejected.
struct RegexError: Error {
    /// The problem, with its position in characters.
    let message: String
}

/// Parses regular expressions of JSON Schema (ECMA 262, Unicode mode, with some leniency of the older mode).
///
/// Rejects constructs without an exact automaton: backreferences, look-behind, word boundaries, flags.
struct RegexParser {
    private let source: [UInt32]
    private var index = 0
    private var depth = 0
    private var nodes = 0
    private let terms: RegexTerms

    static let maximumLength = 20_000
    static let maximumDepth = 100
    static let maximumCount: Int32 = 100_000

    /// - Returns: The term of the expression itself; whether it must match the whole text is up to the caller.
    static func parse(_ source: String, into terms: RegexTerms) throws(RegexError) -> RegexTerms.ID {
        let scalars = source.unicodeScalars.map(\.value)
        guard scalars.count <= maximumLength else {
            throw RegexError(message: "\(scalars.count) characters are more than \(maximumLength)")
        }
        var parser = RegexParser(source: scalars, terms: terms)
        let result = try parser.alternatives()
        guard parser.index == scalars.count else { throw parser.error("unmatched ')'") }
        guard !terms.isExhausted else { throw parser.error("the expression is too large") }
        return result
    }

    /// The term for texts that contain a match of the expression, as `pattern` requires.
    static func search(_ source: String, in terms: RegexTerms) throws(RegexError) -> RegexTerms.ID {
        let body = try parse(source, into: terms)
        let tail = terms.concat(body, RegexTerms.anything)
        return terms.concat(RegexTerms.anything, tail)
    }

    private init(source: [UInt32], terms: RegexTerms) {
        self.source = source
        self.terms = terms
    }

    private func error(_ message: String) -> RegexError { RegexError(message: "\(message) at character \(index)") }
    private var next: UInt32? { index < source.count ? source[index] : nil }
    private func peek(_ offset: Int) -> UInt32? { index + offset < source.count ? source[index + offset] : nil }

    private mutating func skip(_ text: String) -> Bool {
        let scalars = text.unicodeScalars.map(\.value)
        guard index + scalars.count <= source.count, source[index..<(index + scalars.count)].elementsEqual(scalars)
        else { return false }
        index += scalars.count
        return true
    }

    private mutating func alternatives() throws(RegexError) -> RegexTerms.ID {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.maximumDepth else { throw error("groups are nested more than \(Self.maximumDepth) deep") }
        var parts = [try sequence()]
        while skip("|") { parts.append(try sequence()) }
        return parts.count == 1 ? parts[0] : terms.either(parts)
    }

    private mutating func sequence() throws(RegexError) -> RegexTerms.ID {
        var parts: [RegexTerms.ID] = []
        while let character = next, character != "|", character != ")" { parts.append(try quantified()) }
        var result = RegexTerms.empty
        for part in parts.reversed() { result = terms.concat(part, result) }
        return result
    }

    private mutating func quantified() throws(RegexError) -> RegexTerms.ID {
        nodes += 1
        let isAssertion =
            next == "^" || next == "$" || (next == "(" && peek(1) == "?" && (peek(2) == "=" || peek(2) == "!"))
        let body = try atom()
        guard let (minimum, maximum) = try quantifier() else { return body }
        if isAssertion { throw error("an assertion cannot be repeated") }
        if let character = next, character == "+" { throw error("possessive quantifiers are not supported") }
        _ = skip("?")  // lazy: matches the same texts
        return terms.counted(body, minimum, maximum)
    }

    private mutating func quantifier() throws(RegexError) -> (Int32, Int32)? {
        if skip("*") { return (0, -1) }
        if skip("+") { return (1, -1) }
        if skip("?") { return (0, 1) }
        guard next == "{" else { return nil }
        let start = index
        index += 1
        guard let minimum = try number() else {
            index = start
            return nil
        }
        var maximum = minimum
        if skip(",") { maximum = next == "}" ? -1 : try number() ?? -2 }
        guard maximum != -2, skip("}") else {
            index = start
            return nil
        }
        guard maximum < 0 || minimum <= maximum else { throw error("the bounds of a repetition are out of order") }
        return (minimum, maximum)
    }

    private mutating func number() throws(RegexError) -> Int32? {
        var value: Int32?
        while let digit = next, digit >= 48, digit <= 57 {
            let grown = (value ?? 0) * 10 + Int32(digit - 48)
            guard grown <= Self.maximumCount else { throw error("a repetition of more than \(Self.maximumCount)") }
            value = grown
            index += 1
        }
        return value
    }

    private mutating func atom() throws(RegexError) -> RegexTerms.ID {
        guard let character = next else { throw error("an expression is missing") }
        switch character {
        case "^":
            index += 1
            return terms.begin()
        case "$":
            index += 1
            return terms.end()
        case "(": return try group()
        case "[":
            index += 1
            return terms.characters(try characterClass())
        case ".":
            index += 1
            return terms.characters(Self.lineEnds.inverted)
        case "\\":
            index += 1
            return terms.characters(try escape(inClass: false))
        case "*", "+", "?": throw error("nothing to repeat")
        case "{":
            if try quantifier() != nil { throw error("nothing to repeat") }
            index += 1
            return terms.characters(CharacterSet(character))
        default:
            index += 1
            return terms.characters(CharacterSet(character))
        }
    }

    private mutating func group() throws(RegexError) -> RegexTerms.ID {
        index += 1
        var look: Bool?
        if skip("?") {
            if skip("=") {
                look = true
            } else if skip("!") {
                look = false
            } else if skip("<=") || skip("<!") {
                throw error("look-behind is not supported")
            } else if skip("P<") || skip("<") {
                while let character = next, character != ">" {
                    guard character == "_" || character == "$" || Self.word.contains(character) || character > 127
                    else {
                        throw error("invalid group name")
                    }
                    index += 1
                }
                guard skip(">") else { throw error("a group's name does not end") }
            } else if !skip(":") {
                throw error("flags in a group are not supported")
            }
        }
        let body = try alternatives()
        guard skip(")") else { throw error("a group does not end") }
        if let look { return terms.ahead(body, positive: look) }
        return body
    }

    // MARK: Characters

    static let lineEnds = CharacterSet([10...10, 13...13, 0x2028...0x2029])
    static let digits = CharacterSet([48...57])
    static let word = CharacterSet([48...57, 65...90, 95...95, 97...122])
    static let space = CharacterSet([
        9...13, 32...32, 0xa0...0xa0, 0x1680...0x1680, 0x2000...0x200a, 0x2028...0x2029, 0x202f...0x202f,
        0x205f...0x205f, 0x3000...0x3000, 0xfeff...0xfeff,
    ])

    private mutating func characterClass() throws(RegexError) -> CharacterSet {
        let isNegative = skip("^")
        var ranges: [ClosedRange<UInt32>] = []
        while true {
            guard let character = next else { throw error("a character class does not end") }
            if character == "]" {
                index += 1
                break
            }
            let low = try classAtom()
            guard next == "-", let after = peek(1), after != "]" else {
                ranges += low.ranges
                continue
            }
            index += 1
            let high = try classAtom()
            // A class on either side, as in `[\w-.]`, makes the hyphen a literal.
            guard low.isSingle, high.isSingle, let first = low.ranges.first, let last = high.ranges.first else {
                ranges += low.ranges + high.ranges + [45...45]
                continue
            }
            guard first.lowerBound <= last.upperBound else { throw error("a range of characters is out of order") }
            ranges.append(first.lowerBound...last.upperBound)
        }
        let set = CharacterSet(ranges)
        return isNegative ? set.inverted : CharacterSet(set.inverted.inverted.ranges)
    }

    private mutating func classAtom() throws(RegexError) -> CharacterSet {
        guard let character = next else { throw error("a character class does not end") }
        index += 1
        return character == "\\" ? try escape(inClass: true) : CharacterSet(character)
    }

    /// Parses the rest of an escape, after the backslash.
    private mutating func escape(inClass: Bool) throws(RegexError) -> CharacterSet {
        guard let character = next else { throw error("a lone '\\'") }
        index += 1
        switch character {
        case "d": return Self.digits
        case "D": return Self.digits.inverted
        case "w": return Self.word
        case "W": return Self.word.inverted
        case "s": return Self.space
        case "S": return Self.space.inverted
        case "t": return CharacterSet(9)
        case "n": return CharacterSet(10)
        case "v": return CharacterSet(11)
        case "f": return CharacterSet(12)
        case "r": return CharacterSet(13)
        case "b" where inClass: return CharacterSet(8)
        case "b", "B": throw error("word boundaries (\\b) are not supported")
        case "p", "P": return try property(isNegative: character == "P")
        case "c":
            guard let letter = next, (65...90).contains(letter) || (97...122).contains(letter) else {
                throw error("invalid control escape")
            }
            index += 1
            return CharacterSet(letter % 32)
        case "x": return CharacterSet(try hexadecimal(2))
        case "u": return CharacterSet(try unicodeEscape())
        case "0":
            if let digit = next, (48...57).contains(digit) { throw error("octal escapes are not supported") }
            return CharacterSet(0)
        case 49...57: throw error("backreferences are not supported")
        case "k" where next == "<": throw error("backreferences are not supported")
        case "A", "Z", "z", "G", "K", "Q", "E", "R", "X", "h", "H":
            throw error("'\\\(Character(Unicode.Scalar(UInt8(character))))' is not part of ECMA 262")
        default: return CharacterSet(character)
        }
    }

    private mutating func hexadecimal(_ count: Int) throws(RegexError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard let character = next, let scalar = Unicode.Scalar(character),
                let digit = Character(scalar).hexDigitValue, scalar.isASCII
            else { throw error("\(count) hexadecimal digits are expected") }
            value = value << 4 | UInt32(digit)
            index += 1
        }
        return value
    }

    private mutating func unicodeEscape() throws(RegexError) -> UInt32 {
        if skip("{") {
            var value: UInt32 = 0
            while next != "}" {
                value = value << 4 | (try hexadecimal(1))
                guard value <= 0x10ffff else { throw error("a character beyond U+10FFFF") }
            }
            index += 1
            return value
        }
        let high = try hexadecimal(4)
        if (0xd800...0xdbff).contains(high), next == "\\", peek(1) == "u" {
            index += 2
            let low = try hexadecimal(4)
            guard (0xdc00...0xdfff).contains(low) else { throw error("a lone surrogate") }
            return 0x10000 + (high - 0xd800) << 10 + (low - 0xdc00)
        }
        return high
    }

    private mutating func property(isNegative: Bool) throws(RegexError) -> CharacterSet {
        guard skip("{") else { throw error("a property's name is expected") }
        var name = ""
        while let character = next, character != "}", let scalar = Unicode.Scalar(character) {
            name.unicodeScalars.append(scalar)
            index += 1
        }
        guard skip("}") else { throw error("a property's name does not end") }
        guard let set = UnicodeProperty.characters(name) else {
            throw error("the Unicode property '\(name)' is not supported")
        }
        return isNegative ? set.inverted : set
    }
}

extension CharacterSet {
    var isSingle: Bool { ranges.count == 1 && ranges[0].lowerBound == ranges[0].upperBound }
}

private func ~= (pattern: Unicode.Scalar, value: UInt32) -> Bool { pattern.value == value }
private func == (value: UInt32, scalar: Unicode.Scalar) -> Bool { value == scalar.value }
private func != (value: UInt32, scalar: Unicode.Scalar) -> Bool { value != scalar.value }
private func == (value: UInt32?, scalar: Unicode.Scalar) -> Bool { value == scalar.value }
private func != (value: UInt32?, scalar: Unicode.Scalar) -> Bool { value != scalar.value }
