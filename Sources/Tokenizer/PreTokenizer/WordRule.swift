/// The expression that nearly all families share, as parameters: contractions, words, numbers, punctuation, line ends
/// and white space, tried in this order at each position.
///
/// For example, Llama 3's
/// `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`.
/// Scalars that nothing matches are one piece up to the next match.
struct WordRule: Sendable {
    enum Contraction: Sendable {
        /// `'s` … after a word belongs to it, whatever its case.
        case never, lowercase, anyCase, ofWord
    }
    enum WordShape: Sendable {
        /// Letters.
        case run
        /// Letters that begin with capitals and end with small ones, or are all capital. Beyond ASCII every letter
        /// counts as both, as in llama.cpp.
        case capitalized
        /// Words with single spaces between them, combining marks included.
        case phrase
    }
    enum PunctuationTail: Sendable { case none, newlines, newlinesAndSlashes, oneNewlineOrSlash }
    enum LineEnd: Sendable {
        /// A line end is white space like other.
        case none
        /// `\s*[\r\n]+`
        case withWhitespaceBefore
        /// `[\r\n]`
        case single
    }
    enum Whitespace: Sendable {
        /// `\s+(?!\S)|\s+`: the last white space before a word is left to the word.
        case run
        /// The same in runs of 512, 256, 128, 64, 32, 16, 8, 4, 2 and 1.
        case powersOfTwo
    }

    var contraction = Contraction.anyCase
    /// An ASCII punctuation mark or symbol takes the ASCII letters after it: `[!-/:-@[-`{-~][A-Za-z]+`.
    var joinsPunctuationToWord = false
    /// Runs of Han are isolated and not part of words.
    var isolatesHan = false
    /// One scalar of these classes may begin a word.
    var prefix: CharacterClass = [.mark, .punctuation, .symbol, .other, .space, .blank]
    var letters: CharacterClass = .letter
    var shape = WordShape.run
    /// Most digits in a piece; 0: numbers are not matched.
    var digits = 3
    /// A space before a number is part of it.
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
