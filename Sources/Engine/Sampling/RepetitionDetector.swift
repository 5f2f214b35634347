/// Detects that the last tokens of an answer only repeat a short part.
///
/// A model that repeats itself under a constraint may never get to the end: in a string or an array, repeating is always
/// allowed, and the token that would end the text becomes ever less likely.
struct RepetitionDetector {
    /// Number of last tokens that must repeat the part.
    static let length = 512
    /// Maximum tokens of the repeated part.
    static let longestPeriod = 64

    /// The last tokens, as a ring: the token of position `i` is at `i % longestPeriod`.
    private var recent: [Int32] = []
    private var count = 0
    /// By period minus one: number of last tokens that are each equal to the token one period earlier.
    private var runs = [Int](repeating: 0, count: longestPeriod)

    /// Adds a token.
    ///
    /// - Returns: Whether the last `length` tokens repeat a part of at most `longestPeriod` tokens.
    mutating func accept(_ token: Int32) -> Bool {
        var isRepetition = false
        for period in 1...Self.longestPeriod {
            guard period <= count, recent[(count - period) % Self.longestPeriod] == token else {
                runs[period - 1] = 0
                continue
            }
            runs[period - 1] += 1
            if runs[period - 1] + period >= Self.length { isRepetition = true }
        }
        if count < Self.longestPeriod { recent.append(token) } else { recent[count % Self.longestPeriod] = token }
        count += 1
        return isRepetition
    }
}
