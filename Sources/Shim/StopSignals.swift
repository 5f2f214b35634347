import Dispatch
import Platform

/// Waits for Ctrl-C or SIGTERM. The second signal ends the process at once.
///
/// `@unchecked Sendable`: `count` is used on `queue` only, and `sources` in `init` only.
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
            // Without `@Sendable` it would inherit the caller's isolation and trap on the queue's thread.
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

    /// Returns at the first signal, or when the task is cancelled.
    func wait() async { for await _ in stream { return } }
}
