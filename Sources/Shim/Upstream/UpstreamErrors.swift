import Foundation
import JSON
import HTTP
package import Wire

extension APIError {
    /// An error of the upstream. Clients get a server error.
    package static func upstream(_ message: String, status: Int = 502, code: String = "upstream_error") -> Self {
        .init(status: status, kind: .server, message: message, code: code)
    }

    /// The request needs an upstream and none is configured.
    static func needsUpstream(_ what: String) -> Self {
        .init(
            status: 501, kind: .server, message: "\(what) need an upstream API: start the server with --upstream URL.",
            code: "upstream_not_configured")
    }

    static func upstreamLacks(_ endpoint: UpstreamEndpoint) -> Self {
        .init(
            status: 501, kind: .server, message: "The upstream API has no endpoint \(endpoint.path).",
            code: "not_supported")
    }

    /// The request has an image, and neither it nor `--upstream-model` names a model of the upstream.
    package static let needsSeeingModel = APIError(
        status: 400, kind: .invalidRequest,
        message: "No model of this server supports images. Name a model of the upstream API, "
            + "or start the server with --upstream-model NAME.", param: "model", code: "invalid_value")

    static func isNotAsked(for wait: Duration) -> Self {
        var error = upstream(
            "The upstream API failed repeatedly; requests to it are paused.", status: 503,
            code: "upstream_unavailable")
        error.retryAfter = Int((wait / .seconds(1)).rounded(.up))
        return error
    }

    /// Details go to the log only, since they name addresses.
    init(_ error: ClientError) {
        let detail: String
        switch error {
        case .notConnected(let reason): (self, detail) = (.upstream("The upstream API cannot be reached."), reason)
        case .untrusted(let reason):
            (self, detail) = (.upstream("The upstream API's certificate is not trusted."), reason)
        case .lost: (self, detail) = (.upstream("The upstream connection dropped mid-answer."), "the connection ended")
        case .malformed(let reason):
            (self, detail) = (.upstream("The upstream API did not answer in HTTP."), reason)
        case .timedOut:
            self = .upstream("The upstream API took too long to answer.", status: 504, code: "upstream_timeout")
            detail = "timeout"
        }
        cause = "upstream: \(detail)"
    }

    /// An error response of the upstream. Errors that the client can fix are passed on.
    ///
    /// - Parameter key: The upstream's key, removed from texts that repeat it.
    init(upstreamStatus status: Int, _ headers: Headers, _ body: [UInt8], hiding key: String?) {
        let detail = UpstreamErrorDetail(body, hiding: key)
        let message = detail?.message
        var cause = "upstream: \(status)" + (detail?.code.map { " \($0)" } ?? "")
        switch status {
        case 401, 402, 403, 407:
            // Messages of other errors may quote the prompt and are not logged.
            if let message { cause = "upstream: \(status) \(message)" }
            self = .upstream("The upstream API refused this server's key. See the server's log.")
        case 429:
            self.init(
                status: 429, kind: .rateLimit, message: message ?? "The upstream API's rate limit is exceeded.",
                code: detail?.code ?? "rate_limit_exceeded")
            retryAfter = headers["Retry-After"].flatMap(Self.seconds)
        case 400..<500:
            guard let message else { fallthrough }
            self.init(
                status: status, kind: .invalidRequest, message: message, param: detail?.param, code: detail?.code)
        default:
            self = .upstream("The upstream API failed: it answered with status \(status).")
        }
        self.cause = cause
    }

    /// An error event in the upstream's stream. The client gets the upstream's message.
    init(upstreamEvent json: String, hiding key: String?) {
        let detail = UpstreamErrorDetail(Array(json.utf8), hiding: key)
        self = .upstream(
            detail?.message ?? "The upstream connection dropped mid-answer.", code: detail?.code ?? "upstream_error")
        cause = "upstream: an error in the stream"
    }

    /// `Retry-After` in seconds, or as a date (RFC 9110, section 10.2.3); a day at most.
    private static func seconds(_ text: String) -> Int? {
        if let seconds = Int(text) { return min(max(1, seconds), 86400) }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        return formatter.date(from: text).map { Int(min(max(1, $0.timeIntervalSinceNow.rounded(.up)), 86400)) }
    }
}

/// The upstream's description of an error, without the key.
private struct UpstreamErrorDetail {
    let message: String
    let param: String?
    let code: String?

    /// Reads `{"error": {…}}`, or an event that is the error itself; `nil` without a message.
    ///
    /// - Parameter key: The upstream's key, removed from all texts.
    init?(_ json: [UInt8], hiding key: String?) {
        let json = try? JSON(parsing: json, JSON.answerLimits)
        let found: ReceivedError? = (try? json?["error"]?.decode()) ?? (try? json?.decode())
        guard let found, let message = found.message else { return nil }
        let hidden = { (text: String) in
            String((key.map { text.replacingOccurrences(of: $0, with: "…", options: .literal) } ?? text).prefix(2000))
        }
        (self.message, param, code) = (hidden(message), found.param.map(hidden), found.code.map(hidden))
    }
}
