import Dispatch
import Platform

/// Waits for Ctrl-C, SIGTERM or SIGHUP. A second Ctrl-C or SIGTERM ends the process at once; a terminal that closes may
/// send SIGHUP twice.
///
/// `@unchecked Sendable`: `count` is used on `queue` only, and `sources` in `init` only.
final class StopSignals: @unchecked Sendable {
    private let queue = DispatchQueue(label: "stop signals")
    private var sources: [any DispatchSourceSignal] = []
    private var count = 0
    private let stream: AsyncStream<Void>

    /// - Parameter stopsOnHangup: Whether SIGHUP stops the process, unless it was ignored at startup (`nohup`).
    init(stopsOnHangup: Bool = false) {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        self.stream = stream
        let isRegistered = DispatchSemaphore(value: 0)
        for number in stopsOnHangup && !Self.isIgnored(SIGHUP) ? [SIGINT, SIGTERM, SIGHUP] : [SIGINT, SIGTERM] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            // Without `@Sendable` it would inherit the caller's isolation and trap on the queue's thread.
            source.setEventHandler { @Sendable [unowned self] in
                count += 1
                if count > 1, number != SIGHUP { _exit(128 + number) }
                continuation.yield()
            }
            source.setRegistrationHandler { @Sendable in isRegistered.signal() }
            source.activate()
            isRegistered.wait()  // a signal before that would be lost
            sources.append(source)
        }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Returns at the first signal, or when the task is cancelled.
    func wait() async { for await _ in stream { return } }
}
