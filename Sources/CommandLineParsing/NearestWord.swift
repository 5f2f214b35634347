/// The candidate that a mistyped word most likely means: one that begins with it, or else the one with the fewest edits.
///
/// - Returns: `nil` where each candidate differs in more than a third of the word.
public func nearestWord(to word: String, in candidates: some Sequence<String>) -> String? {
    let lowered = word.lowercased()
    let candidates = Array(candidates)
    if lowered.count > 2, let whole = candidates.first(where: { $0.lowercased().hasPrefix(lowered) }) { return whole }
    let distances = candidates.map { (word: $0, edits: edits(from: lowered, to: $0.lowercased())) }
    guard let nearest = distances.min(by: { $0.edits < $1.edits }), nearest.edits <= mostEdits(lowered) else {
        return nil
    }
    return nearest.word
}

/// How many edits a word may differ by from what it means: one in three characters.
func mostEdits(_ word: String) -> Int { max(1, word.count / 3) }

/// The number of characters that are inserted, deleted, replaced, or swapped with their neighbour.
///
/// - Parameter anywhere: Whether what stands before and after the word in `text` is not counted.
func edits(from word: String, to text: String, anywhere: Bool = false) -> Int {
    let (word, text) = (Array(word.prefix(100)), Array(text.prefix(200)))
    var beforeLast = [Int](repeating: 0, count: text.count + 1)
    var last = (0...text.count).map { anywhere ? 0 : $0 }
    for (row, character) in word.enumerated() {
        var current = [row + 1] + last.dropFirst()
        for column in text.indices {
            let isSame = character == text[column]
            var best = min(last[column] + (isSame ? 0 : 1), last[column + 1] + 1, current[column] + 1)
            if row > 0, column > 0, character == text[column - 1], word[row - 1] == text[column] {
                best = min(best, beforeLast[column - 1] + 1)
            }
            current[column + 1] = best
        }
        (beforeLast, last) = (last, current)
    }
    return anywhere ? last.min()! : last[text.count]
}
