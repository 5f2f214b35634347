import Foundation
import FoundationNetworking
import Synchronization

/// Asks over HTTP and HTTPS. Bodies come in pieces, of which a bounded number waits to be taken: a transfer that is too
/// far ahead is ended. Foundation's `suspend` would hold it back, but can end the process on Linux (a fatal error in
/// `NativeProtocol` when a piece was on its way).
///
/// Redirects are not followed: what may be sent to another host is for whoever asks to decide.
final class WebClient: NSObject, URLSessionDataDelegate {
    /// One session for the process, which is never invalidated: Foundation's can crash when they end.
    static let shared = WebClient()

    private let transfers = Mutex<[Int: Transfer]>([:])
    /// `nil` only while `init` runs.
    private let session = Mutex<URLSession?>(nil)

    override private init() {
        super.init()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 60  // without a byte
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        session.withLock { $0 = URLSession(configuration: configuration, delegate: self, delegateQueue: nil) }
    }

    /// - Returns: The head of the answer, and the body to come.
    /// - Throws: `URLError` and the like; `CancellationError`.
    func send(_ request: URLRequest) async throws -> Reply {
        let task = session.withLock { $0!.dataTask(with: request) }
        let transfer = Transfer(task)
        transfers.withLock { $0[task.taskIdentifier] = transfer }
        let head = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { head in
                transfer.start(head)
            }
        } onCancel: {
            task.cancel()
        }
        return Reply(head: head, transfer: transfer)
    }

    private func transfer(_ task: URLSessionTask) -> Transfer? { transfers.withLock { $0[task.taskIdentifier] } }

    // MARK: URLSessionDataDelegate

    func urlSession(
        _: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest _: URLRequest,
        completionHandler: @escaping (URLRequest?) -> Void
    ) {
        // In this order: Foundation ends the process if the task is cancelled before it has this answer.
        completionHandler(nil)
        transfer(task)?.begin(response)
    }

    func urlSession(
        _: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse { transfer(dataTask)?.begin(response) }
        completionHandler(.allow)
    }

    func urlSession(_: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        transfer(dataTask)?.receive(data)
    }

    func urlSession(_: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.end(error)
    }
}

/// The answer to a request.
struct Reply {
    let head: HTTPURLResponse
    fileprivate let transfer: Transfer

    subscript(header: String) -> String? { head.value(forHTTPHeaderField: header) }

    /// Hands the body over piece by piece. What is left when something goes wrong comes and is dropped, up to a bound.
    func forEachPiece(_ body: (Data) throws -> Void) async throws {
        for try await data in transfer.pieces {
            try body(data)
            transfer.took(data.count)
        }
        try Task.checkCancellation()
    }
}

/// One request under way.
private final class Transfer: Sendable {
    /// Bytes that may wait to be taken: far more than do where a disk keeps up with the network.
    private static let mostWaiting = 256 << 20

    private struct State {
        var head: CheckedContinuation<HTTPURLResponse, any Error>?
        var waiting = 0
        var isTooFarAhead = false
    }

    let task: URLSessionDataTask
    let pieces: AsyncThrowingStream<Data, any Error>
    private let continuation: AsyncThrowingStream<Data, any Error>.Continuation
    private let state = Mutex(State())

    init(_ task: URLSessionDataTask) {
        self.task = task
        (pieces, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
    }

    func start(_ head: CheckedContinuation<HTTPURLResponse, any Error>) {
        state.withLock { $0.head = head }
        task.resume()
    }

    func begin(_ response: HTTPURLResponse) { takeHead()?.resume(returning: response) }

    func receive(_ data: Data) {
        continuation.yield(data)
        let isTooFarAhead = state.withLock { state in
            state.waiting += data.count
            state.isTooFarAhead = state.isTooFarAhead || state.waiting > Self.mostWaiting
            return state.isTooFarAhead
        }
        guard isTooFarAhead else { return }
        continuation.finish(throwing: PullError("More comes than the disk takes. The same command goes on."))
        task.cancel()
    }

    func took(_ count: Int) { state.withLock { $0.waiting -= count } }

    func end(_ error: (any Error)?) {
        takeHead()?.resume(throwing: error ?? URLError(.badServerResponse))
        continuation.finish(throwing: error)
    }

    private func takeHead() -> CheckedContinuation<HTTPURLResponse, any Error>? {
        state.withLock { state in
            defer { state.head = nil }
            return state.head
        }
    }
}
