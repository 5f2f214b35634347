import Foundation
import Platform
import Synchronization

/// The work for one sequence's constraint, which may take seconds: steps do not wait for it. It runs in the order in which it
/// was added, on one thread at a time.
final class SideQueue: Sendable {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var isBusy = false
        /// The thread that runs the work.
        var thread: ThreadPriority.ID?
        /// Whether the work has a low priority.
        var isLow = false
    }

    private let state = Mutex(State())
    private let threads: FairThreads
    private let client: String

    init(_ threads: FairThreads, client: String) {
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
        if isFirst { threads.add({ [self] thread in run(on: thread) }, of: client) }
    }

    /// Gives the work that is waiting and running a low priority.
    func lower() {
        state.withLock { state in
            guard state.isBusy, !exchange(&state.isLow, with: true), let thread = state.thread else { return }
            ThreadPriority.lower(thread)
        }
    }

    private func run(on thread: ThreadPriority.ID?) -> FairThreads.Aftermath {
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
            guard let work else { return isLow ? .spent : .reusable }
            work()
        }
    }
}
