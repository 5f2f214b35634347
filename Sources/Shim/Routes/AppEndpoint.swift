import HTTP
import Wire

extension RouteTable {
    /// Adds a route for each configured endpoint.
    static func + (table: Self, endpoints: [ClientConfiguration.Endpoint]) -> Self {
        Self(
            table.routes
                + endpoints.map { endpoint in
                    Route("POST", PathPattern(stringLiteral: "/" + endpoint.name), access: .apps(.standard)) {
                        try await answer(endpoint, $0, $1)
                    }
                })
    }
}

/// `POST /NAME`: answers under the endpoint's instructions. Takes `prompt` or `messages`; any other JSON becomes the
/// user's message.
private func answer(
    _ endpoint: ClientConfiguration.Endpoint, _ context: RequestContext, _ services: Services
) async throws -> Response {
    let body = try JSON.decode(AppEndpointRequest.self, from: context.request.body)
    let instructions = RequestMessage(role: "system", content: .text(endpoint.system))
    let raw: JSONValue = .object(["role": .string("system"), "content": .string(endpoint.system)])
    return try await replyToApp(
        [instructions] + body.messages, .array([raw] + body.rawMessages), model: endpoint.model, context, services)
}
