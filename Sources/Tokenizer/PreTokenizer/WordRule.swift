/// The expression that nearly all families share, with parameters: contractions, words, numbers, punctuation, line ends
/// and white space, tried in this order at each position.
///
/// For example, Llama 3's `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
/// ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`. Scalars without a match form one piece up to the next match.
struct WordRule: Sendable {
    enum Contraction: Sendable {
        /// `ofWord`: `'s` and so on are part of the preceding word, in any case.
        case never, lowercase, anyCase, ofWord
    }
    enum WordShape: Sendable {
        /// Letters.
        case run
        /// Letters that begin with capitals and end with lowercase, or are all capitals. As in llama.cpp, letters
        /// beyond ASCII count as both.
        case capitalized
        /// Words joined by single spaces, combining marks included.
        case phrase
    }
    enum PunctuationTail: Sendable { case none, newlines, newlinesAndSlashes, oneNewlineOrSlash }
    enum LineEnd: Sendable {
        /// Line ends are treated as other white space.
        case none
        /// `\s*[\r\n]+`
        case withWhitespaceBefore
        /// `[\r\n]`
        case single
    }
    enum Whitespace: Sendable {
        /// `\s+(?!\S)|\s+`: the last white space character before a word is part of the word.
        case run
        /// As `run`, split into runs of 512, 256, 128, 64, 32, 16, 8, 4, 2 and 1.
        case powersOfTwo
    }

    var contraction = Contraction.anyCase
    /// ASCII punctuation or symbol joined with the following ASCII letters: `[!-/:-@[-`{-~][A-Za-z]+`.
    var joinsPunctuationToWord = false
    /// Whether runs of Han are isolated instead of being part of words.
    var isolatesHan = false
    /// A word may begin with one scalar of these classes.
    var prefix: CharacterClass = [.mark, .punctuation, .symbol, .other, .space, .blank]
    var letters: CharacterClass = .letter
    var shape = WordShape.run
    /// Maximum digits per piece; 0: numbers are not matched.
    var digits = 3
    /// Whether a space before a number is part of its piece.
    var spaceBeforeNumber = false
    var punctuation: CharacterClass = [.mark, .punctuation, .symbol, .other]
    var punctuationTail = PunctuationTail.newlines
    var lineEnd = LineEnd.withWhitespaceBefore
    var whitespace = Whitespace.run

    func split(_ text: ClassifiedText, _ piece: Range<Int>, into ends: inout [Int]) {
        let scan = WordScan(rule: self, text: text, end: piece.upperBound)
        var position = piece.lowerBound
        var unmatched = false
        while position < piece.upperBound {
            let start = position
            let count = ends.count
            if let end = scan.match(position) {
                position = end
            } else if text.classes[position].meets(.whitespace) {
                position = scan.whitespace(position, into: &ends)
            } else {
                unmatched = true
                position = text.next(position)
                continue
            }
            if unmatched { ends.insert(start, at: count) }
            unmatched = false
            if ends.last != position { ends.append(position) }
        }
        if unmatched { ends.append(piece.upperBound) }
    }
}
