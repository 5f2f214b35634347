/// Who shares the engine's time.
package enum FairShare {
    /// The client on whose behalf a task calls. Clients get equal shares of running sequences, of the queue, and of the
    /// time for embeddings and scores. `nil`: each request is a client of its own.
    @TaskLocal package static var client: String?
}
