import HTTP
import Synchronization
import Wire

/// What becomes of one request to the upstream, for the circuit breaker, which is told once how it ended.
final class UpstreamTrial: Sendable {
    enum Ending: Sendable {
        /// Not an end: the first of the answer is good.
        case begun
        case succeeded
        case failed
        /// The answer was none that could be read, or an error of which the request may be the cause.
        case failedForRequest
        case givenUp
    }

    private let report: @Sendable (Ending) -> Void
    private let isSettled = Mutex(false)

    init(report: @escaping @Sendable (Ending) -> Void) { self.report = report }

    deinit { settle(.givenUp) }

    func begin() { report(.begun) }

    /// The first to call this decides.
    func settle(_ ending: Ending) {
        let isFirst = isSettled.withLock { isSettled in
            defer { isSettled = true }
            return !isSettled
        }
        if isFirst { report(ending) }
    }
}

/// An answer of the upstream under way.
struct UpstreamReply: Sendable {
    let response: ClientResponse
    private let trial: UpstreamTrial

    init(_ response: ClientResponse, _ trial: UpstreamTrial) {
        self.response = response
        self.trial = trial
    }

    /// The next piece of the body.
    ///
    /// - Throws: `APIError`; `CancellationError`.
    func next() async throws -> ArraySlice<UInt8>? {
        do { return try await response.next() } catch let error as ClientError { throw APIError(error) }
    }

    func body(upTo limit: Int) async throws -> [UInt8] {
        do { return try await response.body(upTo: limit) } catch let error as ClientError {
            throw fails(APIError(error))
        } catch let error as APIError {
            throw failsForRequest(error)
        }
    }

    func begins() { trial.begin() }

    func succeeds() { trial.settle(.succeeded) }

    /// The upstream is at fault: returns the error to throw.
    func fails(_ error: APIError) -> APIError {
        trial.settle(.failed)
        return error
    }

    /// The answer is a failure, for which the request may be the reason.
    func failsForRequest(_ error: APIError) -> APIError {
        trial.settle(.failedForRequest)
        return error
    }

    /// The upstream does its work, and refuses.
    func refuses(_ error: APIError) -> APIError {
        trial.settle(.succeeded)
        return error
    }
}

extension ClientResponse {
    /// The rest of the body.
    ///
    /// - Throws: `ClientError`; an `APIError` if it has more bytes than that; `CancellationError`.
    func body(upTo limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try await next() {
            bytes += piece
            guard bytes.count <= limit else {
                throw APIError.upstream("The upstream API's answer has more than \(limit) bytes.")
            }
        }
        return bytes
    }
}
