import HTTP
import JSON
import Shim
import Wire

/// `POST /vision`: answers a question about an image, for the chat app.
@Sendable func answerAboutImage(_ context: RequestContext, _ services: Services) async throws -> Response {
    if context.request.headers["Content-Type"]?.lowercased().utf8.starts(with: "multipart/".utf8) == true {
        throw APIError(
            status: 415, kind: .invalidRequest,
            message: "This server takes JSON: {\"prompt\": \"…\", \"image\": \"data:image/png;base64,…\"}.",
            code: "unsupported_media_type")
    }
    let body = try JSON.decode(VisionRequest.self, from: context.body)
    guard let question = body.prompt ?? body.question else { throw APIError(missing: "prompt") }
    let part = MessageContent.Part(type: "text", text: question)
    let image = MessageContent.Part(type: "image_url", imageURL: .init(url: try body.imageURL()))
    if services.models.seesImages(body.model), body.model.map(services.models.has) ?? true {
        let message = RequestMessage(role: "user", content: .parts([image, part]))
        return try await replyToApp([message], model: body.model, context, services)
    }
    let upstream = try services.upstream(for: "Images")
    guard let model = body.model.flatMap({ services.models.has($0) ? nil : $0 }) ?? upstream.model else {
        throw APIError.needsSeeingModel
    }
    let message = RequestMessage(role: "user", content: .parts([part, image]))
    return try await replyToApp([message], model: model, context, services)
}

private struct VisionRequest: Decodable {
    let prompt: String?
    /// Another name for `prompt`.
    let question: String?
    let image: String
    let model: String?

    /// URL for the upstream to fetch. This server fetches it only with `--allow-image-urls`, and not from hosts that only
    /// this machine can reach.
    func imageURL() throws(APIError) -> String {
        if ImageAddress.isOne(image) { return image }
        guard let address = ImageAddress.holding(base64: image) else {
            throw .invalid(
                "image", "expected a data:image/… or http(s) URL, or a PNG, JPEG, GIF or WebP file in base64")
        }
        return address
    }
}
