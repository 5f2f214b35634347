package import HTTP
import Synchronization
import Wire

/// A request with its route, client and trace, as handlers get it.
package struct RequestContext: Sendable {
    package internal(set) var request: Request
    let match: RouteTable.Match
    /// The authenticated client; `nil` where no key is required.
    package var principal: Principal?
    package let trace: RequestTrace

    init(_ request: Request, routes: RouteTable, principal: Principal? = nil) {
        self.request = request
        match = routes.match(request)
        self.principal = principal
        trace = request.notes as? RequestTrace ?? RequestTrace()
        trace.client = request.network
    }

    /// The request's body, which the front door has read.
    package var body: [UInt8] { request.body.bytes ?? [] }

    /// Reads the body into memory. Without a route it is not read: nobody wants it.
    ///
    /// - Throws: A 413 if it exceeds the route's limit.
    mutating func readBody(seesImages: Bool) async throws {
        guard case .route(let route, _) = match else { return }
        let limit = route.bodyLimit(seesImages: seesImages)
        if let length = request.body.length, length > limit {
            throw APIError(
                status: 413, kind: .invalidRequest,
                message: "\(route.name) takes a body of at most \(limit) bytes, got \(length).",
                code: "request_too_large")
        }
        request = try await request.collected(upTo: limit)
    }

    /// Key for sharing compute time fairly: the key or session, or else the network.
    var client: String {
        guard let principal, !principal.isManyDevices else { return request.network }
        return "\(principal.kind.rawValue) \(principal.id) \(principal.session ?? "")"
    }

    /// The value of a placeholder in the route's path; empty if there is none with this name.
    func parameter(_ name: String) -> String {
        if case .route(_, let parameters) = match { parameters[name] ?? "" } else { "" }
    }

    /// The first value of a name in the query.
    func query(_ name: String) -> String? { request.query.first { $0.name.hasSameBytes(as: name) }?.value }
}

/// Facts about a request, collected while it is handled, for its log line, the metrics and the header `x-engine`.
///
/// One object per request, from its first byte to the end of its response: a streamed response outlives its handler.
@dynamicMemberLookup
package final class RequestTrace: Sendable {
    package struct Fields: Sendable, Equatable {
        var principal: Principal?
        /// `Request.network`.
        package var client: String?
        /// The header `X-App-Identifier`, by which an app names itself.
        package var app: String?
        /// Id of the model that answers.
        package var model: String?
        /// The engine that answers; `nil` for routes without generation.
        package var engine: AnsweredBy?
        /// Why the request was forwarded to the upstream.
        var passedOver: UpstreamOptions.Occasion?
        var promptTokens: Int?
        var completionTokens: Int?
        /// Hosted tools and items of a responses request that the model does not see, for the log.
        var leftOut: String?
        /// Code of the error in the response.
        package var code: String?
        /// Cause of the error, for the log only.
        var error: String?
        /// Keywords of the request's schemas that are not enforced, for the log and the header `x-warning`.
        var warnings: [String] = []
        /// The body, with `--log-prompts`.
        var body: String?
    }

    private let state = Mutex(Fields())
    private let kept = Mutex<HeldBytes.Share?>(nil)

    var fields: Fields { state.withLock { $0 } }

    package subscript<Value: Sendable>(dynamicMember path: WritableKeyPath<Fields, Value>) -> Value {
        get { state.withLock { $0[keyPath: path] } }
        set { state.withLock { $0[keyPath: path] = newValue } }
    }

    /// Keeps a share of memory until the response has ended.
    func keep(_ part: HeldBytes.Share) { kept.withLock { $0 = part } }

    /// Adds a warning of at most 300 characters. A request keeps its first 16.
    func warn(_ text: String) {
        let text = String(text.prefix(300))
        state.withLock { fields in
            guard fields.warnings.count < 16, !fields.warnings.contains(text) else { return }
            fields.warnings.append(text)
        }
    }

    package func addPromptTokens(_ count: Int) { state.withLock { $0.promptTokens = ($0.promptTokens ?? 0) + count } }

    func addCompletionTokens(_ count: Int) {
        state.withLock { $0.completionTokens = ($0.completionTokens ?? 0) + count }
    }
}

/// The engine that answers a generation request, as in the header `x-engine`, the log and the metrics.
package enum AnsweredBy: String, Sendable, Encodable {
    case local, upstream
}
