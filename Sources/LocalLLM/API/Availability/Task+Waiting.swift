extension Task where Failure == any Error {
    /// The task's value, as long as the waiting task is not cancelled; the task itself goes on for others who wait.
    ///
    /// - Throws: What the task throws, or `CancellationError`.
    var valueUnlessCancelled: Success {
        get async throws {
            let (stream, continuation) = AsyncThrowingStream<Success, any Error>.makeStream()
            Task<Void, Never> {
                continuation.yield(with: await result)
                continuation.finish()
            }
            for try await value in stream { return value }
            throw _Concurrency.CancellationError()  // `Task` has an old function of that name
        }
    }
}
