import Cryptography
/// The chat app's request signature: the headers `x-signature` and `x-timestamp`.
///
/// The key is the app's auth key for `/auth_token`, and the session token for everything else.
package enum RequestSignature {
    package static let header = "x-signature"
    package static let timestampHeader = "x-timestamp"

    /// `METHOD\n/path\nTIMESTAMP\nSHA256HEX(body)`
    ///
    /// - Parameters:
    ///   - path: The whole path, without the query.
    ///   - timestamp: Value of the header: seconds since 1970, in decimal.
    ///   - body: The request's body, possibly empty.
    package static func canonicalString(
        method: String, path: String, timestamp: String, body: some Collection<UInt8>
    ) -> String {
        "\(method)\n\(path)\n\(timestamp)\n\(SHA256.digest(of: body).hexadecimal)"
    }

    /// HMAC-SHA256 of the canonical string, in lower-case hexadecimal digits.
    package static func signature(
        method: String, path: String, timestamp: String, body: some Collection<UInt8>, key: String
    ) -> String {
        let canonical = canonicalString(method: method, path: path, timestamp: timestamp, body: body)
        return hmacSHA256(canonical.utf8, key: key.utf8).hexadecimal
    }
}

/// A partner server's request signature: the headers `X-Api-Id`, `X-Nonce` (seconds since 1970) and `X-Signature`.
package enum PartnerSignature {
    package static let header = "X-Signature"
    package static let identityHeader = "X-Api-Id"
    package static let nonceHeader = "X-Nonce"

    /// HMAC-SHA256 of the concatenation `apiId + METHOD + path + body + timestamp`, in lower-case hexadecimal digits.
    ///
    /// - Parameter path: The path without the query.
    package static func signature(
        identity: String, method: String, path: String, body: some Collection<UInt8>, nonce: String, secret: String
    ) -> String {
        var message = Array("\(identity)\(method)\(path)".utf8)
        message += body
        message += nonce.utf8
        return hmacSHA256(message, key: secret.utf8).hexadecimal
    }
}
