import Dispatch
import Glibc

/// The requests to stop: Ctrl-C and SIGTERM. The second one ends the process at once.
///
/// `@unchecked Sendable`: `count` is touched on `queue` only, and `sources` only in `init`.
final class StopSignals: @unchecked Sendable {
    private let queue = DispatchQueue(label: "stop signals")
    private var sources: [any DispatchSourceSignal] = []
    private var count = 0
    private let stream: AsyncStream<Void>

    init() {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        self.stream = stream
        let isRegistered = DispatchSemaphore(value: 0)
        for number in [SIGINT, SIGTERM] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            // `@Sendable`, or it would take on the isolation of whoever calls this and trap on the queue's thread.
            source.setEventHandler { @Sendable [unowned self] in
                count += 1
                if count > 1 { _exit(128 + number) }
                continuation.yield()
            }
            source.setRegistrationHandler { @Sendable in isRegistered.signal() }
            source.activate()
            isRegistered.wait()  // a signal before that would be lost
            sources.append(source)
        }
    }

    /// Returns when the first one comes, or the task is cancelled.
    func wait() async { for await _ in stream { return } }
}
