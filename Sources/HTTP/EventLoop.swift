import CLinux
import Platform
import Synchronization

/// The owner of a file descriptor. The event loop calls it on its thread.
protocol EventSource: Actor {
    func ready(_ events: ReadyEvents)
    /// Called every 100 ms, to check deadlines.
    func tick(_ now: ContinuousClock.Instant)
}

struct ReadyEvents: OptionSet, Sendable {
    let rawValue: UInt32
    static let read = Self(rawValue: EPOLLIN.rawValue)
    static let write = Self(rawValue: EPOLLOUT.rawValue)
    /// The peer closed its sending half.
    static let peerClosed = Self(rawValue: EPOLLRDHUP.rawValue)
    /// The connection is closed in both directions.
    static let dead = Self(rawValue: EPOLLHUP.rawValue | EPOLLERR.rawValue)
}

/// A thread that waits in epoll and is a `SerialExecutor`. The actors that own sockets run on it, so they get events
/// without a lock or a thread switch.
///
/// A task that serves a connection also prefers it as its `TaskExecutor`: Swift resumes continuations of other tasks on the
/// shared pool of threads, which passes them on to the actor's executor, many at a time when the processor is busy.
///
/// `@unchecked Sendable`: `sources`, `nextToken` and `turns` are used on the loop's thread only, which `add` and `remove` check;
/// the rest is constant or locked.
final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    /// One loop per process is enough for some hundred connections with long responses.
    static let shared = Result<EventLoop, NetworkError> { () throws(NetworkError) in try EventLoop() }

    private let epoll: Int32
    private let wakeup: Int32
    private let jobs = Mutex<[UnownedJob]>([])
    private let thread = Mutex<pthread_t?>(nil)
    /// By token. Unlike descriptors, tokens are never reused, so a queued event for a closed descriptor is ignored.
    private var sources: [UInt64: any EventSource] = [:]
    private var nextToken: UInt64 = 1
    /// Waiting for a turn, the first to come first.
    private var turns: [CheckedContinuation<Void, Never>] = []

    private static let tickMilliseconds: Int32 = 100

    private init() throws(NetworkError) {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw .system("epoll_create1") }
        wakeup = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wakeup >= 0 else { throw .system("eventfd") }
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: 0))
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, wakeup, &event) == 0 else { throw .system("epoll_ctl") }

        var started = pthread_t()
        let code = pthread_create(&started, nil, runEventLoop, Unmanaged.passRetained(self).toOpaque())
        guard code == 0 else { throw .system("pthread_create", code) }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isFirst = jobs.withLock { jobs in
            jobs.append(job)
            return jobs.count == 1
        }
        guard isFirst else { return }
        var one: UInt64 = 1
        _ = Glibc.write(wakeup, &one, 8)
    }

    private var isCurrent: Bool { thread.withLock { $0.map { pthread_equal($0, pthread_self()) != 0 } ?? false } }

    func checkIsolated() { precondition(isCurrent, "not on the event loop's thread") }

    /// Watches a descriptor, edge triggered: after an event, read or write until the call would block.
    ///
    /// - Returns: The token for `remove`; `nil` if epoll refuses the descriptor.
    func add(_ descriptor: Int32, _ source: any EventSource, _ events: ReadyEvents) -> UInt64? {
        checkIsolated()
        var event = epoll_event(events: events.rawValue | EPOLLET.rawValue, data: epoll_data_t(u64: nextToken))
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 else { return nil }
        sources[nextToken] = source
        nextToken += 1
        return nextToken - 1
    }

    func remove(_ descriptor: Int32, _ token: UInt64) {
        checkIsolated()
        sources[token] = nil
        var event = epoll_event()
        _ = epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event)
    }

    /// Resumes the continuation after all that are waiting, one each time that the loop has handled its events and jobs. For
    /// work that takes this thread for a millisecond, such as the signature of a TLS handshake: a flood of it must not stall
    /// streams.
    func takeTurn(_ continuation: CheckedContinuation<Void, Never>) {
        checkIsolated()
        turns.append(continuation)
    }

    fileprivate func run() {
        thread.withLock { $0 = pthread_self() }
        var events = [epoll_event](repeating: epoll_event(), count: 256)
        var nextTick = ContinuousClock.now
        while true {
            let patience = !turns.isEmpty ? 0 : sources.isEmpty ? -1 : Self.tickMilliseconds
            let count = epoll_wait(epoll, &events, Int32(events.count), patience)
            for event in events.prefix(Int(max(0, count))) { dispatch(event) }

            let batch = jobs.withLock { jobs in
                defer { jobs.removeAll(keepingCapacity: true) }
                return jobs
            }
            for job in batch {
                job.runSynchronously(
                    isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            }
            if !turns.isEmpty { turns.removeFirst().resume() }

            let now = ContinuousClock.now
            guard now >= nextTick else { continue }
            nextTick = now + .milliseconds(Int(Self.tickMilliseconds))
            for source in Array(sources.values) { source.assumeIsolated { $0.tick(now) } }
        }
    }

    private func dispatch(_ event: epoll_event) {
        guard event.data.u64 != 0 else {
            var count: UInt64 = 0
            _ = Glibc.read(wakeup, &count, 8)
            return
        }
        sources[event.data.u64]?.assumeIsolated { $0.ready(ReadyEvents(rawValue: event.events)) }
    }
}

/// A global function, since a closure would inherit the isolation of its context and trap on this thread.
private func runEventLoop(_ loop: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let loop else { return nil }
    Unmanaged<EventLoop>.fromOpaque(loop).takeUnretainedValue().run()
    return nil
}
