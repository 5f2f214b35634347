/// Splits text into the pieces within which BPE merges.
///
/// A family is a list of passes. Each pass splits every piece of the previous one and does not look beyond the piece:
/// the end of a piece counts as the end of the text.
struct PreTokenizer: Sendable {
    var passes: [Pass]

    enum Pass: Sendable {
        case words(WordRule)
        case runs(RunRule)
        case digitGroups(DigitGroupRule)
        case framed(FramedRule)
        /// `\s+$`
        case trailingWhitespace
        /// `[\t\n]|    |  `: single tabs and line feeds, spaces in fours and twos.
        case indents
    }

    /// Ends of the pieces, ascending; the last is the length of `text`. Empty for an empty text.
    func split(_ text: ClassifiedText) -> [Int] {
        guard !text.bytes.isEmpty else { return [] }
        var ends = [text.bytes.count]
        for pass in passes {
            var cuts: [Int] = []
            cuts.reserveCapacity(max(ends.count, text.bytes.count / 4))
            var start = 0
            for end in ends {
                pass.split(text, start..<end, into: &cuts)
                start = end
            }
            ends = cuts
        }
        return ends
    }
}

extension PreTokenizer.Pass {
    /// Appends the ends of the pieces within `piece`, which must not be empty.
    fileprivate func split(_ text: ClassifiedText, _ piece: Range<Int>, into ends: inout [Int]) {
        switch self {
        case .words(let rule): rule.split(text, piece, into: &ends)
        case .runs(let rule): matches(text, piece, into: &ends) { rule.match(text, $0, $1) }
        case .digitGroups(let rule): rule.split(text, piece, into: &ends)
        case .framed(let rule): matches(text, piece, into: &ends) { rule.match(text, $0, $1) }
        case .indents: matches(text, piece, into: &ends) { indent(text, $0, $1) }
        case .trailingWhitespace:
            // The last scalar that is not white space ends where the trailing run begins.
            var start = piece.lowerBound
            var position = piece.lowerBound
            while position < piece.upperBound {
                let next = text.next(position)
                if !text.classes[position].meets(.whitespace) { start = next }
                position = next
            }
            if start > piece.lowerBound, start < piece.upperBound { ends.append(start) }
            ends.append(piece.upperBound)
        }
    }

    /// Splits around each match; the text between two matches is one piece.
    ///
    /// - Parameter match: End of the match that begins at a position; `nil` if there is none. Matches are not empty.
    private func matches(
        _ text: ClassifiedText, _ piece: Range<Int>, into ends: inout [Int], match: (Int, Int) -> Int?
    ) {
        var position = piece.lowerBound
        var unmatched = false
        while position < piece.upperBound {
            guard let end = match(position, piece.upperBound) else {
                unmatched = true
                position = text.next(position)
                continue
            }
            if unmatched { ends.append(position) }
            unmatched = false
            ends.append(end)
            position = end
        }
        if unmatched { ends.append(piece.upperBound) }
    }

    private func indent(_ text: ClassifiedText, _ position: Int, _ end: Int) -> Int? {
        switch text.bytes[position] {
        case UInt8(ascii: "\t"), UInt8(ascii: "\n"): return position + 1
        case UInt8(ascii: " "):
            let spaces = text.bytes[position..<min(position + 4, end)].prefix { $0 == UInt8(ascii: " ") }.count
            return spaces == 4 ? position + 4 : spaces >= 2 ? position + 2 : nil
        default: return nil
        }
    }
}
