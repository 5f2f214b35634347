import HTTP
import JSON
import Shim
import Wire

/// `POST /auth_token`: opens a session for an app that signed the request with its auth key.
func issueSession(_ context: RequestContext, _ clients: ClientAccess?) throws -> Response {
    let session = try configured(clients).newSession(for: context.principal, at: context.request.network)
    return try .secret(["token": .string(session.token), "expires_at": JSON(session.expires)])
}

/// `POST /api/auth/token`: issues an access token to an app's server, which sends the product's secret key.
func issueAccessToken(_ context: RequestContext, _ clients: ClientAccess?) throws -> Response {
    let clients = try configured(clients)
    guard let product = clients.product(ofSecretKeyIn: context.request.headers) else {
        context.trace.code = "INVALID_SECRET_KEY"
        var response = try Response.secret([
            "error": .object([
                "code": .string("INVALID_SECRET_KEY"), "message": .string("The provided secret key is invalid"),
            ])
        ])
        response.status = 401
        response.headers["WWW-Authenticate"] = "Bearer"
        return response
    }
    let body = try JSON.decode(AccessTokenRequest.self, from: context.body)
    guard body.productID.lowercased().utf8.elementsEqual(product.id.lowercased().utf8) else {
        throw APIError.invalid("product_id", "expected the product id of this secret key")
    }
    let token = clients.newToken(for: product)
    return try .secret([
        "access_token": .string(token.text), "expires_at": JSON(token.expires),
        "token_type": .string("Bearer"),
    ])
}

private func configured(_ clients: ClientAccess?) throws(APIError) -> ClientAccess {
    guard let clients else {
        throw APIError(
            status: 404, kind: .invalidRequest,
            message: "This server issues no tokens. Start it with --auth-config to configure clients.",
            code: "no_clients_configured")
    }
    return clients
}

private struct AccessTokenRequest: Decodable {
    let productID: String

    enum CodingKeys: String, CodingKey { case productID = "product_id" }
}

extension Response {
    /// A response that must not be cached (RFC 6749, section 5.1).
    fileprivate static func secret(_ members: [String: JSON]) throws -> Response {
        var response = try json(members)
        response.headers["Cache-Control"] = "no-store"
        return response
    }
}
