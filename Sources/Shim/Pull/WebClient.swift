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

    /// - Returns: The head of the answer, and the body to come. Dropping it ends the transfer.
    /// - Throws: `URLError` and the like; `CancellationError`.
    func send(_ request: URLRequest) async throws -> Reply {
        try Task.checkCancellation()
        let task = session.withLock { $0!.dataTask(with: request) }
        let (pieces, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
        // Also once nobody takes the pieces any more.
        continuation.onTermination = { _ in task.cancel() }
        let transfer = Transfer(continuation)
        transfers.withLock { $0[task.taskIdentifier] = transfer }
        let head = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { head in
                transfer.expectHead(head)
                task.resume()
            }
        } onCancel: {
            end(task, CancellationError())
        }
        return Reply(head: head, pieces: pieces, transfer: transfer)
    }

    private func transfer(_ task: URLSessionTask) -> Transfer? { transfers.withLock { $0[task.taskIdentifier] } }

    /// Only the first call for a task does anything.
    private func end(_ task: URLSessionTask, _ error: (any Error)?) {
        transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.end(error)
    }

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
        end(task, error)
    }
}

/// The answer to a request.
struct Reply: Sendable {
    let head: HTTPURLResponse
    fileprivate let pieces: AsyncThrowingStream<Data, any Error>
    fileprivate let transfer: Transfer

    subscript(header: String) -> String? { head.value(forHTTPHeaderField: header) }

    /// Hands the body over piece by piece, once.
    ///
    /// - Throws: What the transfer failed with, and what `body` throws.
    func forEachPiece(_ body: (Data) throws -> Void) async throws {
        for try await data in pieces {
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

    private struct TooFarAhead: LocalizedError {
        var errorDescription: String? { "More comes than is taken." }
    }

    private struct State {
        /// Whoever waits for the head, and what came of it before they did.
        var head: CheckedContinuation<HTTPURLResponse, any Error>?
        var result: Result<HTTPURLResponse, any Error>?
        var waiting = 0
    }

    private let pieces: AsyncThrowingStream<Data, any Error>.Continuation
    private let state = Mutex(State())

    init(_ pieces: AsyncThrowingStream<Data, any Error>.Continuation) { self.pieces = pieces }

    func expectHead(_ head: CheckedContinuation<HTTPURLResponse, any Error>) {
        let result = state.withLock { state in
            if state.result == nil { state.head = head }
            return state.result
        }
        if let result { head.resume(with: result) }
    }

    func begin(_ response: HTTPURLResponse) { settle(.success(response)) }

    func receive(_ data: Data) {
        let isTooFarAhead = state.withLock { state in
            state.waiting += data.count
            return state.waiting > Self.mostWaiting
        }
        if isTooFarAhead { pieces.finish(throwing: TooFarAhead()) } else { pieces.yield(data) }
    }

    func took(_ count: Int) { state.withLock { $0.waiting -= count } }

    func end(_ error: (any Error)?) {
        settle(.failure(error ?? URLError(.badServerResponse)))
        pieces.finish(throwing: error)
    }

    /// The first result counts.
    private func settle(_ result: Result<HTTPURLResponse, any Error>) {
        let head = state.withLock { state in
            if state.result == nil { state.result = result }
            defer { state.head = nil }
            return state.head
        }
        head?.resume(with: result)
    }
}
