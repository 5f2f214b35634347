import Foundation
import HTTP
import Wire

/// The body of a request for a generation, decoded once: what decides who answers it, and the whole as this server reads
/// it. An upstream gets what was read, encoded anew, with the fields that this server does not know.
struct GenerationBody<Body: Decodable & Sendable>: Sendable {
    /// What an upstream gets.
    fileprivate let bytes: @Sendable () throws -> [UInt8]
    let model: String?
    let streams: Bool
    /// Whether the conversation so far is in this server's memory, where no upstream has it.
    private let goesOnHere: Bool
    private let decoded: Result<Body, APIError>

    init(_ bytes: [UInt8]) throws(APIError) {
        let parts = try JSON.decode(Parts.self, from: bytes)
        let (model, stream) = (parts.fields.model, parts.fields.stream)
        self.bytes = {
            var object = RawObject(bytes)
            // What decides how the answer is read is said in one way only.
            try object.set("model", model)
            try object.set("stream", stream)
            return try object.encoded()
        }
        self.model = model
        streams = stream == true
        goesOnHere = parts.fields.previousResponseID != nil
        decoded = parts.body.mapError { JSON.explain($0, decoding: bytes) }
    }

    /// A body that came in another form.
    ///
    /// - Parameter bytes: Encodes it for the upstream.
    init(_ body: Body, model: String, bytes: @escaping @Sendable () throws -> [UInt8]) {
        self.bytes = bytes
        self.model = model
        streams = false
        goesOnHere = false
        decoded = .success(body)
    }

    /// - Throws: What is wrong with the body for this server.
    func get() throws(APIError) -> Body { try decoded.get() }

    /// Whether `--upstream-when` may send it elsewhere.
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

/// Answers here, or upstream what this server cannot: models that are not here, pictures, and where it is configured,
/// conversations that it is too busy or too small for.
///
/// - Parameters:
///   - hasPicture: Whether the body, as it is for this server, has a picture to look at.
///   - here: Answers from a model of this server.
///   - there: Sends bytes to the upstream.
func answerHereOrUpstream<Body: Decodable & Sendable, Answer>(
    _ body: GenerationBody<Body>, _ endpoint: UpstreamEndpoint, _ context: RequestContext, _ services: Services,
    hasPicture: (Body) -> Bool = { _ in false }, here: (Body) async throws -> Answer,
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
    if !services.seesImages, hasPicture(own) {
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
            // What is wrong here is more use to the client than that there was no help.
            context.trace.engine = .local
            throw error
        }
    }
}

/// The same as a response, for endpoints that answer with what the upstream answers.
func respondHereOrUpstream<Body: Decodable & Sendable>(
    _ endpoint: UpstreamEndpoint, _ context: RequestContext, _ services: Services,
    hasPicture: (Body) -> Bool = { _ in false }, here: (Body) async throws -> Response
) async throws -> Response {
    let body = try GenerationBody<Body>(context.request.body)
    return try await answerHereOrUpstream(
        body, endpoint, context, services, hasPicture: hasPicture, here: here,
        there: { try await $0.answer(endpoint, $1, streams: body.streams, context.trace) })
}

/// A body that asks another model than it does. Fields that only ask this server for figures are left out: OpenAI's API
/// refuses what it does not know.
private func naming(_ model: String, in bytes: [UInt8]) throws -> [UInt8] {
    var body = RawObject(bytes)
    try body.set("model", model)
    for field in ["timings_per_token", "return_progress"] { try body.set(field, String?.none) }
    return try body.encoded()
}

extension UpstreamEndpoint {
    /// Whether another model's answer would do as well. Vectors of two models have nothing to do with each other, and a text
    /// is continued in the ways of the model it was written for.
    fileprivate var isConversation: Bool {
        switch self {
        case .chat, .responses: true
        case .completions, .embeddings, .images: false
        }
    }
}

extension UpstreamOptions.Occasion {
    /// What an error of the local engine gives occasion to; `nil` where another engine would not help.
    fileprivate init?(_ error: any Error) {
        switch (error as? APIError)?.code {
        case "rate_limit_exceeded": self = .busy
        case "context_length_exceeded": self = .tooLong
        default: return nil
        }
    }
}
