import CLinux
import Foundation
import Platform

/// Threads for work that may take long. Clients take turns, and none gets more than a part of the threads, so that a client
/// with little work need not wait for one with much.
///
/// `@unchecked Sendable`: `condition` guards everything that changes.
package final class FairThreads: @unchecked Sendable {
    /// What a piece of work leaves behind.
    enum Aftermath {
        case reusable
        /// The thread has got a low priority, which is for good.
        case spent
    }
    typealias Work = @Sendable (_ thread: ThreadPriority.ID?) -> Aftermath

    private let name: String
    private let limit: Int
    private let clientLimit: Int
    private let niceness: Int32
    private let returnsMemory: Bool
    private let condition = NSCondition()
    /// Work that no thread has taken, and how much there is.
    private var waiting = FairQueue<Work>()
    private var waitingCount = 0
    /// Pieces of work under way, by client.
    private var running: [String: Int] = [:]
    /// Threads that exist, and those of them without work.
    private var threads = 0
    private var idle = 0
    private var isStopped = false
    /// Earliest next `malloc_trim`, which blocks allocations for some milliseconds.
    private var nextReturn = ContinuousClock.now

    /// - Parameters:
    ///   - limit: Maximum threads, started on demand.
    ///   - clientLimit: Maximum threads of one client.
    ///   - niceness: Nice value of the threads, 0...19; a higher one means lower priority.
    ///   - returnsMemory: Whether to return freed memory to the system when all work is done. The allocator would
    ///     otherwise keep it.
    package init(name: String, limit: Int, clientLimit: Int, niceness: Int32 = 0, returnsMemory: Bool = false) {
        self.name = name
        self.limit = limit
        self.clientLimit = clientLimit
        self.niceness = niceness
        self.returnsMemory = returnsMemory
    }

    func add(_ work: @escaping Work, of client: String) {
        condition.lock()
        defer { condition.unlock() }
        waiting.append(work, of: client)
        waitingCount += 1
        wake()
    }

    /// Ends the threads after their work, and after what waits.
    package func stop() {
        condition.lock()
        defer { condition.unlock() }
        isStopped = true
        condition.broadcast()
    }

    /// Lets a thread look for waiting work. `condition` is locked.
    private func wake() {
        condition.signal()
        guard waitingCount > idle, threads < limit else { return }
        threads += 1
        let thread = Thread { [self] in run() }
        thread.name = name
        thread.stackSize = 8 << 20
        thread.start()
    }

    private func run() {
        // On Linux the nice value is per thread. If refused, the thread keeps its priority.
        if niceness > 0 { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness) }
        let id = ThreadPriority.current
        while let (client, work) = next() {
            let aftermath = work(id)
            condition.lock()
            running[client] = running[client].flatMap { $0 > 1 ? $0 - 1 : nil }
            let isTime = returnsMemory && running.isEmpty && waiting.isEmpty && .now >= nextReturn
            if isTime { nextReturn = .now + .seconds(2) }
            if aftermath == .spent {
                threads -= 1
                // Its client may have had too many threads for what waits.
                if !waiting.isEmpty { wake() }
            }
            condition.unlock()
            if isTime { malloc_trim(0) }
            if aftermath == .spent { return }
        }
    }

    /// Waits for work of a client below its limit; `nil`: there is none, and the threads are to end. What still waits then is
    /// taken by the threads that run its client's other work.
    private func next() -> (client: String, Work)? {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let (client, work) = waiting.next(where: { running[$0, default: 0] < clientLimit }) {
                running[client, default: 0] += 1
                waitingCount -= 1
                return (client, work)
            }
            if isStopped {
                threads -= 1
                return nil
            }
            idle += 1
            condition.wait()
            idle -= 1
        }
    }
}
