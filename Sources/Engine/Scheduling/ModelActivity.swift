import KernelFormats

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
    /// Share of the memory for states that the running requests need, 0...1. The prefix cache may have the rest.
    public var cacheUse = 0.0
    /// Blocks that fit in this memory; 0: the model keeps no keys and values.
    public var cacheBlocks = 0
    /// Whether no further request is accepted now.
    public var isFull = false

    /// Tokens of a block, the unit of the KV cache and of the prefixes that requests share.
    public static let blockTokens = pageTokens

    package init(
        running: Int = 0, waiting: Int = 0, cachedTokens: Int = 0, stateBytes: Int = 0, constraintBytes: Int = 0,
        cacheUse: Double = 0, cacheBlocks: Int = 0, isFull: Bool = false
    ) {
        self.running = running
        self.waiting = waiting
        self.cachedTokens = cachedTokens
        self.stateBytes = stateBytes
        self.constraintBytes = constraintBytes
        self.cacheUse = cacheUse
        self.cacheBlocks = cacheBlocks
        self.isFull = isFull
    }
}
