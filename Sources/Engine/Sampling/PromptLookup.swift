/// Drafts tokens from an earlier occurrence of the last tokens: in the prompt, in the expected answer, or in the answer
/// so far. The occurrence with the longest match is used; of equal ones the last. After a token that differs from the
/// guess, as in an edited copy, the next guess continues after the token that was expected.
///
/// Source: prompt lookup decoding (Saxena, 2023) and suffix decoding (Oliaro et al., 2024).
struct PromptLookup {
    /// Tokens that may follow.
    struct Guess: Equatable {
        /// Number of matching tokens before it, `longestMatch` at most; less than `shortestMatch` if the last guess is
        /// continued after a token that differed.
        var match: Int
        var tokens: [Int32]
    }

    /// Minimum match length in tokens.
    static let shortestMatch = 3
    static let longestMatch = 32
    /// Maximum occurrences compared, most recent first: repetitive text has too many.
    private static let comparedPlaces = 16
    /// Tokens in a row that differ from a guess before it is given up.
    private static let mostDifferences = 3

    /// The searched text: expected answer, prompt, answer so far.
    private var text: [Int32]
    /// Position after the last occurrence of each group of `shortestMatch` tokens, by hash of the group.
    private var last: [UInt64: Int32] = [:]
    /// For each position, the previous one with the same group; -1: none.
    private var earlier: [Int32] = []
    private let expectedCount: Int
    private(set) var answerCount = 0
    /// Position of the token that continues the last guess; `nil` after several tokens that differed.
    private var continuation: Int?
    /// Tokens of the answer that equal the last guess, since one differed; negative: the number that differed in a row.
    private var agreement = 0
    /// Whether the answer so far is a prefix of the expected answer.
    private var isAsExpected = true

    /// - Parameters:
    ///   - expected: A prediction of the answer by the caller; may be empty.
    ///   - prompt: The tokens before the answer.
    init(expected: [Int32], prompt: [Int32]) {
        text = expected + prompt
        expectedCount = expected.count
        index()
    }

    /// Appends tokens of the answer.
    mutating func append(_ tokens: some Collection<Int32>) {
        isAsExpected = isAsExpected && text[..<expectedCount].dropFirst(answerCount).starts(with: tokens)
        for token in tokens { compare(token) }
        text += tokens
        answerCount += tokens.count
        index()
    }

    /// Advances the continuation of the last guess by a token of the answer.
    private mutating func compare(_ token: Int32) {
        guard let place = continuation else { return }
        if place < text.count, text[place] == token {
            agreement = min(Self.longestMatch, max(0, agreement) + 1)
        } else {
            agreement = min(0, agreement) - 1
        }
        continuation = place + 1 < text.count && agreement > -Self.mostDifferences ? place + 1 : nil
    }

    /// - Parameter count: Maximum tokens of the guess.
    mutating func guess(_ count: Int) -> Guess? {
        if isAsExpected, answerCount < expectedCount {
            (continuation, agreement) = (answerCount, Self.longestMatch)
            return Guess(
                match: Self.longestMatch, tokens: Array(text[..<expectedCount].dropFirst(answerCount).prefix(count)))
        }
        guard count > 0, text.count >= Self.shortestMatch else { return nil }
        var best: (match: Int, place: Int)?
        var place = Int(last[hash(endingAt: text.count)] ?? -1)
        var compared = 0
        while place >= 0, compared < Self.comparedPlaces {
            // Nothing follows the end of the text.
            if place < text.count {
                let match = match(before: place)
                if match >= Self.shortestMatch, match > best?.match ?? 0 { best = (match, place) }
                if match == Self.longestMatch { break }
            }
            place = Int(earlier[place])
            compared += 1
        }
        if best == nil, let continuation { best = (max(0, agreement), continuation) }
        guard let best else { return nil }
        if best.match >= Self.shortestMatch { (continuation, agreement) = (best.place, best.match) }
        // Where the text is periodic, the continuation runs into the guess itself.
        var tokens: [Int32] = []
        for index in best.place..<best.place + count {
            tokens.append(index < text.count ? text[index] : tokens[index - text.count])
        }
        return Guess(match: best.match, tokens: tokens)
    }

    private mutating func index() {
        for place in earlier.count...text.count {
            guard place >= Self.shortestMatch else {
                earlier.append(-1)
                continue
            }
            earlier.append(last.updateValue(Int32(place), forKey: hash(endingAt: place)) ?? -1)
        }
    }

    /// Length of the match between the tokens before a position and those at the end.
    private func match(before place: Int) -> Int {
        var count = 0
        while count < min(place, Self.longestMatch), text[place - 1 - count] == text[text.count - 1 - count] {
            count += 1
        }
        return count
    }

    /// Collisions of different groups are harmless, since occurrences are compared.
    private func hash(endingAt place: Int) -> UInt64 {
        text[(place - Self.shortestMatch)..<place].reduce(0) { hash, token in
            (hash ^ UInt64(UInt32(bitPattern: token))) &* 0x9E37_79B9_7F4A_7C15
        }
    }
}
