import Foundation
import FoundationNetworking
import Synchronization

/// HTTP requests whose answers are handed on as they come. Redirects are not followed: only the address that was given
/// is asked.
final class StreamingTransport: NSObject, URLSessionDataDelegate {
    enum Event: Sendable {
        /// The status.
        case head(Int)
        /// Some bytes of the body, and when they came.
        case body(Data, ContinuousClock.Instant)
    }

    private struct Failure: LocalizedError {
        let errorDescription: String?
    }

    private struct Receiver {
        let continuation: AsyncThrowingStream<Event, any Error>.Continuation
        var bytesLeft = 64 << 20
    }

    private let receivers = Mutex<[Int: Receiver]>([:])
    private let configuration: URLSessionConfiguration
    /// One for the life of the process, as ending a session is not safe on Linux.
    private nonisolated(unsafe) lazy var session = URLSession(
        configuration: configuration, delegate: self, delegateQueue: nil)

    init(connections: Int) {
        configuration = .ephemeral
        configuration.httpMaximumConnectionsPerHost = connections
    }
}
