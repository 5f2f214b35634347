/// Runs the tasks of clients on `FairThreads`: long synchronous work, for example rendering a template or tokenizing
/// megabytes. On Swift's shared pool, which has one thread per core, a few requests would block everyone else's streams.
package final class FairExecutor: Sendable {
    private let threads: FairThreads

    /// - Parameters:
    ///   - niceness: Nice value of the threads, 0...19; a higher one means lower priority.
    ///   - threads: Maximum threads. One client gets at most half of them.
    ///   - returnsMemory: Whether to return freed memory to the system when all work is done.
    package init(name: String, niceness: Int32 = 0, threads: Int = 4, returnsMemory: Bool = false) {
        self.threads = FairThreads(
            name: name, limit: threads, clientLimit: max(1, threads / 2), niceness: niceness,
            returnsMemory: returnsMemory)
    }

    /// The executor for one client's work.
    package func executor(for client: String) -> any TaskExecutor { ClientExecutor(threads, client) }

    private final class ClientExecutor: TaskExecutor {
        private let threads: FairThreads
        private let client: String

        init(_ threads: FairThreads, _ client: String) { (self.threads, self.client) = (threads, client) }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            threads.add(
                { [self] _ in
                    job.runSynchronously(on: asUnownedTaskExecutor())
                    return .reusable
                }, of: client)
        }
    }
}
