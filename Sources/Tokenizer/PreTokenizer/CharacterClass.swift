/// The classes of a Unicode scalar that pre-tokenizers distinguish.
///
/// Each scalar has exactly one of the first nine classes; the last four are additional marks.
struct CharacterClass: OptionSet, Hashable, Sendable {
    let rawValue: UInt16

    /// `\p{L}`, `\p{N}`, `\p{M}`, `\p{P}`, `\p{S}`
    static let letter = CharacterClass(rawValue: 1 << 0)
    static let number = CharacterClass(rawValue: 1 << 1)
    static let mark = CharacterClass(rawValue: 1 << 2)
    static let punctuation = CharacterClass(rawValue: 1 << 3)
    static let symbol = CharacterClass(rawValue: 1 << 4)
    /// Control, format, private-use and unassigned scalars that are not white space.
    static let other = CharacterClass(rawValue: 1 << 5)
    /// U+0020
    static let space = CharacterClass(rawValue: 1 << 6)
    /// CR and LF
    static let newline = CharacterClass(rawValue: 1 << 7)
    /// White space except space, CR and LF.
    static let blank = CharacterClass(rawValue: 1 << 8)

    /// `[A-Z]`, `[a-z]`, `[0-9]`
    static let upper = CharacterClass(rawValue: 1 << 9)
    static let lower = CharacterClass(rawValue: 1 << 10)
    static let digit = CharacterClass(rawValue: 1 << 11)
    /// CJK ideographs
    static let han = CharacterClass(rawValue: 1 << 12)

    /// `\s`
    static let whitespace: CharacterClass = [.space, .newline, .blank]

    /// Whether the two sets intersect.
    @inline(__always)
    func meets(_ other: CharacterClass) -> Bool { rawValue & other.rawValue != 0 }
}

/// The class of each scalar, in pages of 256 of which equal ones are shared.
struct CharacterTable: Sendable {
    private var pages: [CharacterClass] = []
    private var pageOfBlock: [UInt16] = []

    /// From the standard library's Unicode data. Built on first use, in some milliseconds.
    static let unicode = CharacterTable()

    private init() {
        var known: [[CharacterClass]: UInt16] = [:]
        // The other scalars are unassigned or private.
        let assigned: [ClosedRange<UInt32>] = [0...0xD7, 0xF9...0x3FF, 0xE00...0xE01]
        for block in 0..<UInt32(0x1100) {
            let isAssigned = assigned.contains { $0.contains(block) }
            let page = (0..<UInt32(256)).map { isAssigned ? Self.classify(block << 8 | $0) : .other }
            if known[page] == nil {
                known[page] = UInt16(known.count)
                pages += page
            }
            pageOfBlock.append(known[page] ?? 0)
        }
    }

    subscript(scalar: UInt32) -> CharacterClass {
        guard scalar < 0x110000 else { return .other }
        return pages[Int(pageOfBlock[Int(scalar >> 8)]) << 8 | Int(scalar & 0xFF)]
    }

    private static func classify(_ value: UInt32) -> CharacterClass {
        guard let scalar = Unicode.Scalar(value) else { return .other }
        switch scalar {
        case " ": return .space
        case "\r", "\n": return .newline
        case "A"..."Z": return [.letter, .upper]
        case "a"..."z": return [.letter, .lower]
        case "0"..."9": return [.number, .digit]
        case "\t", "\u{0B}", "\u{0C}", "\u{85}": return .blank
        default: break
        }
        let category: CharacterClass =
            switch scalar.properties.generalCategory {
            case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: .letter
            case .decimalNumber, .letterNumber, .otherNumber: .number
            case .nonspacingMark, .spacingMark, .enclosingMark: .mark
            case .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation,
                .finalPunctuation, .otherPunctuation:
                .punctuation
            case .mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol: .symbol
            case .spaceSeparator, .lineSeparator, .paragraphSeparator: .blank
            default: .other
            }
        return hanBlocks.contains { $0.contains(value) } ? [category, .han] : category
    }

    /// The ideographs and their extensions A to F, and the compatibility ideographs.
    private static let hanBlocks: [ClosedRange<UInt32>] = [
        0x3400...0x4DBF, 0x4E00...0x9FFF, 0xF900...0xFAFF, 0x20000...0x2A6DF, 0x2A700...0x2B73F, 0x2B740...0x2EBEF,
        0x2F800...0x2FA1F,
    ]
}
