import Foundation
import FoundationNetworking
import Synchronization

/// HTTP requests whose answers are handed on as they come. Redirects are not followed: nobody is asked but the address
/// that was given.
struct StreamingTransport: Sendable {
    enum Event: Sendable {
        /// The status.
        case head(Int)
        /// Some bytes of the body, and when they came.
        case body(Data, ContinuousClock.Instant)
    }

    struct Failure: LocalizedError {
        let errorDescription: String?
    }

    private let receiver = Receiver()
    /// Never invalidated: that is not safe on Linux, and ends with the process.
    private let session: URLSession

    init(connections: Int) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = connections
        session = URLSession(configuration: configuration, delegate: receiver, delegateQueue: nil)
    }

    /// - Parameter timeLimit: For the whole answer.
    func send(_ request: URLRequest, timeLimit: Duration) -> AsyncThrowingStream<Event, any Error> {
        let (stream, continuation) = AsyncThrowingStream<Event, any Error>.makeStream()
        let task = session.dataTask(with: request)
        let limit = Task {
            try await Task.sleep(for: timeLimit)
            let seconds = (timeLimit / .seconds(1)).formatted()
            continuation.finish(throwing: Failure(errorDescription: "it took over \(seconds) s"))
        }
        continuation.onTermination = { _ in
            limit.cancel()
            task.cancel()
        }
        receiver.expect(task, continuation)
        task.resume()
        return stream
    }
}

/// Hands what the session receives to whom it is for.
private final class Receiver: NSObject, URLSessionDataDelegate {
    typealias Continuation = AsyncThrowingStream<StreamingTransport.Event, any Error>.Continuation

    /// Most bytes of an answer. No answer worth measuring has as many; one without end would fill the memory.
    private static let bytesLimit = 64 << 20
    private let expected = Mutex<[Int: (continuation: Continuation, bytes: Int)]>([:])

    func expect(_ task: URLSessionTask, _ continuation: Continuation) {
        expected.withLock { $0[task.taskIdentifier] = (continuation, 0) }
    }

    func urlSession(
        _: URLSession, dataTask task: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        expected.withLock { $0[task.taskIdentifier] }?.continuation.yield(.head(status))
        completionHandler(.allow)
    }

    func urlSession(_: URLSession, dataTask task: URLSessionDataTask, didReceive data: Data) {
        let now = ContinuousClock.now
        let entry = expected.withLock {
            $0[task.taskIdentifier]?.bytes += data.count
            return $0[task.taskIdentifier]
        }
        guard let (continuation, bytes) = entry else { return }
        if bytes <= Self.bytesLimit {
            continuation.yield(.body(data, now))
        } else {
            let reason = "the answer is over \(Self.bytesLimit >> 20) MiB"
            continuation.finish(throwing: StreamingTransport.Failure(errorDescription: reason))
        }
    }

    func urlSession(
        _: URLSession, task _: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse,
        newRequest _: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) { completionHandler(nil) }

    func urlSession(_: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let entry = expected.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        entry?.continuation.finish(throwing: error)
    }
}
