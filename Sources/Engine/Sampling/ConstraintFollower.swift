import Constraint
import Tokenizer

/// Applies the constraint and the thought limit to one generation: tells which tokens may come next, and advances with
/// the chosen ones.
struct ConstraintFollower {
    private let tokenizer: TextTokenizer
    /// `nil` if the text is unconstrained.
    private var matcher: GraphMatcher?
    private var thoughts: ThoughtCounter?
    /// Cached result of `forcedTokens()`; `nil` if not computed yet.
    private var forced: [Int32]?
    private var mask = TokenMask(count: 0)
    /// Number of accepted tokens, and the number for which `prepareMask` computed `mask`.
    private var count = 0
    private var preparedCount: Int?
    /// Whether a mask was needed for the last choice; then the next one is likely to need one, too.
    private(set) var wantsMask: Bool

    init(
        _ constraint: GenerationConstraint?, limit: SamplingOptions.ThoughtLimit? = nil, _ tokenizer: TextTokenizer
    ) {
        self.tokenizer = tokenizer
        matcher = constraint?.shape.matcher()
        thoughts = limit.map { ThoughtCounter($0, tokenizer) }
        wantsMask = matcher != nil
    }

    /// Whether a token may come next. Called for the sampler's choice: if it is allowed, no mask is computed.
    mutating func allows(_ token: Int32) throws(ConstraintError) -> Bool {
        wantsMask = try !(matcher?.allows(token) ?? true)
        return !wantsMask
    }

    /// The tokens that may come next.
    mutating func allowed() throws(ConstraintError) -> TokenMask {
        if preparedCount != count { try matcher?.mask(into: &mask) }
        return mask
    }

    /// Computes the mask of the next choice ahead of it: tokens that are forced come before that choice. An error is
    /// thrown again when the mask is needed.
    mutating func prepareMask() {
        guard var matcher, let forced = try? forcedTokens() else { return }
        do {
            for token in forced { try matcher.accept(token) }
            try matcher.mask(into: &mask)
            preparedCount = count + forced.count
        } catch {
            preparedCount = nil
        }
    }

    /// Whether the text may end here.
    func isComplete() throws(ConstraintError) -> Bool { try matcher?.isComplete() ?? true }

    /// Advances by a token, which must be allowed.
    mutating func accept(_ token: Int32) throws(ConstraintError) {
        let rest = forced?.first == token ? forced?.dropFirst() ?? [] : []
        forced = rest.isEmpty ? nil : Array(rest)
        count += 1
        thoughts?.accept(tokenizer.bytes(of: token, includingControl: true))
        try matcher?.accept(token)
    }

    /// Tokens of the text that the constraint leaves no choice about. Tokens at its end that could merge with the text
    /// that follows are left to the model.
    mutating func forcedTokens() throws(ConstraintError) -> [Int32] {
        if let forced { return forced }
        var result: [Int32] = []
        if let thoughts, thoughts.isDue {
            result = thoughts.ending
        } else if let matcher {
            let bytes = try matcher.forcedBytes()
            if !bytes.isEmpty { result = try tokens(of: bytes, after: matcher) }
        }
        forced = result
        return result
    }

    /// Whether the text may go on in several ways, or either go on or end.
    mutating func leavesChoice() throws(ConstraintError) -> Bool {
        guard try forcedTokens().isEmpty else { return false }
        let allowed = try allowed()
        return allowed.allowedCount > tokenizer.endOfGeneration.filter(allowed.contains).count
    }

    /// Tokens of `bytes`, up to the first one that the constraint does not allow, or that ends after the start of an
    /// allowed token which extends beyond `bytes`.
    private func tokens(of bytes: [UInt8], after matcher: GraphMatcher) throws(ConstraintError) -> [Int32] {
        let border = try matcher.firstCrossing(of: bytes)
        guard border > 0 else { return [] }
        // Control tokens are allowed only in the literals of a shape.
        for parsesSpecial in [true, false] {
            var (next, result, end) = (matcher, [Int32](), 0)
            for token in tokens(of: bytes, after: matcher.text, parsesSpecial) {
                end += tokenizer.bytes(of: token, includingControl: true).count
                guard end <= border, try next.allows(token) else { break }
                try next.accept(token)
                result.append(token)
            }
            if !result.isEmpty { return result }
        }
        return []
    }

    /// Tokens of `bytes` following `text`; empty if a token spans the border between the two.
    private func tokens(of bytes: [UInt8], after text: [UInt8], _ parsesSpecial: Bool) -> [Int32] {
        // Pre-tokenizer pieces are mostly shorter than this.
        var context = text.suffix(64)
        while let first = context.first, first & 0b1100_0000 == 0b1000_0000 { context.removeFirst() }
        let whole = context + bytes
        let tokens = tokenizer.encode(bytes: Array(whole), addSpecial: false, parseSpecial: parsesSpecial)
        let texts = tokens.map { tokenizer.bytes(of: $0, includingControl: true) }
        guard texts.joined().suffix(whole.count).elementsEqual(whole) else { return [] }
        // Some tokenizers prepend a space to the first word, which is not part of the text.
        var position = whole.count - texts.reduce(0) { $0 + $1.count }
        for (index, piece) in texts.enumerated() {
            if position == context.count { return Array(tokens[index...]) }
            position += piece.count
        }
        return []
    }
}
