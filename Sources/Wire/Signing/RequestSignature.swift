/// What the chat app signs of a request, and how: the headers `x-signature` and `x-timestamp`.
///
/// The key is the app's auth key for `/auth_token`, and the session token for everything else.
public enum RequestSignature {
    public static let header = "x-signature"
    public static let timestampHeader = "x-timestamp"

    /// `METHOD\n/path\nTIMESTAMP\nSHA256HEX(body)`
    ///
    /// - Parameters:
    ///   - path: With what follows the endpoint, without the query.
    ///   - timestamp: Seconds since 1970, in decimal, as the header has it.
    ///   - body: An empty one is hashed as empty.
    public static func canonicalString(
        method: String, path: String, timestamp: String, body: some Collection<UInt8>
    ) -> String {
        "\(method)\n\(path)\n\(timestamp)\n\(SHA256.digest(of: body).hexadecimal)"
    }

    /// HMAC-SHA256 of the canonical string, in lower-case hexadecimal digits.
    public static func signature(
        method: String, path: String, timestamp: String, body: some Collection<UInt8>, key: String
    ) -> String {
        let canonical = canonicalString(method: method, path: path, timestamp: timestamp, body: body)
        return hmacSHA256(canonical.utf8, key: key.utf8).hexadecimal
    }
}

/// What a partner's server signs of a request: the headers `X-Api-Id`, `X-Nonce` (seconds since 1970) and `X-Signature`.
public enum PartnerSignature {
    public static let header = "X-Signature"
    public static let identityHeader = "X-Api-Id"
    public static let nonceHeader = "X-Nonce"

    /// HMAC-SHA256, in lower-case hexadecimal digits, of `apiId + METHOD + path + body + timestamp`, one after the other.
    ///
    /// - Parameter path: Without the query.
    public static func signature(
        identity: String, method: String, path: String, body: some Collection<UInt8>, nonce: String, secret: String
    ) -> String {
        var message = Array("\(identity)\(method)\(path)".utf8)
        message += body
        message += nonce.utf8
        return hmacSHA256(message, key: secret.utf8).hexadecimal
    }
}
