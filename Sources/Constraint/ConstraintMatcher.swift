/// Follows one text under a constraint, token by token.
///
/// A value type: a copy is a fork, and an earlier copy is a checkpoint to roll back to. After a copy, the first change
/// costs about as much as copying the text so far.
public struct ConstraintMatcher: Sendable {
    public let constraint: Constraint
    private var state: MachineState
    private var epoch: Int
    /// The accepted text, without end tokens.
    public private(set) var text: [UInt8] = []
    /// Whether an end token was accepted.
    public private(set) var isEnded = false

    init(_ constraint: Constraint, _ state: MachineState, _ epoch: Int) {
        self.constraint = constraint
        self.state = state
        self.epoch = epoch
    }

    private mutating func with<R>(
        _ body: (inout Constraint.Runtime, inout MachineState) -> R
    ) throws(ConstraintError) -> R {
        var place = Constraint.EpochState(state: state, epoch: epoch)
        defer { (state, epoch) = (place.state, place.epoch) }
        return try constraint.with(&place, text: text, body)
    }

    /// Replaces `mask` by the tokens that may come next; end tokens are included if the text is complete.
    /// - Throws: `ConstraintError` of kind `budget`.
    public mutating func mask(into mask: inout TokenMask) throws(ConstraintError) {
        if mask.count != constraint.vocabulary.count { mask = TokenMask(count: constraint.vocabulary.count) }
        guard !isEnded else { return mask.removeAll() }
        let (text, vocabulary) = (text, constraint.vocabulary)
        var filled = mask
        mask = TokenMask(count: 0)
        try with { runtime, state in runtime.fill(&filled, state, after: text, vocabulary) }
        mask = filled
    }

    /// Whether the token may come next; much cheaper than a mask.
    /// - Throws: `ConstraintError` of kind `budget`.
    public mutating func allows(_ token: Int32) throws(ConstraintError) -> Bool {
        guard !isEnded else { return false }
        if constraint.vocabulary.endOfGeneration.contains(token) { return try isComplete() }
        guard let bytes = constraint.vocabulary.bytes(of: token) else { return false }
        return try allows(bytes: bytes)
    }

    /// Whether these bytes may come next.
    public mutating func allows(bytes: [UInt8]) throws(ConstraintError) -> Bool {
        let text = text
        return try with { runtime, state -> Bool in
            var after = state
            return runtime.read(bytes, &after, after: text) == bytes.count
        }
    }

    /// Advances by a token.
    /// - Throws: `ConstraintError` of kind `token` if it is not allowed, which leaves the matcher unchanged, or
    ///   `budget`.
    public mutating func accept(_ token: Int32) throws(ConstraintError) {
        if constraint.vocabulary.endOfGeneration.contains(token) {
            guard !isEnded, try isComplete() else { throw refusal("token \(token), which ends the text,") }
            isEnded = true
            return
        }
        guard !isEnded, let bytes = constraint.vocabulary.bytes(of: token) else { throw refusal("token \(token)") }
        guard try accept(bytes: bytes) == bytes.count else { throw refusal("token \(token)") }
    }

    private func refusal(_ what: String) -> ConstraintError {
        ConstraintError(.token, "", "\(what) is not allowed after \(text.count) bytes")
    }

    /// Advances by bytes if all of them are allowed.
    /// - Returns: How many are allowed; if not all, the matcher is unchanged.
    public mutating func accept(bytes: [UInt8]) throws(ConstraintError) -> Int {
        let text = text
        let count = try with { runtime, state -> Int in
            var after = state
            let count = runtime.read(bytes, &after, after: text)
            if count == bytes.count { state = after }
            return count
        }
        if count == bytes.count { self.text += bytes }
        return count
    }

    /// Whether the text may end here.
    /// - Throws: `ConstraintError` of kind `budget`.
    public mutating func isComplete() throws(ConstraintError) -> Bool {
        if isEnded { return true }
        return try with { runtime, state in runtime.isComplete(state) }
    }

    /// The bytes that must come next, up to the first choice or possible end.
    /// - Parameter limit: Maximum number of bytes.
    /// - Throws: `ConstraintError` of kind `budget`.
    public mutating func forcedBytes(limit: Int = 512) throws(ConstraintError) -> [UInt8] {
        guard !isEnded else { return [] }
        let text = text
        return try with { runtime, state -> [UInt8] in
            var (bytes, current) = ([UInt8](), state)
            while bytes.count < limit, !runtime.isComplete(current), !runtime.machine.isExhausted {
                var only: (byte: UInt8, state: MachineState)?
                let before = text + bytes
                for byte in UInt8.min...UInt8.max {
                    var after = current
                    guard runtime.read([byte], &after, after: before) == 1 else { continue }
                    guard only == nil else { return bytes }
                    only = (byte, after)
                }
                guard let only else { return bytes }
                bytes.append(only.byte)
                current = only.state
            }
            return bytes
        }
    }
}
