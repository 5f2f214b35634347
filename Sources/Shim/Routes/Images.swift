import HTTP
import JSON
import Wire

/// `POST /v1/images/generations`: forwards to the upstream unchanged.
@Sendable func createImages(_ context: RequestContext, _ services: Services) async throws -> Response {
    let upstream = try services.upstream(for: "Images")
    let fields = try JSON.decode(ImageRequest.self, from: context.request.body)
    return try await upstream.answer(
        .images, context.request.body, streams: fields.stream == true, context.request, context.trace)
}

private struct ImageRequest: Decodable {
    let prompt: String
    let stream: Bool?
}
