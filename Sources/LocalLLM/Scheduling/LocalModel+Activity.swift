extension LocalModel {
    /// The current load of a model.
    public struct Activity: Sendable, Equatable {
        /// Requests being computed; `waiting` ones are queued.
        public var running = 0
        public var waiting = 0
        /// Tokens in the prefix cache.
        public var cachedTokens = 0
        /// Bytes of the states of running sequences and of the prefix cache.
        public var stateBytes = 0
        /// Bytes of the cached constraints.
        public var constraintBytes = 0
    }

    /// The client on whose behalf a task calls. Clients get equal shares of running sequences, of the queue, and of the
    /// time for embeddings and scores. `nil`: each request is a client of its own.
    @TaskLocal package static var client: String?
}
