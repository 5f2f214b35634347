import Glibc
import Tokenizer

extension SamplingOptions {
    /// Don't Repeat Yourself (p-e-w 2024): a token that would continue a sequence as it went on before is penalized, the
    /// more the longer that sequence is.
    public struct DRY: Sendable, Equatable {
        /// The penalty of a sequence of the allowed length, in logits; 0 is off.
        public var multiplier: Double
        /// Each further token of the sequence multiplies the penalty by this.
        public var base: Double
        /// Repeated sequences shorter than this many tokens are not penalized.
        public var allowedLength: Int
        /// How many of the last tokens, prompt included, are searched for repetitions; -1: all.
        public var window: Int
        /// No repetition reaches across one of these texts, and a token that contains one is never penalized.
        public var breakers: [String]

        public init(
            multiplier: Double, base: Double = 1.75, allowedLength: Int = 2, window: Int = 64,
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

/// DRY in the course of one generation.
struct DRYSampler {
    private let options: SamplingOptions.DRY
    private let tokenizer: TextTokenizer?
    private let breakers: [[UInt8]]
    /// The last tokens, the newest first.
    private var recent: [Int32] = []
    /// Tokens after the last one that ended a breaker.
    private var sinceBreaker = 0
    /// The end of the text, one byte shorter than the longest breaker.
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
        // Any breaker in here ends inside the token: the tail alone is too short for one.
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
        // The text ends with the same tokens as it did before `recent[position - 1]`, as many as `matches[position]`.
        let matches = Self.matches(in: recent)
        for position in 1..<recent.count {
            let length = min(matches[position], limit)
            guard length >= options.allowedLength else { continue }
            let penalty = options.multiplier * pow(options.base, Double(length - options.allowedLength))
            let token = recent[position - 1]
            // Beyond this every sum would be infinite.
            penalties[token] = max(penalties[token] ?? 0, min(penalty, Double(Float.greatestFiniteMagnitude) / 4))
        }
        for (token, penalty) in penalties where !containsBreaker(token) {
            candidates.adjust(token) { $0 - Float(penalty) }
        }
    }

    /// For each position, how many elements from there on equal those at the beginning (the Z-function; Gusfield 1997).
    /// Linear in time: `recent` may be a whole context.
    static func matches(in sequence: [Int32]) -> [Int] {
        var lengths = [Int](repeating: 0, count: sequence.count)
        // The match that reaches furthest: sequence[start..<end] equals sequence[0..<end - start].
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
