import Foundation
import HTTP
import Wire

/// The body of a generation request: the fields that choose the engine, and the body decoded for this server. The
/// upstream gets the body encoded anew, including fields unknown to this server.
struct GenerationBody<Body: Decodable & Sendable>: Sendable {
    /// Encodes the body for the upstream.
    fileprivate let bytes: @Sendable () throws -> [UInt8]
    let model: String?
    let streams: Bool
    /// Whether the body continues a stored response, which only this server has.
    private let goesOnHere: Bool
    private let decoded: Result<Body, APIError>

    init(_ bytes: [UInt8]) throws(APIError) {
        let parts = try JSON.decode(Parts.self, from: bytes)
        let (model, stream) = (parts.fields.model, parts.fields.stream)
        self.bytes = {
            var object = RawObject(bytes)
            // These fields decide how the answer is read, so duplicates are removed.
            try object.set("model", model)
            try object.set("stream", stream)
            return try object.encoded()
        }
        self.model = model
        streams = stream == true
        goesOnHere = parts.fields.previousResponseID != nil
        decoded = parts.body.mapError { JSON.explain($0, decoding: bytes) }
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

    private struct Parts: Decodable {
        let fields: Fields
        let body: Result<Body, any Error>

        init(from decoder: any Decoder) throws {
            fields = try Fields(from: decoder)
            body = Result { try Body(from: decoder) }
        }
    }

    private struct Fields: Decodable {
        let model: String?
        let stream: Bool?
        let previousResponseID: String?

        enum CodingKeys: String, CodingKey {
            case model, stream
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
///   - there: Sends an encoded body to the upstream.
func answerHereOrUpstream<Body: Decodable & Sendable, Answer>(
    _ body: GenerationBody<Body>, _ endpoint: UpstreamEndpoint, _ context: RequestContext, _ services: Services,
    hasImage: (Body) -> Bool = { _ in false }, here: (Body) async throws -> Answer,
    there: (Upstream, [UInt8]) async throws -> Answer
) async throws -> Answer {
    context.trace.engine = .local
    guard let upstream = services.upstream else { return try await here(body.get()) }
    if let model = body.model, !services.models.has(model) {
        context.trace.model = model
        return try await there(upstream, body.bytes())
    }
    let own = try body.get()
    func instead(_ model: String) async throws -> Answer {
        context.trace.model = model
        return try await there(upstream, naming(model, in: body.bytes()))
    }
    if !services.seesImages, hasImage(own) {
        guard let model = upstream.options.model else { throw APIError.needsSeeingModel }
        return try await instead(model)
    }
    do {
        return try await here(own)
    } catch {
        guard let model = upstream.options.model, endpoint.isConversation, body.mayLeave,
            let occasion = UpstreamOptions.Occasion(error), upstream.options.occasions.contains(occasion)
        else { throw error }
        context.trace.passedOver = occasion
        do {
            return try await instead(model)
        } catch let failure as APIError where failure.status >= 500 {
            // The local error tells the client more than the upstream's failure.
            context.trace.engine = .local
            throw error
        }
    }
}

/// Like `answerHereOrUpstream`, for endpoints that pass on the upstream's response unchanged.
func respondHereOrUpstream<Body: Decodable & Sendable>(
    _ endpoint: UpstreamEndpoint, _ context: RequestContext, _ services: Services,
    hasImage: (Body) -> Bool = { _ in false }, here: (Body) async throws -> Response
) async throws -> Response {
    let body = try GenerationBody<Body>(context.request.body)
    return try await answerHereOrUpstream(
        body, endpoint, context, services, hasImage: hasImage, here: here,
        there: { try await $0.answer(endpoint, $1, streams: body.streams, context.trace) })
}

/// Replaces the model in a body. Removes this server's own fields, since OpenAI's API rejects unknown ones.
private func naming(_ model: String, in bytes: [UInt8]) throws -> [UInt8] {
    var body = RawObject(bytes)
    try body.set("model", model)
    for field in ["timings_per_token", "return_progress"] { try body.set(field, String?.none) }
    return try body.encoded()
}

extension UpstreamEndpoint {
    /// Whether another model may answer instead. Embeddings of two models are not comparable, and a raw prompt is
    /// written for one model.
    fileprivate var isConversation: Bool {
        switch self {
        case .chat, .responses: true
        case .completions, .embeddings, .images: false
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
