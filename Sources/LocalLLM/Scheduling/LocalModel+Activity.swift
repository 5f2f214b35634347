extension LocalModel {
    /// What a model is doing.
    public struct Activity: Sendable, Equatable {
        /// Requests that are computed side by side, and those that wait.
        public var running = 0
        public var waiting = 0
        /// Tokens whose keys and values are remembered.
        public var cachedTokens = 0
    }

    /// Whose work a task does. Clients get equal shares of a model: of the places for sequences, of those to wait, and of the
    /// time for embeddings and scores. `nil`: nobody's in particular.
    @TaskLocal public static var client: String?
}
