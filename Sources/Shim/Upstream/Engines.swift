import Foundation
import HTTP
import Wire

/// Who answers a request for a generation: said in the header `x-engine`, in the log and in the metrics.
enum Engine: String, Sendable {
    case local, upstream
}

extension Router {
    /// `POST /v1/chat/completions`, by whichever engine should answer it.
    @Sendable func answerChat(_ request: Request) async throws -> Response {
        try await answer(request, .chat, here: chatCompletions)
    }

    /// Answers here, or upstream what this server cannot: models that are not here, pictures, and where it is configured,
    /// conversations that it is too busy or too small for.
    func answer(
        _ request: Request, _ endpoint: UpstreamEndpoint, here: @Sendable (Request) async throws -> Response
    ) async throws -> Response {
        RequestNotes.current?["engine"] = .text(Engine.local.rawValue)
        guard let upstream else { return try await here(request) }
        let fields = try JSON.decode(RoutingFields.self, from: request.body)
        if let model = fields.model, !models.has(model) {
            RequestNotes.current?["model"] = .text(model)
            return try await upstream.answer(endpoint, request.body, streams: fields.stream == true)
        }
        if endpoint.isConversation, try JSON.decode(ConversationFields.self, from: request.body).hasPicture {
            guard let model = upstream.options.model else { throw APIError.needsSeeingModel }
            return try await instead(upstream, endpoint, request, model, fields)
        }
        do {
            return try await here(request)
        } catch {
            guard let model = upstream.options.model, endpoint.isConversation, fields.previousResponseID == nil,
                let occasion = UpstreamOptions.Occasion(error), upstream.options.occasions.contains(occasion)
            else { throw error }
            RequestNotes.current?["passed_over"] = .text(occasion.rawValue)
            RequestNotes.current?["code"] = nil
            do {
                return try await instead(upstream, endpoint, request, model, fields)
            } catch let failure as APIError where failure.status >= 500 {
                // What is wrong here is more use to the client than that there was no help.
                RequestNotes.current?["engine"] = .text(Engine.local.rawValue)
                throw error
            }
        }
    }

    /// Asks another model than the request names.
    private func instead(
        _ upstream: Upstream, _ endpoint: UpstreamEndpoint, _ request: Request, _ model: String, _ fields: RoutingFields
    ) async throws -> Response {
        RequestNotes.current?["model"] = .text(model)
        var body = try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any] ?? [:]
        body["model"] = model
        let bytes = Array(try JSONSerialization.data(withJSONObject: body, options: .withoutEscapingSlashes))
        return try await upstream.answer(endpoint, bytes, streams: fields.stream == true)
    }

    /// The upstream, for what needs one.
    func upstream(for what: String) throws(APIError) -> Upstream {
        guard let upstream else { throw .needsUpstream(what) }
        return upstream
    }
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

/// What of a request decides who answers it.
private struct RoutingFields: Decodable {
    let model: String?
    let stream: Bool?
    let previousResponseID: String?

    enum CodingKeys: String, CodingKey {
        case model, stream
        case previousResponseID = "previous_response_id"
    }
}

/// What a model would have to look at.
private struct ConversationFields: Decodable {
    /// Of chats.
    let messages: JSONValue?
    /// Of responses.
    let input: JSONValue?

    var hasPicture: Bool {
        [messages, input].contains { list in
            list.elements.contains { message in
                message["content"].elements.contains { part in
                    part["type"] == .string("image_url") || part["type"] == .string("input_image")
                }
            }
        }
    }
}

extension JSONValue? {
    fileprivate var elements: [JSONValue?] {
        if case .array(let elements) = self { elements } else { [] }
    }

    fileprivate subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }
}
