import HTTP
import Wire

extension RouteTable {
    /// With a route for each endpoint that a configuration names.
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

/// `POST /NAME`: answers with the endpoint's instructions. A body with `prompt` or `messages` is taken as that, any other
/// JSON as the user's message.
private func answer(
    _ endpoint: ClientConfiguration.Endpoint, _ context: RequestContext, _ services: Services
) async throws -> Response {
    let body = try JSON.decode(AppEndpointRequest.self, from: context.request.body)
    let instructions = RequestMessage(role: "system", content: .text(endpoint.system))
    let raw: JSONValue = .object(["role": .string("system"), "content": .string(endpoint.system)])
    return try await replyToApp(
        [instructions] + body.messages, .array([raw] + body.rawMessages), model: endpoint.model, context, services)
}
