public import Foundation
import HTTP
import JSON
package import Providers
import Wire

/// HTTP client of a backend: authorizes requests, retries, and maps failures to errors with text for users. Cancelling
/// a task cancels its request.
public struct APIClient: Sendable {
    /// Pauses before retries.
    struct Pauses: Sendable {
        /// After a 401.
        var refused: Duration = .milliseconds(500)
        /// After each failed attempt to connect; their number is the number of retries.
        var unreachable: [Duration] = [.milliseconds(200), .seconds(1)]
    }

    /// Maximum bytes of a response.
    static let longestAnswer = 32 << 20

    private let baseURL: URL
    private let authorization: Authorization
    private let headers: [String: String]
    private let patience: Duration
    private let pauses: Pauses
    private let log: @Sendable (String) -> Void

    /// - Parameters:
    ///   - baseURL: An `http` or `https` URL; its path is a prefix of all request paths.
    ///   - headers: Additional headers of every request. Authorization headers are not replaced.
    ///   - patience: Maximum silence of the server.
    ///   - log: Called with a line for each error. Lines contain no keys.
    public init(
        baseURL: URL, authorization: Authorization, headers: [String: String] = [:],
        patience: Duration = .seconds(120), log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.init(baseURL, authorization, headers, patience, Pauses(), log)
    }

    init(
        _ baseURL: URL, _ authorization: Authorization, _ headers: [String: String] = [:],
        _ patience: Duration = .seconds(120), _ pauses: Pauses, _ log: @escaping @Sendable (String) -> Void
    ) {
        self.baseURL = baseURL
        self.authorization = authorization
        self.headers = headers
        self.patience = patience
        self.pauses = pauses
        self.log = log
    }

    /// Sends JSON and decodes the JSON of the response.
    ///
    /// - Parameter path: Path that begins with a slash, not percent-encoded.
    /// - Throws: `APIClientError`, `CancellationError`.
    public func post<Answer: Decodable>(
        _ path: String, _ body: some Encodable & Sendable, as _: Answer.Type = Answer.self
    ) async throws -> Answer {
        try await answer("POST", path, try JSON.encode(body))
    }

    /// Sends a request without body and decodes the JSON of the response.
    ///
    /// - Parameters:
    ///   - path: See `post`.
    ///   - method: `GET`, `DELETE` or another that sends no body.
    /// - Throws: `APIClientError`, `CancellationError`.
    public func call<Answer: Decodable>(
        _ path: String, method: String = "GET", as _: Answer.Type = Answer.self
    ) async throws -> Answer {
        try await answer(method, path, [])
    }

    private func answer<Answer: Decodable>(_ method: String, _ path: String, _ body: [UInt8]) async throws -> Answer {
        var bytes: [UInt8] = []
        try await exchange(method, path, body) { bytes += $0 }
        do throws(APIError) {
            return try JSON.decode(Answer.self, from: bytes)
        } catch {
            throw unreadable(path, error.message, method: method)
        }
    }

    /// Logs why a response is invalid. Returns the error to throw.
    func unreadable(_ path: String, _ reason: String, method: String = "POST") -> APIClientError {
        note(method, path, "the answer cannot be read: \(reason)")
        return .decode
    }

    /// Sends a request and passes the pieces of the response's body to `piece`.
    ///
    /// - Parameter body: JSON, or empty.
    private func exchange(
        _ method: String, _ path: String, _ body: [UInt8], _ piece: (ArraySlice<UInt8>) throws -> Void
    ) async throws {
        do {
            let answer = try await open(method, path, body)
            var count = 0
            while let bytes = try await answer.next() {
                count += bytes.count
                guard count <= Self.longestAnswer else {
                    throw unreadable(path, "it has over \(Self.longestAnswer) bytes", method: method)
                }
                try piece(bytes)
            }
        } catch {
            try Task.checkCancellation()
            throw named(error, method, path)
        }
    }

    /// - Returns: A response with a 2xx status.
    private func open(_ method: String, _ path: String, _ body: [UInt8]) async throws -> ClientResponse {
        let endpoint = try Endpoint(path, of: baseURL, silence: patience)
        let key = try await authorization.currentKey()
        var answer = try await send(method, endpoint, body, key)
        if answer.status == 401, authorization.isRenewable {
            note(method, path, "status 401: \(await problem(answer))")
            try await Task.sleep(for: pauses.refused)
            answer = try await send(method, endpoint, body, authorization.currentKey(insteadOf: key))
        }
        let status = answer.status
        if (200..<300).contains(status) { return answer }
        let problem = await problem(answer)
        note(method, path, "status \(status): \(problem)")
        switch status {
        case 400: throw APIClientError.ofRefusal(Array(problem.utf8))
        case 401, 403: throw APIClientError.unAuthorized(code: status)
        case 402...: throw APIClientError.serverError(code: status)
        default: throw APIClientError.unknown
        }
    }

    /// Retries only if no connection was made: a question must not be answered, and paid for, twice.
    private func send(
        _ method: String, _ endpoint: Endpoint, _ body: [UInt8], _ key: String
    ) async throws -> ClientResponse {
        try await ClientError.retryingConnection(after: pauses.unreachable) {
            try await sendOnce(method, endpoint, body, key)
        } pause: { pause, reason in
            note(method, endpoint.path, "\(reason). Trying again.")
            try await Task.sleep(for: pause)
        }
    }

    private func sendOnce(
        _ method: String, _ endpoint: Endpoint, _ body: [UInt8], _ key: String
    ) async throws -> ClientResponse {
        var headers: Headers = ["Accept-Encoding": "identity", "User-Agent": "LocalLLM"]
        for (name, value) in self.headers { headers[name] = value }
        if !body.isEmpty { headers["Content-Type"] = "application/json" }
        for (name, value) in authorization.headers(method: method, path: endpoint.path, body: body, key: key) {
            headers[name] = value
        }
        return try await endpoint.server.send(method, endpoint.path, headers: headers, body: body)
    }

    /// The beginning of an error response's body.
    private func problem(_ answer: ClientResponse) async -> String {
        var text: [UInt8] = []
        while text.count < 4096, let piece = try? await answer.next() { text += piece }
        return String(decoding: text.prefix(4096), as: UTF8.self)
    }

    /// Logs one line, without control characters and with bounded length.
    private func note(_ method: String, _ path: String, _ text: String) {
        let line = "\(method) \(path): \(text)".unicodeScalars
        log(String(String.UnicodeScalarView(line.filter { $0.properties.generalCategory != .control }.prefix(600))))
    }

    /// Logs an error and maps it to `APIClientError`.
    private func named(_ error: any Error, _ method: String, _ path: String) -> any Error {
        switch error {
        case APIClientError.invalidURL:
            note(method, path, "expected a path that begins with /, and the address of a server, with http or https")
        case let error as ServerSentEventParser.TooLong:
            return unreadable(path, "an event has over \(error.limit) bytes", method: method)
        case let error as NetworkError:
            note(method, path, error.message)
            return APIClientError.noResponse
        case let error as ClientError: return named(error, method, path)
        default: break
        }
        return error
    }

    private func named(_ error: ClientError, _ method: String, _ path: String) -> APIClientError {
        switch error {
        case .notConnected(let reason): note(method, path, reason)
        case .untrusted(let reason): note(method, path, "the server's certificate is not trusted: \(reason)")
        case .lost: note(method, path, "the connection closed before the answer was complete")
        case .timedOut: note(method, path, "nothing came for \(patience), or the answer took too long altogether")
        case .malformed(let reason): return unreadable(path, reason, method: method)
        }
        return .noResponse
    }
}

extension APIClient: ServiceTransport {
    /// The APIs of services lie below `/v1`; the app's own paths are beside it.
    private static func path(_ api: ServiceAPI) -> String { "/v1" + api.path }

    package func events(_ api: ServiceAPI, _ body: [UInt8], _ event: (String) throws -> Void) async throws {
        var parser = ServerSentEventParser()
        try await exchange("POST", Self.path(api), body) { piece in
            for text in try parser.push(piece) { try event(text) }
        }
    }

    package func error(_ problem: ServiceProblem, of api: ServiceAPI) -> any Error {
        switch problem {
        case .unreadable(let reason): return unreadable(Self.path(api), reason)
        case .brokenOff: return brokenOff(api, "it ended before it was finished")
        case .reported(_, let message): return brokenOff(api, message ?? "an error without a message")
        case .refused: return ContentBlocked()
        }
    }

    private func brokenOff(_ api: ServiceAPI, _ reason: String) -> APIClientError {
        note("POST", Self.path(api), "the connection dropped mid-answer: \(reason)")
        return .noResponse
    }
}
