import HTTP
import JSON
import Shim
import Wire

extension Route {
    /// The route of a configured endpoint.
    init(_ endpoint: ClientConfiguration.Endpoint, access: Access) {
        self.init("POST", PathPattern(stringLiteral: "/" + endpoint.name), access: access) {
            try await answer(endpoint, $0, $1)
        }
    }
}

/// `POST /NAME`: answers under the endpoint's instructions. Takes `prompt` or `messages`; any other JSON becomes the
/// user's message.
private func answer(
    _ endpoint: ClientConfiguration.Endpoint, _ context: RequestContext, _ services: Services
) async throws -> Response {
    let body = try JSON.decode(AppEndpointRequest.self, from: context.body)
    let instructions = RequestMessage(role: "system", content: .text(endpoint.system))
    let raw: JSON = .object(["role": .string("system"), "content": .string(endpoint.system)])
    return try await replyToApp(
        [instructions] + body.messages, .array([raw] + body.rawMessages), model: endpoint.model, context, services)
}
