extension Task where Failure == any Error {
    /// The task's value, unless the waiting task is cancelled; the task itself then continues for other waiters.
    ///
    /// - Throws: The task's error, or `CancellationError`.
    var valueUnlessCancelled: Success {
        get async throws {
            let (stream, continuation) = AsyncThrowingStream<Success, any Error>.makeStream()
            Task<Void, Never> {
                continuation.yield(with: await result)
                continuation.finish()
            }
            for try await value in stream { return value }
            throw _Concurrency.CancellationError()  // `Task` has a deprecated nested type of that name
        }
    }
}
