import Foundation
import HTTP
import JSON
import LocalLLM
import Wire

/// The body of a generation request: the fields that choose the engine, and the body decoded for this server. The
/// upstream gets the body encoded anew, including fields unknown to this server.
struct GenerationBody<Body: Decodable & Sendable>: Sendable {
    /// Encodes the body for the upstream.
    fileprivate let bytes: @Sendable () throws -> [UInt8]
    let model: String?
    let streams: Bool
    /// Whether the body continues or stores what only this server then has: a response, a conversation.
    private let goesOnHere: Bool
    private let decoded: Result<Body, APIError>

    init(_ bytes: [UInt8]) throws(APIError) {
        let json = try JSON(body: bytes)
        let fields = try json.decoded(Fields.self)
        self.bytes = {
            var object = json.object ?? [:]
            // These fields decide how the answer is read, so duplicates are removed.
            object.setOnly("model", fields.model.map { .string($0) })
            object.setOnly("stream", fields.stream.map { .bool($0) })
            return JSON.object(object).bytes
        }
        model = fields.model
        streams = fields.stream == true
        goesOnHere = fields.previousResponseID != nil || fields.conversation != nil || fields.background == true
        decoded = Result { () throws(APIError) in try json.decoded() }
    }

    /// A body converted from another API's form.
    ///
    /// - Parameter bytes: Encodes it for the upstream.
    init(_ body: Body, model: String, bytes: @escaping @Sendable () throws -> [UInt8]) {
        self.bytes = bytes
        self.model = model
        streams = false
        goesOnHere = false
        decoded = .success(body)
    }

    /// - Throws: Why this server cannot decode the body.
    func get() throws(APIError) -> Body { try decoded.get() }

    /// Whether `--upstream-when` may forward it.
    fileprivate var mayLeave: Bool { !goesOnHere }

    private struct Fields: Decodable {
        let model: String?
        let stream: Bool?
        let previousResponseID: String?
        let conversation: JSON?
        let background: Bool?

        enum CodingKeys: String, CodingKey {
            case model, stream, conversation, background
            case previousResponseID = "previous_response_id"
        }
    }
}

/// Answers locally, or forwards to the upstream: unknown models, images, and with `--upstream-when`, chats while the
/// server is busy or that exceed the context.
///
/// - Parameters:
///   - hasImage: Whether the decoded body contains an image.
///   - here: Answers with a local model.
///   - there: Asks a model of the upstream; gets its name and the encoded body that names it.
func answerHereOrUpstream<Body: Decodable & Sendable, Answer>(
    _ body: GenerationBody<Body>, _ endpoint: UpstreamEndpoint, _ context: RequestContext, _ services: Services,
    hasImage: (Body) -> Bool = { _ in false }, here: (Body) async throws -> Answer,
    there: (Upstream, _ model: String, [UInt8]) async throws -> Answer
) async throws -> Answer {
    context.trace.engine = .local
    guard let upstream = services.upstream else { return try await here(body.get()) }
    if let model = body.model, !services.models.has(model) {
        context.trace.model = model
        return try await there(upstream, model, body.bytes())
    }
    let own = try body.get()
    func instead(_ model: String) async throws -> Answer {
        context.trace.model = model
        return try await there(upstream, model, naming(model, in: body.bytes()))
    }
    if !services.models.seesImages(body.model), hasImage(own) {
        guard let model = upstream.options.model else { throw APIError.needsSeeingModel }
        return try await instead(model)
    }
    guard let model = upstream.options.model, endpoint.isConversation, body.mayLeave else {
        return try await here(own)
    }
    var localError: (any Error)?
    return try await firstAnswer(of: [AnsweredBy.local, .upstream]) { engine in
        try await engine == .local ? here(own) : instead(model)
    } goesOn: { engine, error in
        guard engine == .local else {
            // The local error tells the client more than the upstream's failure.
            guard let localError, let failure = error as? APIError, failure.status >= 500 else { return false }
            context.trace.engine = .local
            throw localError
        }
        guard let occasion = UpstreamOptions.Occasion(error), upstream.options.occasions.contains(occasion) else {
            return false
        }
        context.trace.passedOver = occasion
        localError = error
        return true
    }
}

/// Like `answerHereOrUpstream`, for endpoints that pass on the upstream's response unchanged.
func respondHereOrUpstream<Body: Decodable & Sendable>(
    _ endpoint: UpstreamEndpoint, _ context: RequestContext, _ services: Services,
    hasImage: (Body) -> Bool = { _ in false }, here: (Body) async throws -> Response
) async throws -> Response {
    let body = try GenerationBody<Body>(context.body)
    return try await answerHereOrUpstream(
        body, endpoint, context, services, hasImage: hasImage, here: here,
        there: { upstream, _, bytes in
            try await upstream.answer(endpoint, bytes, streams: body.streams, context.request, context.trace)
        })
}

/// Answers a conversation locally or with the upstream. The upstream's response is passed on unchanged if its API has the
/// endpoint; else the request and the answer are translated.
///
/// - Parameter form: The request in its form; takes the decoded body, and whether the upstream answers.
func converseHereOrUpstream<Body: Decodable & Sendable, Form: ForwardableForm>(
    _ endpoint: UpstreamEndpoint, _ context: RequestContext, _ services: Services, hasImage: (Body) -> Bool,
    form: (Body, _ isForwarded: Bool) async throws -> Form
) async throws -> Response {
    let body = try GenerationBody<Body>(context.body)
    return try await converseHereOrUpstream(
        body, passingOnTo: endpoint, context, services, hasImage: hasImage, form: form)
}

/// - Parameter endpoint: `nil`: no upstream has an endpoint of the form, so the request and the answer are translated.
func converseHereOrUpstream<Body: Decodable & Sendable, Form: ForwardableForm>(
    _ body: GenerationBody<Body>, passingOnTo endpoint: UpstreamEndpoint?, _ context: RequestContext,
    _ services: Services, hasImage: (Body) -> Bool, form: (Body, _ isForwarded: Bool) async throws -> Form
) async throws -> Response {
    try await answerHereOrUpstream(
        body, endpoint ?? .chat, context, services, hasImage: hasImage,
        here: { try await form($0, false).response(to: context, services) },
        there: { upstream, model, bytes in
            if let endpoint, upstream.has(endpoint) {
                do {
                    return try await upstream.answer(
                        endpoint, bytes, streams: body.streams, context.request, context.trace)
                } catch let error as APIError where error.code == APIError.upstreamLacks(endpoint).code {
                    // It is known from now on.
                }
            }
            let form = try await form(body.get(), true)
            return try await .answer(
                form.events(for: context, services, from: upstream, model), streams: form.streams, context.trace)
        })
}

extension ForwardableForm {
    /// Answers with a model of the upstream, whose API has another form.
    func events(
        for context: RequestContext, _ services: Services, from upstream: Upstream, _ model: String
    ) -> ProgressStream<Encoder> {
        answers(to: context, services, promptField: promptField) {
            let provider = upstream.provider(model, context.trace)
            let conversation = try await provider.begin(try request(for: nil), guardrail: nil)
            for warning in conversation.warnings { context.trace.warn(warning) }
            return Answer(
                lease: nil, form: try encoder(of: conversation, named: model, nil), conversation: conversation)
        }
    }
}

/// Replaces the model in a body. Removes this server's own fields, since OpenAI's API rejects unknown ones.
private func naming(_ model: String, in bytes: [UInt8]) throws -> [UInt8] {
    var body = try JSON(body: bytes).object ?? [:]
    body.setOnly("model", .string(model))
    for field in SamplingField.all where field.isOwn { body.setOnly(field.name, nil) }
    return JSON.object(body).bytes
}

extension UpstreamEndpoint {
    /// Whether another model may answer instead. Embeddings and probabilities of two models are not comparable, and a raw prompt is
    /// written for one model.
    fileprivate var isConversation: Bool {
        switch self {
        case .chat, .responses, .messages: true
        case .completions, .messageTokens, .embeddings, .decisions, .images, .imageEdits, .imageVariations: false
        }
    }
}

extension UpstreamOptions.Occasion {
    /// The occasion that a local error is; `nil` if another engine would not help.
    fileprivate init?(_ error: any Error) {
        switch (error as? APIError)?.code {
        case "rate_limit_exceeded": self = .busy
        case "context_length_exceeded": self = .tooLong
        default: return nil
        }
    }
}
