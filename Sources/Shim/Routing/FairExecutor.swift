import CLinux
import Foundation

/// Runs work that may take long without a pause, such as rendering a template or tokenizing megabytes, on threads of its
/// own: on those that all tasks share, of which there is one a core, a few requests would hold up everyone else's streams.
///
/// Clients take turns, and none has more than half of the threads, so that a client with little work does not wait for
/// another with much.
///
/// `@unchecked Sendable`: `condition` guards everything that changes.
final class FairExecutor: @unchecked Sendable {
    /// For requests with large bodies. Its threads yield to those that generate and answer.
    static let large = FairExecutor(name: "large requests", niceness: 10, returnsMemory: true)
    /// For the prompts of all others.
    static let prompts = FairExecutor(name: "prompts", niceness: 0)

    /// Bodies from this size on are large; smaller ones are read in some milliseconds.
    static let largeBytes = 1 << 16

    private struct Work {
        let job: UnownedJob
        let executor: ClientExecutor
    }

    private struct Client {
        var waiting: [Work] = []
        var running = 0
    }

    private let name: String
    private let niceness: Int32
    private let threads: Int
    private let limit: Int
    private let returnsMemory: Bool
    private let condition = NSCondition()
    private var clients: [String: Client] = [:]
    /// Clients in turn: whoever got a thread goes to the end.
    private var turns: [String] = []
    private var started = 0
    private var idle = 0
    /// Pieces of work that no thread has.
    private var waiting = 0
    /// When memory may be given back again: it holds up allocations for some milliseconds.
    private var nextReturn = ContinuousClock.now

    /// - Parameters:
    ///   - niceness: Of the threads, 0...19; the system gives those with a higher one less time.
    ///   - threads: At most so many, of which one client has half. They are started as they are needed.
    ///   - returnsMemory: Whether what the work took goes back to the system once all of it is done. The allocator
    ///     would keep it for later.
    init(name: String, niceness: Int32 = 0, threads: Int = 4, returnsMemory: Bool = false) {
        self.name = name
        self.niceness = niceness
        self.threads = threads
        self.returnsMemory = returnsMemory
        limit = max(1, threads / 2)
    }

    /// Where a client's work runs.
    func executor(for client: String) -> any TaskExecutor { ClientExecutor(self, client) }

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
        if clients[client] == nil {
            clients[client] = Client()
            turns.append(client)
        }
        clients[client]?.waiting.append(work)
        waiting += 1
        condition.signal()
        if waiting > idle, started < threads {
            started += 1
            let thread = Thread { [self] in run() }
            thread.name = name
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    private func run() {
        // Of a thread, on Linux. Where it is refused, the thread keeps its share.
        if niceness > 0 { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness) }
        while true {
            let (client, work) = next()
            work.job.runSynchronously(on: work.executor.asUnownedTaskExecutor())
            condition.lock()
            clients[client]?.running -= 1
            if clients[client]?.running == 0, clients[client]?.waiting.isEmpty == true {
                clients[client] = nil
                turns.removeAll { $0 == client }
            }
            let isTime = returnsMemory && clients.isEmpty && .now >= nextReturn
            if isTime { nextReturn = .now + .seconds(2) }
            condition.unlock()
            if isTime { malloc_trim(0) }
        }
    }

    /// Waits for work of a client who may have another thread.
    private func next() -> (client: String, Work) {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let index = turns.firstIndex(where: { mayRun($0) }) {
                let client = turns.remove(at: index)
                turns.append(client)
                let work = clients[client]!.waiting.removeFirst()
                clients[client]!.running += 1
                waiting -= 1
                return (client, work)
            }
            idle += 1
            condition.wait()
            idle -= 1
        }
    }

    private func mayRun(_ client: String) -> Bool {
        clients[client].map { !$0.waiting.isEmpty && $0.running < limit } ?? false
    }
}
