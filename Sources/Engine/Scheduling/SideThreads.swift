import Foundation
import Platform
import Synchronization

/// Threads for the work of constraints, which may take seconds: steps do not wait for it.
///
/// Clients take turns at the threads, and one client gets at most a quarter of them.
final class SideThreads: Sendable {
    /// One thread for each sequence that may run.
    static let limit = ModelThread.concurrency
    private static let clientLimit = limit / 4

    private struct State {
        var waiting = FairQueue<Queue>()
        var waitingCount = 0
        var running: [String: Int] = [:]
        /// Threads that exist, and those of them without work.
        var threads = 0
        var idle = 0
        var isStopped = false
    }

    private let state = Mutex(State())
    private let arrival = DispatchSemaphore(value: 0)

    /// The work of one sequence, which runs in the order in which it was added, on one thread at a time.
    final class Queue: Sendable {
        private struct State {
            var waiting: [@Sendable () -> Void] = []
            var isBusy = false
            /// The thread that runs the work.
            var thread: ThreadPriority.ID?
            /// Whether the work has a low priority.
            var isLow = false
        }

        private let state = Mutex(State())
        private let threads: SideThreads
        private let client: String

        init(_ threads: SideThreads, client: String) {
            (self.threads, self.client) = (threads, client)
        }

        /// Whether work is waiting or running.
        var isBusy: Bool { state.withLock { $0.isBusy } }

        /// - Parameter work: Must not be the last owner of anything that only the engine's thread may free.
        func add(_ work: @escaping @Sendable () -> Void) {
            let isFirst = state.withLock { state in
                state.waiting.append(work)
                return !exchange(&state.isBusy, with: true)
            }
            if isFirst { threads.add(self, of: client) }
        }

        /// Gives the work that is waiting and running a low priority.
        func lower() {
            state.withLock { state in
                guard state.isBusy, !exchange(&state.isLow, with: true), let thread = state.thread else { return }
                ThreadPriority.lower(thread)
            }
        }

        /// Runs all work. - Returns: Whether the thread has got a low priority, which is for good.
        fileprivate func run(on thread: ThreadPriority.ID?) -> Bool {
            while true {
                let (work, isLow) = state.withLock { state -> ((@Sendable () -> Void)?, Bool) in
                    guard !state.waiting.isEmpty else {
                        (state.isBusy, state.thread) = (false, nil)
                        return (nil, exchange(&state.isLow, with: false))
                    }
                    if state.thread == nil, state.isLow, let thread { ThreadPriority.lower(thread) }
                    state.thread = thread
                    return (state.waiting.removeFirst(), false)
                }
                guard let work else { return isLow }
                work()
            }
        }
    }

    private func add(_ queue: Queue, of client: String) {
        state.withLock { state in
            state.waiting.append(queue, of: client)
            state.waitingCount += 1
        }
        wake()
    }

    /// Lets a thread look for waiting work.
    private func wake() {
        let needsThread = state.withLock { state in
            guard state.waitingCount > state.idle, state.threads < Self.limit else { return false }
            state.threads += 1
            return true
        }
        guard needsThread else { return _ = arrival.signal() }
        let thread = Thread { [self] in loop() }
        thread.name = "constraints"
        thread.stackSize = 8 << 20
        thread.start()
    }

    private enum Turn {
        case run(Queue, client: String)
        case wait
        case end
    }

    private func loop() {
        let thread = ThreadPriority.current
        while true {
            switch nextTurn() {
            case .run(let queue, let client):
                let isLow = queue.run(on: thread)
                state.withLock { state in
                    state.running[client, default: 1] -= 1
                    if state.running[client] == 0 { state.running[client] = nil }
                    if isLow { state.threads -= 1 }
                }
                if isLow {
                    // Its client may have had too many threads for what waits.
                    wake()
                    return
                }
            case .wait:
                arrival.wait()
                state.withLock { $0.idle -= 1 }
            case .end: return
            }
        }
    }

    private func nextTurn() -> Turn {
        state.withLock { state in
            if let (client, queue) = state.waiting.next(where: { state.running[$0, default: 0] < Self.clientLimit }) {
                state.running[client, default: 0] += 1
                state.waitingCount -= 1
                return .run(queue, client: client)
            }
            // What still waits is taken by the threads that run its client's other work.
            if state.isStopped {
                state.threads -= 1
                return .end
            }
            state.idle += 1
            return .wait
        }
    }

    /// Ends the threads after their work.
    func stop() {
        let threads = state.withLock { state in
            state.isStopped = true
            return state.threads
        }
        for _ in 0..<threads { arrival.signal() }
    }
}
