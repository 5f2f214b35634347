/// The characters of a Unicode general category, as in `\p{…}`.
enum UnicodeProperty {
    /// - Parameter name: `L`, `Letter`, `Lu`, `gc=Lu`, `General_Category=Uppercase_Letter`, `Any`, `ASCII` …; the
    ///   result is `nil` for names that are not a general category.
    static func characters(_ name: String) -> CharacterSet? {
        var name = name[...]
        for prefix in ["gc=", "General_Category="] where name.hasPrefix(prefix) { name = name.dropFirst(prefix.count) }
        if name == "Any" { return .any }
        if name == "ASCII" { return CharacterSet([0...127]) }
        guard let code = codes[String(name)] ?? (codes.values.contains(String(name)) ? String(name) : nil) else {
            return nil
        }
        let members = categories.filter { category in
            code == "LC" ? ["Lu", "Ll", "Lt"].contains(category.key) : category.key.hasPrefix(code)
        }
        return CharacterSet(members.flatMap { $0.value.ranges })
    }

    private static let codes: [String: String] = [
        "Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll",
        "Titlecase_Letter": "Lt", "Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M", "Combining_Mark": "M",
        "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc", "Enclosing_Mark": "Me", "Number": "N", "Decimal_Number": "Nd",
        "digit": "Nd", "Letter_Number": "Nl", "Other_Number": "No", "Punctuation": "P", "punct": "P",
        "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps", "Close_Punctuation": "Pe",
        "Initial_Punctuation": "Pi", "Final_Punctuation": "Pf", "Other_Punctuation": "Po", "Symbol": "S",
        "Math_Symbol": "Sm", "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk", "Other_Symbol": "So", "Separator": "Z",
        "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp", "Control": "Cc", "cntrl": "Cc",
        "Format": "Cf", "Private_Use": "Co", "Unassigned": "Cn", "Other": "C",
    ]

    /// Characters by category abbreviation; computed on first use, in about 30 ms.
    private static let categories: [String: CharacterSet] = {
        var ranges: [String: [ClosedRange<UInt32>]] = [:]
        // Most neighbours have the same category, so a range is added to the table only where it changes.
        var (category, start, last): (Unicode.GeneralCategory?, UInt32, UInt32) = (nil, 0, 0)
        func close() {
            if let category { ranges[code(category), default: []].append(start...last) }
        }
        for value in UInt32(0)...0x10ffff {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let next = scalar.properties.generalCategory
            if next != category || value != last + 1 {
                close()
                (category, start) = (next, value)
            }
            last = value
        }
        close()
        return ranges.mapValues { CharacterSet($0) }
    }()

    private static func code(_ category: Unicode.GeneralCategory) -> String {
        switch category {
        case .uppercaseLetter: "Lu"
        case .lowercaseLetter: "Ll"
        case .titlecaseLetter: "Lt"
        case .modifierLetter: "Lm"
        case .otherLetter: "Lo"
        case .nonspacingMark: "Mn"
        case .spacingMark: "Mc"
        case .enclosingMark: "Me"
        case .decimalNumber: "Nd"
        case .letterNumber: "Nl"
        case .otherNumber: "No"
        case .connectorPunctuation: "Pc"
        case .dashPunctuation: "Pd"
        case .openPunctuation: "Ps"
        case .closePunctuation: "Pe"
        case .initialPunctuation: "Pi"
        case .finalPunctuation: "Pf"
        case .otherPunctuation: "Po"
        case .mathSymbol: "Sm"
        case .currencySymbol: "Sc"
        case .modifierSymbol: "Sk"
        case .otherSymbol: "So"
        case .spaceSeparator: "Zs"
        case .lineSeparator: "Zl"
        case .paragraphSeparator: "Zp"
        case .control: "Cc"
        case .format: "Cf"
        case .surrogate: "Cs"
        case .privateUse: "Co"
        case .unassigned: "Cn"
        @unknown default: "Cn"
        }
    }
}
