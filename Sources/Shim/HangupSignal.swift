import Dispatch
import Platform

/// Calls a closure on each SIGHUP, whose default action would end the process.
///
/// `@unchecked Sendable`: Dispatch's sources may be used from any thread.
final class HangupSignal: @unchecked Sendable {
    private let source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: DispatchQueue(label: "hangup signal"))

    init(_ body: @escaping @Sendable () -> Void) {
        signal(SIGHUP, SIG_IGN)
        source.setEventHandler(handler: body)
        source.activate()
    }

    deinit { source.cancel() }
}
