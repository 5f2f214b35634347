/// Guesses how a text goes on from where the same tokens came before: in the prompt, in what the answer is expected to be, or
/// in the answer so far. Of several places the one with the longest match counts, of equal ones the last.
///
/// Source: prompt lookup decoding (Saxena, 2023) and suffix decoding (Oliaro et al., 2024).
struct PromptLookup {
    /// What may follow.
    struct Guess: Equatable {
        /// How many tokens before it were the same, `longestMatch` at most.
        var match: Int
        var tokens: [Int32]
    }

    /// So many tokens must be the same.
    static let shortestMatch = 3
    static let longestMatch = 32
    /// Places that are compared, the last first: a text that says one thing over and over has too many.
    private static let comparedPlaces = 16

    /// What is looked through: what the answer is expected to be, the prompt, the answer.
    private var text: [Int32]
    /// The place after the last occurrence of each group of `shortestMatch` tokens, by a hash of the group.
    private var last: [UInt64: Int32] = [:]
    /// For each place, the one before it with the same group; -1 for none.
    private var earlier: [Int32] = []
    private let expectedCount: Int
    private(set) var answerCount = 0
    /// Whether the answer so far is how the expected one begins.
    private var isAsExpected = true

    /// - Parameters:
    ///   - expected: What the answer is expected to be, as far as somebody knows; may be empty.
    ///   - prompt: The tokens before the answer.
    init(expected: [Int32], prompt: [Int32]) {
        text = expected + prompt
        expectedCount = expected.count
        index()
    }

    /// Takes up tokens of the answer.
    mutating func append(_ tokens: some Collection<Int32>) {
        isAsExpected = isAsExpected && text[..<expectedCount].dropFirst(answerCount).starts(with: tokens)
        text += tokens
        answerCount += tokens.count
        index()
    }

    /// - Parameter count: Most tokens of the guess.
    func guess(_ count: Int) -> Guess? {
        if isAsExpected, answerCount < expectedCount {
            return Guess(
                match: Self.longestMatch, tokens: Array(text[..<expectedCount].dropFirst(answerCount).prefix(count)))
        }
        guard count > 0, text.count >= Self.shortestMatch else { return nil }
        var best: (match: Int, place: Int)?
        var place = Int(last[hash(endingAt: text.count)] ?? -1)
        var compared = 0
        while place >= 0, compared < Self.comparedPlaces {
            // The end itself says nothing of what follows.
            if place < text.count {
                let match = match(before: place)
                if match >= Self.shortestMatch, match > best?.match ?? 0 { best = (match, place) }
                if match == Self.longestMatch { break }
            }
            place = Int(earlier[place])
            compared += 1
        }
        guard let best else { return nil }
        // Where the text repeats itself, what follows is part of the guess.
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

    /// How many tokens before a place are those at the end.
    private func match(before place: Int) -> Int {
        var count = 0
        while count < min(place, Self.longestMatch), text[place - 1 - count] == text[text.count - 1 - count] {
            count += 1
        }
        return count
    }

    /// Equal groups have equal hashes; that others rarely do is enough, since places are compared.
    private func hash(endingAt place: Int) -> UInt64 {
        text[(place - Self.shortestMatch)..<place].reduce(0) { hash, token in
            (hash ^ UInt64(UInt32(bitPattern: token))) &* 0x9E37_79B9_7F4A_7C15
        }
    }
}
