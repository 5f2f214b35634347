/// Matches a `WordRule` at positions of one piece of text.
struct WordScan {
    let rule: WordRule
    let text: ClassifiedText
    /// The end of the piece.
    let end: Int

    /// The class at a position; empty at the end.
    @inline(__always)
    private func kind(_ position: Int) -> CharacterClass { position < end ? text.classes[position] : [] }

    /// The byte at a position; 0 at the end.
    @inline(__always)
    private func byte(_ position: Int) -> UInt8 { position < end ? text.bytes[position] : 0 }

    @inline(__always)
    private func skip(_ position: Int, while classes: CharacterClass) -> Int {
        var position = position
        while position < end, text.classes[position].meets(classes) { position = text.next(position) }
        return position
    }

    /// End of the match at `start`. White space that begins no word is left to `whitespace(_:into:)`.
    func match(_ start: Int) -> Int? {
        let first = text.classes[start]
        if text.bytes[start] == UInt8(ascii: "'"), rule.contraction == .lowercase || rule.contraction == .anyCase,
            let end = contraction(start)
        {
            return end
        }
        if rule.joinsPunctuationToWord, text.bytes[start] < 0x80, first.meets([.punctuation, .symbol]) {
            let end = skip(start + 1, while: [.upper, .lower])
            if end > start + 1 { return end }
        }
        if rule.isolatesHan, first.meets(.han) { return skip(start, while: .han) }
        if let end = word(start, first) { return end }
        if rule.digits > 0, let end = number(start, first) { return end }
        return punctuation(start, first)
    }

    /// `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll`, `'d`
    private func contraction(_ start: Int) -> Int? {
        let fold: UInt8 = rule.contraction == .lowercase ? 0 : 0x20
        let next = byte(start + 1) | fold
        switch next {
        case UInt8(ascii: "s"), UInt8(ascii: "t"), UInt8(ascii: "m"), UInt8(ascii: "d"): return start + 2
        case UInt8(ascii: "r"), UInt8(ascii: "v"):
            return byte(start + 2) | fold == UInt8(ascii: "e") ? start + 3 : nil
        case UInt8(ascii: "l"): return byte(start + 2) | fold == UInt8(ascii: "l") ? start + 3 : nil
        default: return nil
        }
    }

    @inline(__always)
    private func isLetter(_ kind: CharacterClass) -> Bool {
        kind.meets(rule.letters) && !(rule.isolatesHan && kind.meets(.han))
    }

    private func letters(_ position: Int) -> Int {
        var position = position
        while position < end, isLetter(text.classes[position]) { position = text.next(position) }
        return position
    }

    private func word(_ start: Int, _ first: CharacterClass) -> Int? {
        switch rule.shape {
        case .run:
            var begin = start
            if !isLetter(first) {
                guard first.meets(rule.prefix) else { return nil }
                begin = text.next(start)
                guard isLetter(kind(begin)) else { return nil }
            }
            let wordEnd = letters(begin)
            return rule.contraction == .ofWord ? suffixed(wordEnd) : wordEnd
        case .phrase:
            return phrase(start, first)
        case .capitalized:
            return capitalized(start, first)
        }
    }

    private func suffixed(_ wordEnd: Int) -> Int {
        rule.contraction == .ofWord && byte(wordEnd) == UInt8(ascii: "'") ? contraction(wordEnd) ?? wordEnd : wordEnd
    }

    /// `[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+`
    private func phrase(_ start: Int, _ first: CharacterClass) -> Int? {
        var position = first.meets(.letter) ? start : first.meets(rule.prefix) ? text.next(start) : end
        guard kind(position).meets(.letter) else { return nil }
        while position < end {
            let here = text.classes[position]
            if here.meets([.letter, .mark]) {
                position = text.next(position)
            } else if here.meets(.space), kind(position + 1).meets(.letter) {
                position += 1
            } else {
                break
            }
        }
        return position
    }

    /// `P?U*l+C?|P?U+l*C?` with `P` for the prefix, `U` for letters except `[a-z]`, `l` for letters except `[A-Z]`, and
    /// `C` for a contraction, if the rule has it. A mark can be both `P` and a letter, so each alternative is tried
    /// with and without the prefix, as a backtracking matcher would.
    private func capitalized(_ start: Int, _ first: CharacterClass) -> Int? {
        let afterPrefix = first.meets(rule.prefix) ? text.next(start) : nil
        for begin in [afterPrefix, start] {
            if let begin, let wordEnd = endingSmall(begin) { return suffixed(wordEnd) }
        }
        for begin in [afterPrefix, start] {
            guard let begin else { continue }
            let capitals = capitals(begin)
            if capitals > begin { return suffixed(smalls(capitals)) }
        }
        return nil
    }

    private func capitals(_ position: Int) -> Int {
        var position = position
        while position < end, isLetter(text.classes[position]), !text.classes[position].meets(.lower) {
            position = text.next(position)
        }
        return position
    }

    private func smalls(_ position: Int) -> Int {
        var position = position
        while position < end, isLetter(text.classes[position]), !text.classes[position].meets(.upper) {
            position = text.next(position)
        }
        return position
    }

    /// `U*l+`: if no lowercase letter follows the capitals, the word ends at the last letter that counts as both.
    private func endingSmall(_ begin: Int) -> Int? {
        let capitals = capitals(begin)
        let smalls = smalls(capitals)
        if smalls > capitals { return smalls }
        var last = capitals
        while last > begin {
            var previous = last - 1
            while text.classes[previous].isEmpty { previous -= 1 }
            if !text.classes[previous].meets(.upper) { return last }
            last = previous
        }
        return nil
    }

    private func number(_ start: Int, _ first: CharacterClass) -> Int? {
        var position = start
        if rule.spaceBeforeNumber, first.meets(.space) { position += 1 }
        guard kind(position).meets(.number) else { return nil }
        var count = 0
        while count < rule.digits, kind(position).meets(.number) {
            position = text.next(position)
            count += 1
        }
        return position
    }

    private func punctuation(_ start: Int, _ first: CharacterClass) -> Int? {
        let begin = first.meets(.space) ? start + 1 : start
        var position = skip(begin, while: rule.punctuation)
        guard position > begin else { return nil }
        switch rule.punctuationTail {
        case .none: break
        case .newlines: position = skip(position, while: .newline)
        case .newlinesAndSlashes: while isNewlineOrSlash(position) { position += 1 }
        case .oneNewlineOrSlash: if isNewlineOrSlash(position) { position += 1 }
        }
        return position
    }

    private func isNewlineOrSlash(_ position: Int) -> Bool {
        kind(position).meets(.newline) || byte(position) == UInt8(ascii: "/")
    }

    /// Splits the white space at `start`, which must exist, and returns where the next match begins.
    func whitespace(_ start: Int, into ends: inout [Int]) -> Int {
        if rule.lineEnd == .single, text.classes[start].meets(.newline) { return start + 1 }
        let runEnd = skip(start, while: .whitespace)
        if rule.lineEnd == .withWhitespaceBefore,
            let newline = (start..<runEnd).last(where: { text.classes[$0].meets(.newline) })
        {
            return newline + 1
        }
        // The last white space character is part of the word, unless it is the only one.
        var last = runEnd
        if runEnd < end {
            last -= 1
            while text.classes[last].isEmpty { last -= 1 }
            if last == start { return runEnd }
        }
        if rule.whitespace == .powersOfTwo { powersOfTwo(start, last, into: &ends) }
        return last
    }

    private func powersOfTwo(_ start: Int, _ runEnd: Int, into ends: inout [Int]) {
        var left = text.classes[start..<runEnd].count { !$0.isEmpty }
        var (position, size) = (start, 512)
        while left > 0 {
            while size > left { size /= 2 }
            for _ in 0..<size { position = text.next(position) }
            ends.append(position)
            left -= size
        }
    }
}
