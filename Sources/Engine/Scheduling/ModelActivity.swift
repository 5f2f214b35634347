/// The current load of a model.
public struct ModelActivity: Sendable, Equatable {
    /// Requests being computed; `waiting` ones are queued.
    public var running = 0
    public var waiting = 0
    /// Tokens in the prefix cache.
    public var cachedTokens = 0
    /// Bytes of the states of running sequences and of the prefix cache.
    public var stateBytes = 0
    /// Bytes of the cached constraints.
    public var constraintBytes = 0

    package init(
        running: Int = 0, waiting: Int = 0, cachedTokens: Int = 0, stateBytes: Int = 0, constraintBytes: Int = 0
    ) {
        self.running = running
        self.waiting = waiting
        self.cachedTokens = cachedTokens
        self.stateBytes = stateBytes
        self.constraintBytes = constraintBytes
    }
}
