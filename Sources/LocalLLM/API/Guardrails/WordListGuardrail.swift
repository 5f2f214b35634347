public import Foundation

/// Refuses prompts and answers that contain certain words or phrases: an example of a guardrail.
///
/// Compares whole words, ignoring case; any characters between two words of a phrase count as a space. It does not
/// understand meaning and is easy to evade.
public struct WordListGuardrail: Guardrail {
    /// Each a phrase of one or more words, in lower case.
    private let phrases: [[String]]
    private let message: String

    /// - Parameters:
    ///   - phrases: Words or phrases. Those without a letter or digit are ignored.
    ///   - message: The message shown to the user.
    public init(_ phrases: [String], message: String = "Blocked by the content filter.") {
        self.phrases = phrases.map { Self.words(of: $0[...]).map(\.text) }.filter { !$0.isEmpty }
        self.message = message
    }

    /// Reads words and phrases from a UTF-8 file, one per line. Lines that begin with `#` are comments.
    ///
    /// - Throws: `LocalModelError.invalidOption` for a file without words; Foundation's error if it cannot be read.
    public init(
        contentsOf file: URL, message: String = "Blocked by the content filter."
    ) throws {
        let lines = try String(contentsOf: file, encoding: .utf8).split(whereSeparator: \.isNewline)
        let phrases = lines.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.hasPrefix("#") }
        self.init(phrases, message: message)
        guard !self.phrases.isEmpty else {
            throw LocalModelError.invalidOption("\(file.path): expected words or phrases, one a line, found none")
        }
    }

    public func review(_ text: GuardedText) -> GuardrailVerdict {
        // The passed part does not contain the start of a match, but may end within a word.
        let passed = text.text[..<text.passed]
        let start = passed.lastIndex { !Self.isInWord($0) }.map { passed.index(after: $0) } ?? passed.startIndex
        let words = Self.words(of: text.text[start...])
        for (index, word) in words.enumerated() {
            for phrase in phrases {
                switch match(phrase, words[index...], end: text.isWhole ? nil : text.text.endIndex) {
                case .no: continue
                case .yes: return .violation(message)
                case .perhaps: return .pass(upTo: word.range.lowerBound)
                }
            }
        }
        return .pass(upTo: text.text.endIndex)
    }

    private enum Match { case no, yes, perhaps }

    /// - Parameter end: Where the text may continue; `nil` if it is complete.
    private func match(_ phrase: [String], _ words: ArraySlice<Word>, end: String.Index?) -> Match {
        for (expected, word) in zip(phrase, words) {
            if word.range.upperBound == end { return expected.hasPrefix(word.text) ? .perhaps : .no }
            if word.text != expected { return .no }
        }
        if words.count >= phrase.count { return .yes }
        return end == nil ? .no : .perhaps
    }

    private struct Word {
        let text: String
        let range: Range<String.Index>
    }

    private static func words(of text: Substring) -> [Word] {
        text.split { !isInWord($0) }.map { Word(text: $0.lowercased(), range: $0.startIndex..<$0.endIndex) }
    }

    private static func isInWord(_ character: Character) -> Bool { character.isLetter || character.isNumber }
}
