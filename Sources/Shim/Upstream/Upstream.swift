import Foundation
package import HTTP
import JSON
import LocalLLM
import Providers
import Synchronization
import Wire

/// The upstream API. Requests carry the server's own key, and of the client's request only the body.
package final class Upstream: Sendable {
    /// Side effects, which tests replace.
    struct Tools: Sendable {
        var now: @Sendable () -> ContinuousClock.Instant = { .now }
        var sleep: @Sendable (Duration) async throws -> Void = { try await pause(for: $0) }
    }

    let options: UpstreamOptions
    private let client: HTTPClient
    private let tools: Tools
    private let breaker = Mutex(CircuitBreaker())
    /// Endpoints that it has answered with "not found".
    private let missing = Mutex<Set<UpstreamEndpoint>>([])
    private let models = UpstreamModels()

    /// Pauses after failed attempts to connect.
    private static let pauses: [Duration] = [.milliseconds(100), .milliseconds(400)]
    /// Maximum bytes of an answer that is not streamed: ten images as base64.
    private static let mostBytes = 32 << 20
    private static let mostBytesOfModels = 4 << 20

    /// - Parameter timeLimit: Deadline for a whole answer.
    init(_ options: UpstreamOptions, timeLimit: Duration, tools: Tools = .init()) throws(NetworkError) {
        var limits = HTTPClient.Limits()
        limits.silence = options.silence
        limits.whole = timeLimit
        self.options = options
        self.tools = tools
        client = HTTPClient(
            host: options.host, port: options.port, trust: options.usesTLS ? try TLSTrust.system.get() : nil,
            limits: limits)
    }

    /// State of the circuit breaker.
    var circuit: CircuitBreaker.State { breaker.withLock { $0.state } }

    /// Whether conversations that find every place here taken are answered there.
    var takesWhatIsTooMuch: Bool {
        guard options.model != nil, options.occasions.contains(.busy) else { return false }
        if case .open = circuit { return false }
        return true
    }

    /// Whether requests to the endpoint are forwarded as they are. Other conversations are translated.
    func has(_ endpoint: UpstreamEndpoint) -> Bool {
        endpoint.apis.contains(options.api) && !missing.withLock { $0.contains(endpoint) }
    }

    /// Its model as what answers conversations, in any form that clients have.
    func provider(_ model: String, _ trace: RequestTrace) -> any Provider {
        trace.model = model
        return Service(options.api, model: model, over: UpstreamTransport(upstream: self, trace: trace))
    }

    /// Forwards a body to the endpoint and passes the answer on, streamed or whole.
    ///
    /// - Parameters:
    ///   - streams: Whether the body asks for a stream.
    ///   - request: Its headers tell what the client knows of the API.
    func answer(
        _ endpoint: UpstreamEndpoint, _ body: [UInt8], streams: Bool, _ request: Request, _ trace: RequestTrace
    ) async throws -> Response {
        guard streams else {
            let headers: Headers = ["Content-Type": "application/json"]
            let answer = try await whole(endpoint, body, trace, of: request)
            return Response(status: 200, headers: headers, body: .bytes(answer))
        }
        let reply = try await send(endpoint, body, trace, of: request)
        return try await UpstreamStream(reply, endpoint, hiding: options.key).response(trace)
    }

    /// Forwards a body without `stream`. Checks that the answer is JSON with the endpoint's result field.
    package func whole(
        _ endpoint: UpstreamEndpoint, _ body: [UInt8], _ trace: RequestTrace, of request: Request? = nil
    ) async throws -> [UInt8] {
        let reply = try await send(endpoint, body, trace, of: request)
        let bytes = try await reply.body(upTo: Self.mostBytes)
        guard let answer = try? JSON(parsing: bytes, JSON.answerLimits), endpoint.hasResult(answer) else {
            throw reply.failsForRequest(.upstream("The upstream API sent an unexpected response."))
        }
        reply.succeeds()
        return bytes
    }

    /// Its models; may be outdated or empty after failures.
    func modelCards() async -> [ModelCard] {
        await models.cards(tools.now()) { [self] in await modelList() }
    }

    /// `nil` on failure. Failures do not count for the circuit breaker: not every API has a model list.
    private func modelList() async -> [UInt8]? {
        if case .open = circuit { return nil }
        var client = client
        client.limits.silence = .seconds(5)
        client.limits.whole = .seconds(10)
        guard let response = try? await client.send("GET", options.basePath + "/models", headers: headers()),
            response.status == 200
        else { return nil }
        return try? await response.body(upTo: Self.mostBytesOfModels)
    }

    // MARK: Asking

    /// - Returns: A reply with status 200, whose body is not read yet.
    /// - Throws: `APIError` for the client; `CancellationError`.
    fileprivate func send(
        _ endpoint: UpstreamEndpoint, _ body: [UInt8], _ trace: RequestTrace, of request: Request? = nil
    ) async throws -> UpstreamReply {
        guard has(endpoint) else { throw APIError.upstreamLacks(endpoint) }
        trace.engine = .upstream
        guard let ticket = breaker.withLock({ $0.admit(tools.now()) }) else { throw APIError.isNotAsked(for: wait) }
        let client = trace.client ?? ""
        let trial = UpstreamTrial { [self] ending in settle(ticket, ending, client) }
        let response: ClientResponse
        do {
            response = try await ClientError.retryingConnection(after: Self.pauses) {
                try await self.client.send(
                    "POST", options.basePath + endpoint.path, headers: headers(request, isForm: endpoint.takesForm),
                    body: body)
            } pause: { pause, _ in
                // Jitter, so that many requests do not retry at once.
                try await tools.sleep(pause * .random(in: 0.5...1.5))
            }
        } catch let error as ClientError {
            trial.settle(.failed)
            throw APIError(error)
        }
        let reply = UpstreamReply(response, trial)
        guard response.status == 200 else {
            let text = (try? await response.body(upTo: 1 << 16)) ?? []
            try Task.checkCancellation()
            let error = APIError(upstreamStatus: response.status, response.headers, text, hiding: options.key)
            switch response.status {
            case 404 where endpoint == .responses && error.code != "model_not_found", 405 where endpoint == .responses:
                missing.withLock { _ = $0.insert(endpoint) }
                throw reply.refuses(.upstreamLacks(endpoint))
            case 500, 501: throw reply.failsForRequest(error)
            case 502...: throw reply.fails(error)
            default: throw reply.refuses(error)
            }
        }
        return reply
    }

    private func headers(_ request: Request? = nil, isForm: Bool = false) -> Headers {
        var headers: Headers = [
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
            "Accept-Encoding": "identity", "User-Agent": "shim/\(version)",
        ]
        // It has the form's boundary.
        if isForm { headers["Content-Type"] = request?.headers["Content-Type"] }
        switch options.api {
        case .openAI: headers["Authorization"] = options.key.map { "Bearer \($0)" }
        case .anthropic:
            headers["x-api-key"] = options.key
            headers["anthropic-version"] = request?.headers["anthropic-version"] ?? "2023-06-01"
            headers["anthropic-beta"] = request?.headers["anthropic-beta"]
        }
        return headers
    }

    // MARK: Circuit

    private var wait: Duration { breaker.withLock { $0.wait(tools.now()) } }

    private func settle(_ ticket: CircuitBreaker.Ticket, _ ending: UpstreamTrial.Ending, _ client: String) {
        breaker.withLock { breaker in
            switch ending {
            case .begun: breaker.begins(ticket)
            case .succeeded: breaker.succeeds(ticket)
            case .failed: breaker.fails(ticket, tools.now())
            case .failedForRequest: breaker.fails(ticket, tools.now(), for: client)
            case .givenUp: breaker.isGivenUp(ticket, tools.now())
            }
        }
    }
}

/// The endpoints of an upstream.
package enum UpstreamEndpoint: Sendable {
    case chat, completions, responses, messages, messageTokens, embeddings, decisions, images
    case imageEdits, imageVariations

    /// The APIs that have the endpoint.
    fileprivate var apis: Set<ServiceAPI> {
        switch self {
        case .chat, .completions, .responses, .embeddings, .decisions, .images, .imageEdits, .imageVariations: [.openAI]
        case .messages, .messageTokens: [.anthropic]
        }
    }

    /// The endpoint that requests are translated for.
    fileprivate static func conversations(of api: ServiceAPI) -> Self {
        switch api {
        case .openAI: .chat
        case .anthropic: .messages
        }
    }

    var path: String {
        switch self {
        case .chat: "/chat/completions"
        case .completions: "/completions"
        case .responses: "/responses"
        case .messages: "/messages"
        case .messageTokens: "/messages/count_tokens"
        case .embeddings: "/embeddings"
        case .decisions: "/decisions"
        case .images: "/images/generations"
        case .imageEdits: "/images/edits"
        case .imageVariations: "/images/variations"
        }
    }

    /// Whether its requests are forms instead of JSON.
    fileprivate var takesForm: Bool { self == .imageEdits || self == .imageVariations }

    /// Whether a whole answer has what the endpoint is asked for.
    fileprivate func hasResult(_ answer: JSON) -> Bool {
        self == .messageTokens ? answer[resultField]?.int != nil : answer[resultField]?.array != nil
    }

    /// Field with the list of results in a whole answer, or with the number of tokens.
    private var resultField: String {
        switch self {
        case .chat, .completions: "choices"
        case .responses: "output"
        case .messages: "content"
        case .messageTokens: "input_tokens"
        case .decisions: "answers"
        case .embeddings, .images, .imageEdits, .imageVariations: "data"
        }
    }

    /// Whether a complete stream ends with an event that says so.
    var saysWhenItEnds: Bool {
        switch self {
        case .chat, .completions, .responses, .messages: true
        case .messageTokens, .embeddings, .decisions, .images, .imageEdits, .imageVariations: false
        }
    }
}

/// Carries translated requests to the upstream.
private struct UpstreamTransport: ServiceTransport {
    let upstream: Upstream
    let trace: RequestTrace

    func events(_ api: ServiceAPI, _ body: [UInt8], _ event: (String) throws -> Void) async throws {
        let reply = try await upstream.send(.conversations(of: api), body, trace)
        var parser = ServerSentEventParser(limit: EventRelay.mostBytes)
        do {
            while let piece = try await reply.next() {
                for text in try parser.push(piece) {
                    try event(text)
                    reply.begins()
                }
            }
        } catch let error as APIError {
            throw reply.fails(error)
        } catch is ServerSentEventParser.TooLong {
            throw reply.fails(.isNoEvent)
        }
        reply.succeeds()
    }

    func error(_ problem: ServiceProblem, of _: ServiceAPI) -> any Error {
        switch problem {
        case .unreadable: APIError.isNoEvent
        case .brokenOff: APIError(ClientError.lost)
        case .reported(let event, _): APIError(upstreamEvent: event, hiding: upstream.options.key)
        case .refused: APIError.contentFiltered("The answer was blocked by a content filter.")
        }
    }
}
