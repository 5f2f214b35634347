import HTTP
import Synchronization
import Wire

/// Reports the result of one upstream request to the circuit breaker, once.
final class UpstreamTrial: Sendable {
    enum Ending: Sendable {
        /// The first part of the answer was good; more reports follow.
        case begun
        case succeeded
        case failed
        /// The answer was unreadable, or an error that the request may have caused.
        case failedForRequest
        case givenUp
    }

    private let report: @Sendable (Ending) -> Void
    private let isSettled = Mutex(false)

    init(report: @escaping @Sendable (Ending) -> Void) { self.report = report }

    deinit { settle(.givenUp) }

    func begin() { report(.begun) }

    /// Only the first call reports.
    func settle(_ ending: Ending) {
        let isFirst = isSettled.withLock { isSettled in
            defer { isSettled = true }
            return !isSettled
        }
        if isFirst { report(ending) }
    }
}

/// A reply of the upstream whose body is being read.
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

    /// Reports a failure of the upstream. Returns the error to throw.
    func fails(_ error: APIError) -> APIError {
        trial.settle(.failed)
        return error
    }

    /// Reports a failure that the request may have caused. Returns the error to throw.
    func failsForRequest(_ error: APIError) -> APIError {
        trial.settle(.failedForRequest)
        return error
    }

    /// Reports success: the upstream works, but refuses the request. Returns the error to throw.
    func refuses(_ error: APIError) -> APIError {
        trial.settle(.succeeded)
        return error
    }
}

extension ClientResponse {
    /// The rest of the body.
    ///
    /// - Throws: `ClientError`; `APIError` if the body has more than `limit` bytes; `CancellationError`.
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
