import Platform
import Tokenizer

extension SamplingOptions {
    /// Don't Repeat Yourself (p-e-w 2024): penalizes tokens that would extend a repetition of earlier text; the penalty
    /// grows exponentially with the length of the repetition.
    public struct DRY: Sendable, Equatable, Codable {
        /// The penalty in logits of a repetition of `allowedLength` tokens; 0 is off.
        public var multiplier: Double
        /// Factor on the penalty for each further token of the repetition.
        public var base: Double
        /// Repetitions shorter than this many tokens are not penalized.
        public var allowedLength: Int
        /// Number of most recent tokens, prompt included, that are searched for repetitions; -1: all.
        public var window: Int
        /// Texts that end a repetition. A token that contains one is never penalized.
        public var breakers: [String]

        public init(
            multiplier: Double, base: Double = 1.75, allowedLength: Int = 2, window: Int = -1,
            breakers: [String] = ["\n", ":", "\"", "*"]
        ) {
            self.multiplier = multiplier
            self.base = base
            self.allowedLength = allowedLength
            self.window = window
            self.breakers = breakers
        }
    }
}

/// DRY state of one generation.
struct DRYSampler {
    private let options: SamplingOptions.DRY
    private let tokenizer: TextTokenizer?
    private let breakers: [[UInt8]]
    /// The last tokens, newest first.
    private var recent: [Int32] = []
    /// Tokens since the last breaker.
    private var sinceBreaker = 0
    /// End of the text, one byte shorter than the longest breaker.
    private var tail: [UInt8] = []
    private var penalties: [Int32: Double] = [:]

    init(_ options: SamplingOptions.DRY, prompt: [Int32], tokenizer: TextTokenizer?) {
        self.options = options
        self.tokenizer = tokenizer
        breakers = options.breakers.map { Array($0.utf8) }.filter { !$0.isEmpty }
        for token in options.window < 0 ? prompt[...] : prompt.suffix(options.window) { accept(token) }
    }

    mutating func accept(_ token: Int32) {
        recent.insert(token, at: 0)
        if options.window >= 0, recent.count > options.window { recent.removeLast() }
        let text = tail + bytes(of: token)
        // A breaker found here ends inside the token: the tail alone is too short for one.
        sinceBreaker = breakers.contains { text.firstRange(of: $0) != nil } ? 0 : sinceBreaker + 1
        tail = text.suffix(max(0, (breakers.map(\.count).max() ?? 0) - 1))
    }

    /// Lowers the logits of tokens that would continue a repetition.
    mutating func penalize(_ candidates: inout Candidates) {
        let limit = min(sinceBreaker, recent.count)
        guard options.multiplier != 0, limit >= options.allowedLength, recent.count > options.allowedLength else {
            return
        }
        penalties.removeAll(keepingCapacity: true)
        // `matches[position]`: how many tokens before `recent[position - 1]` equal those at the end of the text.
        let matches = Self.matches(in: recent)
        for position in 1..<recent.count {
            let length = min(matches[position], limit)
            guard length >= options.allowedLength else { continue }
            let penalty = options.multiplier * pow(options.base, Double(length - options.allowedLength))
            let token = recent[position - 1]
            // Limited so that no sum overflows.
            penalties[token] = max(penalties[token] ?? 0, min(penalty, Double(Float.greatestFiniteMagnitude) / 4))
        }
        for (token, penalty) in penalties where !containsBreaker(token) {
            candidates.adjust(token) { $0 - Float(penalty) }
        }
    }

    /// For each position, the length of the longest match with the beginning (the Z-function; Gusfield 1997). Linear
    /// time: `recent` may be a whole context.
    static func matches(in sequence: [Int32]) -> [Int] {
        var lengths = [Int](repeating: 0, count: sequence.count)
        // The match that extends furthest: sequence[start..<end] equals sequence[0..<end - start].
        var (start, end) = (0, 0)
        for position in sequence.indices.dropFirst() {
            var length = position < end ? min(end - position, lengths[position - start]) : 0
            while position + length < sequence.count, sequence[length] == sequence[position + length] { length += 1 }
            lengths[position] = length
            if position + length > end { (start, end) = (position, position + length) }
        }
        return lengths
    }

    private func containsBreaker(_ token: Int32) -> Bool {
        let text = bytes(of: token)
        return breakers.contains { text.firstRange(of: $0) != nil }
    }

    private func bytes(of token: Int32) -> [UInt8] { tokenizer?.bytes(of: token, includingControl: true) ?? [] }
}
