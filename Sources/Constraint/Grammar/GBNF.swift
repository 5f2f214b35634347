/// Parses GBNF, llama.cpp's grammar format: `name ::= alternatives`, with `"literals"`, `[classes]`, `.`, groups, and
/// the repetitions `*`, `+`, `?`, `{m,n}`. The text must match the rule `root`. `#` begins a comment.
struct GBNFReader {
    private let source: [UInt32]
    private var index = 0
    private var builder = GrammarBuilder(root: "root")

    static let maximumLength = 1 << 20
    static let maximumDepth = 100
    static let maximumCount = 2_000

    static func read(_ text: String) throws(ConstraintError) -> Grammar {
        guard text.utf8.count <= maximumLength else {
            throw ConstraintError(.grammar, "", "\(text.utf8.count) bytes are more than \(maximumLength)")
        }
        var reader = GBNFReader(source: text.unicodeScalars.map(\.value))
        return try reader.grammar()
    }

    private init(source: [UInt32]) { self.source = source }

    private func error(_ message: String) -> ConstraintError {
        let line = source[..<min(index, source.count)].count { $0 == 10 } + 1
        return ConstraintError(.grammar, "line \(line)", message)
    }

    private mutating func grammar() throws(ConstraintError) -> Grammar {
        skipSpace(lines: true)
        while index < source.count {
            let name = try self.name()
            skipSpace(lines: false)
            guard take("::=") else { throw error("'::=' is expected after the rule's name '\(name)'") }
            skipSpace(lines: true)
            try builder.begin(name)
            builder.define(try alternatives(depth: 0))
            skipSpace(lines: false)
            guard index >= source.count || isLineEnd else { throw error("a new line is expected") }
            skipSpace(lines: true)
        }
        return try builder.grammar()
    }

    // MARK: Characters

    private var next: UInt32? { index < source.count ? source[index] : nil }
    private var isLineEnd: Bool { next == 10 || next == 13 }

    private mutating func skipSpace(lines: Bool) {
        while let character = next {
            if character == 35 {  // #
                while let character = next, character != 10, character != 13 { index += 1 }
            } else if character == 32 || character == 9 || (lines && isLineEnd) {
                index += 1
            } else {
                return
            }
        }
    }

    private mutating func take(_ text: StaticString) -> Bool {
        let bytes = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard index + bytes.count <= source.count,
            source[index..<(index + bytes.count)].elementsEqual(bytes.map { UInt32($0) })
        else { return false }
        index += bytes.count
        return true
    }

    private static func isName(_ character: UInt32) -> Bool {
        RegexParser.word.contains(character) && character != 95 || character == 45 || character == 95
    }

    private mutating func name() throws(ConstraintError) -> String {
        let start = index
        while let character = next, Self.isName(character) { index += 1 }
        guard index > start else { throw error("the name of a rule is expected") }
        return String(String.UnicodeScalarView(source[start..<index].compactMap(Unicode.Scalar.init)))
    }

    // MARK: Expressions

    private mutating func alternatives(depth: Int) throws(ConstraintError) -> [[Grammar.Symbol]] {
        guard depth <= Self.maximumDepth else { throw error("groups are nested more than \(Self.maximumDepth) deep") }
        var result = [try sequence(depth: depth)]
        while true {
            let start = index
            skipSpace(lines: depth > 0)
            // At the outermost level an alternative may continue on the next line.
            if depth == 0 { skipSpace(lines: true) }
            guard next == 124 else {
                if depth == 0 { index = start }
                return result
            }
            index += 1
            skipSpace(lines: true)
            result.append(try sequence(depth: depth))
        }
    }

    private mutating func sequence(depth: Int) throws(ConstraintError) -> [Grammar.Symbol] {
        var result: [Grammar.Symbol] = []
        while true {
            skipSpace(lines: depth > 0)
            guard let character = next, let item = try self.item(character, depth: depth) else { break }
            result += try repeated(item)
            try builder.count(item.count)
        }
        return result
    }

    /// - Returns: `nil` if no item begins with this character.
    private mutating func item(_ character: UInt32, depth: Int) throws(ConstraintError) -> [Grammar.Symbol]? {
        switch character {
        case 34:  // "
            index += 1
            var result: [Grammar.Symbol] = []
            while next != 34 {
                for byte in CharacterSet.encode(try self.character(in: "a literal")) {
                    result.append(.bytes(ByteSet(byte...byte)))
                }
            }
            index += 1
            return result
        case 91:  // [
            index += 1
            return [try symbol(try characterClass())]
        case 46:  // .
            index += 1
            return [try symbol(.any)]
        case 40:  // (
            index += 1
            skipSpace(lines: true)
            let inner = try alternatives(depth: depth + 1)
            guard next == 41 else { throw error("')' is expected") }
            index += 1
            return [try builder.newRule(inner)]
        default:
            guard Self.isName(character) else { return nil }
            return [builder.rule(try name())]
        }
    }

    private mutating func symbol(_ set: CharacterSet) throws(ConstraintError) -> Grammar.Symbol {
        let sequences = set.utf8Sequences
        let single = sequences.filter { $0.count == 1 }.reduce(ByteSet()) { $0.union(ByteSet($1[0])) }
        if sequences.allSatisfy({ $0.count == 1 }) { return .bytes(single) }
        var alternatives: [[Grammar.Symbol]] = single.isEmpty ? [] : [[.bytes(single)]]
        for sequence in sequences where sequence.count > 1 { alternatives.append(sequence.map { .bytes(ByteSet($0)) }) }
        return try builder.newRule(alternatives)
    }

    private mutating func characterClass() throws(ConstraintError) -> CharacterSet {
        let isNegative = next == 94
        if isNegative { index += 1 }
        var ranges: [ClosedRange<UInt32>] = []
        while next != 93 {
            let low = try character(in: "a class")
            guard next == 45, index + 1 < source.count, source[index + 1] != 93 else {
                ranges.append(low...low)
                continue
            }
            index += 1
            let high = try character(in: "a class")
            guard low <= high else { throw error("a range of characters is out of order") }
            ranges.append(low...high)
        }
        index += 1
        let set = CharacterSet(ranges)
        return isNegative ? set.inverted : set.inverted.inverted
    }

    private mutating func character(in place: String) throws(ConstraintError) -> UInt32 {
        guard let character = next, character != 10, character != 13 else { throw error("\(place) does not end") }
        index += 1
        guard character == 92 else { return character }
        guard let escaped = next else { throw error("\(place) does not end") }
        index += 1
        switch escaped {
        case 110: return 10
        case 114: return 13
        case 116: return 9
        case 120: return try hexadecimal(2)
        case 117: return try hexadecimal(4)
        case 85: return try hexadecimal(8)
        case 34, 91, 92, 93, 45, 94: return escaped
        default: throw error("an unknown escape in \(place)")
        }
    }

    private mutating func hexadecimal(_ digits: Int) throws(ConstraintError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<digits {
            guard let character = next, let byte = UInt8(exactly: character), let digit = StringSyntax.hexadecimal(byte)
            else { throw error("\(digits) hexadecimal digits are expected") }
            guard value < 0x0100_0000 else { throw error("a character beyond U+10FFFF") }
            value = value << 4 | UInt32(digit)
            index += 1
        }
        guard Unicode.Scalar(value) != nil else { throw error("an escape that is not a character") }
        return value
    }

    // MARK: Repetition

    private mutating func repeated(_ item: [Grammar.Symbol]) throws(ConstraintError) -> [Grammar.Symbol] {
        var item = item
        while let (minimum, maximum) = try bounds() {
            item = try builder.repeated(item, minimum, maximum)
        }
        return item
    }

    private mutating func bounds() throws(ConstraintError) -> (Int, Int?)? {
        let start = index
        switch next {
        case 42:
            index += 1
            return (0, nil)
        case 43:
            index += 1
            return (1, nil)
        case 63:
            index += 1
            return (0, 1)
        case 123:
            index += 1
            guard let minimum = try number() else { throw error("a number of repetitions is expected") }
            var maximum: Int? = minimum
            skipSpace(lines: false)
            if next == 44 {
                index += 1
                maximum = try number()
            }
            skipSpace(lines: false)
            guard next == 125 else { throw error("'}' is expected") }
            index += 1
            guard maximum.map({ $0 >= minimum }) ?? true else {
                throw error("the bounds of a repetition are out of order")
            }
            return (minimum, maximum)
        default:
            index = start
            return nil
        }
    }

    private mutating func number() throws(ConstraintError) -> Int? {
        skipSpace(lines: false)
        var value: Int?
        while let digit = next, digit >= 48, digit <= 57 {
            let grown = (value ?? 0) * 10 + Int(digit - 48)
            guard grown <= Self.maximumCount else { throw error("more than \(Self.maximumCount) repetitions") }
            value = grown
            index += 1
        }
        return value
    }
}
