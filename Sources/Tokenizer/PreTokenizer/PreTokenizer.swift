/// Cuts text into the pieces that BPE merges within.
///
/// A family is a list of passes. Each pass cuts every piece that the one before left, and sees nothing beyond the piece:
/// a piece's end is to it the text's end.
struct PreTokenizer: Sendable {
    var passes: [Pass]

    enum Pass: Sendable {
        case words(WordRule)
        case runs(RunRule)
        case digitGroups(DigitGroupRule)
        case framed(FramedRule)
        /// `\s+$`
        case trailingWhitespace
        /// `[\t\n]|    |  `: tabs and line feeds one by one, spaces by four and two.
        case indents
    }

    /// The ends of the pieces, ascending; the last is `text`'s length. Empty for an empty text.
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
    /// Appends the ends of the pieces of `piece`, which is not empty.
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

    /// Cuts around each match; what lies between two matches is one piece.
    ///
    /// - Parameter match: Where the match that begins at a position ends, `nil` if none does. Not empty.
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
