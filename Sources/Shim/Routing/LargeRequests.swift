import Dispatch

/// Where requests with large bodies are worked on: one after the other, on a thread of their own.
///
/// Reading, rendering and tokenizing megabytes takes seconds without a pause. On the threads that all tasks share, of which
/// there is one a core, a few such requests would hold up everyone else's streams.
final class LargeRequests: TaskExecutor {
    /// Smaller bodies are done in some milliseconds.
    static let bytes = 1 << 16

    private let queue = DispatchQueue(label: "large requests")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
