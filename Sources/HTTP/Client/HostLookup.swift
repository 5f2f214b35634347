import Dispatch
import Synchronization

/// Looks up a host's addresses on a separate thread: `getaddrinfo` blocks without limit and cannot be cancelled.
final class HostLookup: Sendable {
    typealias Answer = Result<[SocketAddress], ClientError>

    private let waiter = Mutex<CheckedContinuation<Answer, Never>?>(nil)
    /// A separate queue, so that timeouts fire even if all global threads are blocked in lookups.
    private static let clock = DispatchQueue(label: "host lookups")

    static func addresses(of host: String, port: UInt16, within limit: Duration) async -> Answer {
        let lookup = HostLookup()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                lookup.waiter.withLock { $0 = waiter }
                DispatchQueue.global().async { @Sendable in
                    lookup.end(
                        Result { () throws(NetworkError) in try SocketAddress.all(of: host, port: port) }
                            .mapError { .notConnected($0.message) })
                }
                clock.asyncAfter(deadline: .now() + limit / .seconds(1)) { @Sendable in
                    lookup.end(.failure(.notConnected("host \(host): the DNS lookup timed out")))
                }
            }
        } onCancel: {
            lookup.end(.failure(.notConnected("cancelled")))
        }
    }

    /// Only the first call has an effect.
    private func end(_ answer: Answer) {
        let waiter = waiter.withLock { waiter in
            defer { waiter = nil }
            return waiter
        }
        waiter?.resume(returning: answer)
    }
}
