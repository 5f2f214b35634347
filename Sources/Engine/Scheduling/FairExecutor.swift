import CLinux
import Foundation
import Platform

/// Runs long synchronous work, for example rendering a template or tokenizing megabytes, on its own threads. On Swift's
/// shared pool, which has one thread per core, a few requests would block everyone else's streams.
///
/// Clients take turns, and none gets more than half of the threads, so that a client with little work need not wait for
/// one with much.
///
/// `@unchecked Sendable`: `condition` guards everything that changes.
package final class FairExecutor: @unchecked Sendable {
    private struct Work {
        let job: UnownedJob
        let executor: ClientExecutor
    }

    private let name: String
    private let niceness: Int32
    private let threads: Int
    private let limit: Int
    private let returnsMemory: Bool
    private let condition = NSCondition()
    /// Jobs that no thread has taken, and their number.
    private var waiting = FairQueue<Work>()
    private var waitingCount = 0
    /// Jobs under way by client.
    private var running: [String: Int] = [:]
    private var started = 0
    private var idle = 0
    /// Earliest next `malloc_trim`, which blocks allocations for some milliseconds.
    private var nextReturn = ContinuousClock.now

    /// - Parameters:
    ///   - niceness: Nice value of the threads, 0...19; a higher one means lower priority.
    ///   - threads: Maximum threads, started on demand. One client gets at most half of them.
    ///   - returnsMemory: Whether to return freed memory to the system when all work is done. The allocator would
    ///     otherwise keep it.
    package init(name: String, niceness: Int32 = 0, threads: Int = 4, returnsMemory: Bool = false) {
        self.name = name
        self.niceness = niceness
        self.threads = threads
        self.returnsMemory = returnsMemory
        limit = max(1, threads / 2)
    }

    /// The executor for one client's work.
    package func executor(for client: String) -> any TaskExecutor { ClientExecutor(self, client) }

    private final class ClientExecutor: TaskExecutor {
        private let owner: FairExecutor
        private let client: String

        init(_ owner: FairExecutor, _ client: String) {
            self.owner = owner
            self.client = client
        }

        func enqueue(_ job: consuming ExecutorJob) {
            owner.add(Work(job: UnownedJob(job), executor: self), of: client)
        }
    }

    private func add(_ work: Work, of client: String) {
        condition.lock()
        defer { condition.unlock() }
        waiting.append(work, of: client)
        waitingCount += 1
        condition.signal()
        if waitingCount > idle, started < threads {
            started += 1
            let thread = Thread { [self] in run() }
            thread.name = name
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    private func run() {
        // On Linux the nice value is per thread. If refused, the thread keeps its priority.
        if niceness > 0 { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness) }
        while true {
            let (client, work) = next()
            work.job.runSynchronously(on: work.executor.asUnownedTaskExecutor())
            condition.lock()
            running[client, default: 1] -= 1
            if running[client] == 0 { running[client] = nil }
            let isTime = returnsMemory && running.isEmpty && waiting.isEmpty && .now >= nextReturn
            if isTime { nextReturn = .now + .seconds(2) }
            condition.unlock()
            if isTime { malloc_trim(0) }
        }
    }

    /// Waits for work of a client below its thread limit.
    private func next() -> (client: String, Work) {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let (client, work) = waiting.next(where: { running[$0, default: 0] < limit }) {
                running[client, default: 0] += 1
                waitingCount -= 1
                return (client, work)
            }
            idle += 1
            condition.wait()
            idle -= 1
        }
    }
}
