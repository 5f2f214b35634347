import HTTP
import Synchronization

/// A request with everything that was found out about it before its handler runs.
struct RequestContext: Sendable {
    let request: Request
    let match: RouteTable.Match
    /// Who sent it; `nil` where no key is asked for.
    var principal: Principal?
    let trace: RequestTrace

    init(_ request: Request, routes: RouteTable = .all, principal: Principal? = nil) {
        self.request = request
        match = routes.match(request)
        self.principal = principal
        trace = request.notes as? RequestTrace ?? RequestTrace()
        trace.client = request.network
    }

    /// Who shares the machine's time with others: whoever a key or session belongs to, or an address.
    var client: String {
        guard let principal, !principal.isManyDevices else { return request.network }
        return "\(principal.kind.rawValue) \(principal.id) \(principal.session ?? "")"
    }

    /// The value of a placeholder in the route's path; empty if the path has none of this name.
    func parameter(_ name: String) -> String {
        if case .route(_, let parameters) = match { parameters[name] ?? "" } else { "" }
    }

    /// The first value of a name in the query.
    func query(_ name: String) -> String? { request.query.first { $0.name.hasSameBytes(as: name) }?.value }
}

/// What is found out about a request while it is answered. The log line, the metrics and the header `x-engine` are made
/// from it.
///
/// One object a request, from its first byte to the end of its answer, since a streamed answer goes on after its handler
/// has returned.
@dynamicMemberLookup
final class RequestTrace: Sendable {
    struct Fields: Sendable, Equatable {
        var principal: Principal?
        /// The network that it comes from.
        var client: String?
        /// The header `X-App-Identifier`, by which an app names itself.
        var app: String?
        /// The model that answers, by its id.
        var model: String?
        /// Who answers; `nil` for routes where that is no question.
        var engine: AnsweredBy?
        /// Why the upstream answers what this server could not.
        var passedOver: UpstreamOptions.Occasion?
        var promptTokens: Int?
        var completionTokens: Int?
        /// Of the error that the client was told, or the partner's SDK in its own words.
        var code: String?
        /// What went wrong, in words that are not for the client.
        var error: String?
        /// The body, with `--log-prompts`.
        var body: String?
    }

    private let state = Mutex(Fields())

    var fields: Fields { state.withLock { $0 } }

    subscript<Value: Sendable>(dynamicMember path: WritableKeyPath<Fields, Value>) -> Value {
        get { state.withLock { $0[keyPath: path] } }
        set { state.withLock { $0[keyPath: path] = newValue } }
    }

    func addPromptTokens(_ count: Int) { state.withLock { $0.promptTokens = ($0.promptTokens ?? 0) + count } }

    func addCompletionTokens(_ count: Int) {
        state.withLock { $0.completionTokens = ($0.completionTokens ?? 0) + count }
    }
}

/// Who answers a request for a generation: said in the header `x-engine`, in the log and in the metrics.
enum AnsweredBy: String, Sendable, Encodable {
    case local, upstream
}
