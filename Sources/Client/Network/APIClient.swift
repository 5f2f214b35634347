public import Foundation
import FoundationNetworking
import URLLoading
import Wire

/// Every call to a server goes through one of these: it shows who asks, tries again where that can help, and says of what
/// went wrong what an app can tell its user. Cancelling a task ends its transfer.
public struct APIClient: Sendable {
    /// How long to wait before trying again.
    struct Pauses: Sendable {
        /// After a 401.
        var refused: Duration = .milliseconds(500)
        /// After a connection that could not be made, one time after the other.
        var unreachable: [Duration] = [.milliseconds(200), .seconds(1)]
    }

    /// Bytes of an answer.
    static let longestAnswer = 32 << 20

    private let baseURL: URL
    private let authorization: Authorization
    private let headers: [String: String]
    private let patience: Duration
    private let pauses: Pauses
    private let log: @Sendable (String) -> Void

    /// - Parameters:
    ///   - baseURL: `http` or `https`; a path in it stands before those of the calls.
    ///   - headers: More headers of every request. They replace none that authorizes.
    ///   - patience: How long a server may be silent, rounded up to seconds.
    ///   - log: Gets a line for each thing that goes wrong, without any key in it.
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

    /// Sends JSON and reads the answer's.
    ///
    /// - Parameter path: Begins with a slash; with all that follows the endpoint, not percent-encoded.
    /// - Throws: `APIClientError`, `CancellationError`.
    public func post<Answer: Decodable>(
        _ path: String, _ body: some Encodable & Sendable, as _: Answer.Type = Answer.self
    ) async throws -> Answer {
        let bytes = try await catching(path) {
            try await open(path, body).body()
        }
        do throws(APIError) {
            return try JSON.decode(Answer.self, from: Array(bytes))
        } catch {
            throw unreadable(path, error.message)
        }
    }

    /// Sends JSON and hands over the data of each event of the answer.
    ///
    /// - Throws: `APIClientError`, `CancellationError`, and what `event` throws.
    func events(_ path: String, _ body: some Encodable & Sendable, _ event: (String) throws -> Void) async throws {
        var parser = ServerSentEventParser()
        try await catching(path) {
            let reply = try await open(path, body)
            try await reply.forEachPiece { data in
                for text in try parser.push(data) { try event(text) }
            }
        }
    }

    /// Logs what is wrong with an answer.
    func unreadable(_ path: String, _ reason: String) -> APIClientError {
        note(path, "the answer cannot be read: \(reason)")
        return .decode
    }

    /// Logs why an answer that had begun is not whole.
    func brokenOff(_ path: String, _ reason: String) -> APIClientError {
        note(path, "the answer broke off: \(reason)")
        return .noResponse
    }

    /// - Returns: The answer, if it is one.
    private func open(_ path: String, _ body: some Encodable) async throws -> Reply {
        let bytes = try JSON.encode(body)
        let url = try url(path)
        let key = try await authorization.currentKey()
        var reply = try await send(url, bytes, key)
        if reply.head.statusCode == 401, authorization.isRenewable {
            note(path, "status 401: \(await problem(reply))")
            try await Task.sleep(for: pauses.refused)
            reply = try await send(url, bytes, authorization.currentKey(insteadOf: key))
        }
        let status = reply.head.statusCode
        if (200..<300).contains(status) { return reply }
        note(path, "status \(status): \(await problem(reply))")
        switch status {
        case 401, 403: throw APIClientError.unAuthorized(code: status)
        case 400...: throw APIClientError.serverError(code: status)
        default: throw APIClientError.unknown
        }
    }

    /// Tries again only where nothing can have arrived: a question must not be answered, and paid for, twice.
    private func send(_ url: URL, _ body: [UInt8], _ key: String) async throws -> Reply {
        for pause in pauses.unreachable {
            do {
                return try await WebClient.shared.send(request(url, body, key), upTo: Self.longestAnswer)
            } catch let error where error.meansNothingWasSent {
                note(url.path(), "\(error.localizedDescription) Trying again.")
                try await Task.sleep(for: pause)
            }
        }
        return try await WebClient.shared.send(request(url, body, key), upTo: Self.longestAnswer)
    }

    private func request(_ url: URL, _ body: [UInt8], _ key: String) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data(body)
        request.timeoutInterval = (patience / .seconds(1)).rounded(.up)
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        let path = url.path(percentEncoded: true)
        for (name, value) in authorization.headers(method: "POST", path: path, body: body, key: key) {
            request.setValue(value, forHTTPHeaderField: name)
        }
        return request
    }

    /// Whatever is signed has to be what is sent, so dots, which transports resolve, may not be segments.
    private func url(_ path: String) throws -> URL {
        guard ["http", "https"].contains(baseURL.scheme?.lowercased()), baseURL.host()?.isEmpty == false,
            path.utf8.first == UInt8(ascii: "/"),
            !path.split(separator: "/").contains(where: { [".", ".."].contains($0) }),
            var components = URLComponents(url: baseURL, resolvingAgainstBaseURL: true)
        else {
            note(path, "expected a path that begins with /, and the address of a server, with http or https")
            throw APIClientError.invalidURL
        }
        if components.path.utf8.last == UInt8(ascii: "/") { components.path.removeLast() }
        components.path += path
        components.query = nil
        components.fragment = nil
        guard let url = components.url else { throw APIClientError.invalidURL }
        return url
    }

    /// What the server says is wrong.
    private func problem(_ reply: Reply) async -> String {
        String(decoding: ((try? await reply.body()) ?? Data()).prefix(4096), as: UTF8.self)
    }

    /// Logs one line, whatever a server has put into it.
    private func note(_ path: String, _ text: String) {
        let line = "POST \(path): \(text)".unicodeScalars
        log(String(String.UnicodeScalarView(line.filter { $0.properties.generalCategory != .control }.prefix(600))))
    }

    /// Turns what a transfer fails with into what an app expects, and logs it.
    private func catching<Result>(_ path: String, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch {
            try Task.checkCancellation()
            switch error {
            case let error as Reply.TooLong: throw unreadable(path, error.localizedDescription)
            case let error as ServerSentEventParser.TooLong:
                throw unreadable(path, "an event has over \(error.limit) bytes")
            default:
                let failure = error as NSError
                guard failure.domain == NSURLErrorDomain else { throw error }
                let isSilent = failure.code == NSURLErrorTimedOut
                note(path, isSilent ? "nothing came for \(patience)" : failure.localizedDescription)
                throw APIClientError.noResponse
            }
        }
    }
}

extension Error {
    /// Whether no connection came about.
    fileprivate var meansNothingWasSent: Bool {
        let error = self as NSError
        let codes = [NSURLErrorCannotConnectToHost, NSURLErrorCannotFindHost, NSURLErrorDNSLookupFailed]
        return error.domain == NSURLErrorDomain && codes.contains(error.code)
    }
}
