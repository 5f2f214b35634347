// Python's string operations work on code points; these are the ones that Swift's `String` does by grapheme.
extension String {
    /// The first occurrence of `part` at or after `start`, found bytewise, which in UTF-8 is scalarwise.
    func firstRange(ofScalars part: String, from start: Index? = nil) -> Range<Index>? {
        let start = start ?? startIndex
        if part.isEmpty { return start..<start }
        let haystack = utf8[start...]
        let first = part.utf8.first
        let count = part.utf8.count
        var at = haystack.startIndex
        while let found = haystack[at...].firstIndex(where: { $0 == first }) {
            guard let end = haystack.index(found, offsetBy: count, limitedBy: haystack.endIndex) else { return nil }
            if haystack[found..<end].elementsEqual(part.utf8) { return found..<end }
            at = haystack.index(after: found)
        }
        return nil
    }

    func ranges(ofScalars part: String, limit: Int = .max) -> [Range<Index>] {
        var ranges: [Range<Index>] = []
        var at = startIndex
        while ranges.count < limit, let range = firstRange(ofScalars: part, from: at) {
            ranges.append(range)
            at = range.upperBound
        }
        return ranges
    }

    func starts(withScalars prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

    func ends(withScalars suffix: String) -> Bool {
        utf8.count >= suffix.utf8.count && utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }

    func dropping(while leading: (Unicode.Scalar) -> Bool) -> String {
        String(unicodeScalars.drop(while: leading))
    }

    func droppingLast(while trailing: (Unicode.Scalar) -> Bool) -> String {
        var end = unicodeScalars.endIndex
        while end > startIndex {
            let before = unicodeScalars.index(before: end)
            guard trailing(unicodeScalars[before]) else { break }
            end = before
        }
        return String(unicodeScalars[..<end])
    }

    /// Python's `splitlines`: more line ends than `\n`, and none after the last.
    func pythonLines(keepingEnds: Bool = false) -> [String] {
        var lines: [String] = []
        var start = startIndex
        var at = startIndex
        let scalars = unicodeScalars
        while at < scalars.endIndex {
            let scalar = scalars[at]
            var next = scalars.index(after: at)
            guard scalar.isPythonLineEnd else {
                at = next
                continue
            }
            if scalar == "\r", next < scalars.endIndex, scalars[next] == "\n" { next = scalars.index(after: next) }
            lines.append(String(scalars[start..<(keepingEnds ? next : at)]))
            start = next
            at = next
        }
        if start < scalars.endIndex { lines.append(String(scalars[start...])) }
        return lines
    }

    /// The first scalar in title case, the rest in lower case.
    var capitalizedScalars: String {
        guard let first = unicodeScalars.first else { return "" }
        return first.properties.titlecaseMapping + String(unicodeScalars.dropFirst()).lowercased()
    }

    /// `str.title()`: a letter after a letter is lower case, any other in title case.
    var titledScalars: String {
        var result = ""
        var isInWord = false
        for scalar in unicodeScalars {
            result += isInWord ? scalar.properties.lowercaseMapping : scalar.properties.titlecaseMapping
            isInWord = scalar.properties.isCased
        }
        return result
    }
}

extension Unicode.Scalar {
    var isPythonLineEnd: Bool {
        switch value {
        case 0x0A...0x0D, 0x1C...0x1E, 0x85, 0x2028, 0x2029: true
        default: false
        }
    }

    var isPythonAlpha: Bool {
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: true
        default: false
        }
    }

    var isPythonDigit: Bool { properties.numericType == .digit || properties.numericType == .decimal }
    var isPythonAlphanumeric: Bool { isPythonAlpha || properties.numericType != nil }
    /// `\w` of Python's `re`.
    var isPythonWord: Bool { self == "_" || isPythonAlphanumeric }
}
