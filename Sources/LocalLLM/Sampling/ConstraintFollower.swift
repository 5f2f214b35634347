import Constraint
import Tokenizer

/// Holds one generation to its constraint: says which tokens may come next, and follows those that were chosen.
struct ConstraintFollower {
    private enum Progress {
        /// The text is free until it contains the marker; these are its last bytes, fewer than the marker has.
        case waiting(tail: [UInt8])
        case following(ConstraintMatcher)
    }

    private let options: GenerationConstraint
    private let marker: [UInt8]
    private let tokenizer: TextTokenizer
    private var progress: Progress
    private var mask = TokenMask(count: 0)

    init(_ options: GenerationConstraint, _ tokenizer: TextTokenizer) {
        self.options = options
        self.tokenizer = tokenizer
        marker = Array((options.start ?? "").utf8)
        progress = marker.isEmpty ? .following(options.shape.matcher()) : .waiting(tail: [])
    }

    /// Whether a token may come next. Asked of the token that the sampler would choose; most are allowed, and then no mask
    /// is computed.
    mutating func allows(_ token: Int32) throws(ConstraintError) -> Bool {
        switch progress {
        case .following(var matcher):
            defer { progress = .following(matcher) }
            return try matcher.allows(token)
        case .waiting(let tail):
            if tokenizer.endOfGeneration.contains(token) { return !options.isRequired }
            guard let rest = rest(after: tail, token) else { return true }
            var matcher = options.shape.matcher()
            return try matcher.accept(bytes: rest) == rest.count
        }
    }

    /// The tokens that may come next, once the constraint applies; `nil` before.
    mutating func allowed() throws(ConstraintError) -> TokenMask? {
        guard case .following(var matcher) = progress else { return nil }
        try matcher.mask(into: &mask)
        progress = .following(matcher)
        return mask
    }

    /// Whether the text may end here.
    mutating func isComplete() throws(ConstraintError) -> Bool {
        guard case .following(var matcher) = progress else { return !options.isRequired }
        defer { progress = .following(matcher) }
        return try matcher.isComplete()
    }

    /// Goes on by a token that is allowed.
    mutating func accept(_ token: Int32) throws(ConstraintError) {
        switch progress {
        case .following(var matcher):
            try matcher.accept(token)
            progress = .following(matcher)
        case .waiting(let tail):
            if let rest = rest(after: tail, token) {
                var matcher = options.shape.matcher()
                _ = try matcher.accept(bytes: rest)
                progress = .following(matcher)
            } else {
                progress = .waiting(tail: Array((tail + bytes(token)).suffix(marker.count - 1)))
            }
        }
    }

    /// The tokens that spell what has no alternative, as the tokenizer writes it. The last of them is left out, since what
    /// follows might have joined it.
    mutating func forced() throws(ConstraintError) -> [Int32] {
        guard case .following(var matcher) = progress else { return [] }
        defer { progress = .following(matcher) }
        let bytes = try matcher.forcedBytes()
        guard bytes.count > 1, let text = String(validating: bytes, as: UTF8.self) else { return [] }
        return tokenizer.encode(text, addSpecial: false, parseSpecial: false).dropLast()
    }

    /// What of the text stands behind the marker once this token came; `nil` where the marker is not whole then.
    private func rest(after tail: [UInt8], _ token: Int32) -> [UInt8]? {
        let text = tail + bytes(token)
        guard text.count >= marker.count else { return nil }
        for start in 0...text.count - marker.count where text[start...].starts(with: marker) {
            return Array(text[(start + marker.count)...])
        }
        return nil
    }

    private func bytes(_ token: Int32) -> [UInt8] { tokenizer.bytes(of: token, includingControl: true) }
}
