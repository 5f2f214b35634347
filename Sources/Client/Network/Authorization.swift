import Foundation
import Synchronization
import Wire

/// How requests are authenticated.
public struct Authorization: Sendable {
    private enum Key {
        case fixed(String)
        case renewed(TokenCache)
    }

    private enum Scheme {
        case none
        case bearer
        case basic
        case apiKey
        case signature
        case partner(identity: String)
    }

    private let key: Key
    private let scheme: Scheme
    private let signatures = RecentSignatures()

    /// No authentication.
    public static let none = Self(key: .fixed(""), scheme: .none)

    /// `Authorization: Bearer KEY`, as in OpenAI's API.
    public static func bearer(_ key: String) -> Self { .init(key: .fixed(key), scheme: .bearer) }

    /// `x-api-key: KEY`, as in Anthropic's API.
    public static func apiKey(_ key: String) -> Self { .init(key: .fixed(key), scheme: .apiKey) }

    /// `Authorization: Basic` with the key as user name (RFC 7617).
    static func basic(_ key: String) -> Self { .init(key: .fixed(key), scheme: .basic) }

    /// The headers `X-Api-Id`, `X-Nonce` and `X-Signature` of a partner.
    public static func partner(identity: String, secret: String) -> Self {
        .init(key: .fixed(secret), scheme: .partner(identity: identity))
    }

    /// The headers `x-signature` and `x-timestamp`, signed with the app's auth key, which every copy has.
    static func signature(key: String) -> Self { .init(key: .fixed(key), scheme: .signature) }

    /// The headers `x-signature` and `x-timestamp`, signed with this device's session token.
    static func signature(tokens: TokenCache) -> Self { .init(key: .renewed(tokens), scheme: .signature) }

    static func bearer(tokens: TokenCache) -> Self { .init(key: .renewed(tokens), scheme: .bearer) }

    /// Whether a refused key can be replaced by a new one.
    var isRenewable: Bool {
        if case .renewed = key { true } else { false }
    }

    /// The key or token to sign with or to send.
    ///
    /// - Parameter refused: A renewable key that the server refused.
    func currentKey(insteadOf refused: String? = nil) async throws -> String {
        switch key {
        case .fixed(let key): key
        case .renewed(let tokens): try await tokens.token(insteadOf: refused)
        }
    }

    /// - Parameter path: Path as sent: percent-encoded, without the query.
    func headers(method: String, path: String, body: [UInt8], key: String) -> [String: String] {
        switch scheme {
        case .none: return [:]
        case .basic: return ["Authorization": "Basic \(Data("\(key):".utf8).base64EncodedString())"]
        case .apiKey: return ["x-api-key": key]
        case .bearer: return ["Authorization": "Bearer \(key)"]
        case .signature:
            let (signature, timestamp) = signatures.next { timestamp in
                RequestSignature.signature(method: method, path: path, timestamp: timestamp, body: body, key: key)
            }
            return [RequestSignature.header: signature, RequestSignature.timestampHeader: timestamp]
        case .partner(let identity):
            let (signature, nonce) = signatures.next { nonce in
                PartnerSignature.signature(
                    identity: identity, method: method, path: path, body: body, nonce: nonce, secret: key)
            }
            return [
                PartnerSignature.identityHeader: identity, PartnerSignature.nonceHeader: nonce,
                PartnerSignature.header: signature,
            ]
        }
    }
}

/// Makes signatures unique. Equal requests within a second would have equal signatures, and the server would refuse the
/// second one as a replay; so it is signed for the next second.
private final class RecentSignatures: Sendable {
    /// Signatures with the second they were made for. Those of past seconds cannot recur and are dropped.
    private let seconds = Mutex<[String: Int]>([:])

    func next(_ sign: (_ timestamp: String) -> String) -> (signature: String, timestamp: String) {
        let now = Int(Date().timeIntervalSince1970)
        return seconds.withLock { seconds in
            seconds = seconds.filter { $0.value >= now }
            var second = now
            while true {
                let signature = sign(String(second))
                if seconds.updateValue(second, forKey: signature) == nil { return (signature, String(second)) }
                second += 1
            }
        }
    }
}
