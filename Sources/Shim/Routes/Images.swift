import HTTP
import JSON
import Wire

/// `POST /v1/images/generations`: forwards to the upstream unchanged.
@Sendable func createImages(_ context: RequestContext, _ services: Services) async throws -> Response {
    let upstream = try services.upstream(for: "Images")
    let fields = try JSON.decode(ImageRequest.self, from: context.body)
    return try await upstream.answer(
        .images, context.body, streams: fields.stream == true, context.request, context.trace)
}

/// `POST /v1/images/edits` and `/v1/images/variations`: forward the form to the upstream unchanged.
func forwardForm(
    to endpoint: UpstreamEndpoint, _ context: RequestContext, _ services: Services
) async throws -> Response {
    let upstream = try services.upstream(for: "Images")
    let form = try MultipartForm(context.body, contentType: context.request.headers["Content-Type"])
    guard form["image"] != nil || form["image[]"] != nil else { throw APIError(missing: "image") }
    return try await upstream.answer(
        endpoint, context.body, streams: form["stream"]?.elementsEqual("true".utf8) == true, context.request,
        context.trace)
}

private struct ImageRequest: Decodable {
    let prompt: String
    let stream: Bool?
}
