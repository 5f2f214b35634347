// Python's string operations work on code points; these replace Swift's, which work on grapheme clusters.
extension String {
    /// The first occurrence of `part`, compared as bytes, which is equivalent to code points.
    func firstRange(ofScalars part: String) -> Range<Index>? { ranges(ofScalars: part, limit: 1).first }

    /// Up to `limit` occurrences from the front, without overlaps. An empty part is found once, at the front.
    func ranges(ofScalars part: String, limit: Int = .max) -> [Range<Index>] {
        ByteSearch.offsets(of: Array(part.utf8), in: Array(utf8), limit: limit).map { range(at: $0, part) }
    }

    /// Up to `limit` occurrences from the end, in the order of the text.
    package func lastRanges(ofScalars part: String, limit: Int) -> [Range<Index>] {
        let found = ByteSearch.offsets(of: part.utf8.reversed(), in: utf8.reversed(), limit: limit)
        return found.reversed().map { range(at: utf8.count - $0 - part.utf8.count, part) }
    }

    /// Number of occurrences that `ranges` would find.
    func occurrences(ofScalars part: String, limit: Int = .max) -> Int {
        var count = 0
        ByteSearch.forEach(Array(part.utf8), in: Array(utf8), limit: limit) { _ in count += 1 }
        return count
    }

    private func range(at offset: Int, _ part: String) -> Range<Index> {
        let start = utf8.index(startIndex, offsetBy: offset)
        return start..<utf8.index(start, offsetBy: part.utf8.count)
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

    /// Python's `splitlines`: recognizes more line ends than `\n`; a line end at the end adds no line.
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

    /// Lower case by Unicode's full mapping, with final sigma at the end of words.
    var loweredScalars: String {
        guard unicodeScalars.contains("Σ") else { return lowercased() }
        let scalars = Array(unicodeScalars)
        func isCased<S: Sequence>(_ context: S) -> Bool where S.Element == Unicode.Scalar {
            context.first { !$0.properties.isCaseIgnorable }?.properties.isCased ?? false
        }
        return scalars.enumerated().reduce(into: "") { result, element in
            let (index, scalar) = element
            let isFinal =
                scalar == "Σ" && isCased(scalars[..<index].reversed()) && !isCased(scalars[(index + 1)...])
            result += isFinal ? "ς" : scalar.properties.lowercaseMapping
        }
    }

    /// The first scalar in title case, the rest in lower case.
    var capitalizedScalars: String {
        guard let first = unicodeScalars.first else { return "" }
        return first.properties.titlecaseMapping + String(unicodeScalars.dropFirst()).loweredScalars
    }

    /// `str.title()`: lower case after a letter, else title case.
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

enum ByteSearch {
    /// Offsets of `part` in `bytes`, without overlaps.
    static func offsets(of part: [UInt8], in bytes: [UInt8], limit: Int) -> [Int] {
        var offsets: [Int] = []
        forEach(part, in: bytes, limit: limit) { offsets.append($0) }
        return offsets
    }

    /// Calls `body` with the offset of each occurrence of `part`, without overlaps; of an empty part with 0.
    ///
    /// Knuth, Morris and Pratt's search: linear for any part, since templates choose it freely.
    static func forEach(_ part: [UInt8], in bytes: [UInt8], limit: Int, _ body: (_ offset: Int) -> Void) {
        guard limit > 0, part.count <= bytes.count else { return }
        guard let last = part.indices.last else { return body(0) }
        let fallback = fallbacks(part)
        var found = 0
        var matched = 0
        for (at, byte) in bytes.enumerated() {
            while matched > 0, byte != part[matched] { matched = fallback[matched - 1] }
            guard byte == part[matched] else { continue }
            if matched < last {
                matched += 1
                continue
            }
            body(at - last)
            found += 1
            if found == limit { break }
            matched = 0
        }
    }

    /// For each prefix of `part`, the length of its longest proper prefix that is also a suffix.
    private static func fallbacks(_ part: [UInt8]) -> [Int] {
        var fallback = [Int](repeating: 0, count: part.count)
        var matched = 0
        for at in part.indices.dropFirst() {
            while matched > 0, part[at] != part[matched] { matched = fallback[matched - 1] }
            if part[at] == part[matched] { matched += 1 }
            fallback[at] = matched
        }
        return fallback
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
