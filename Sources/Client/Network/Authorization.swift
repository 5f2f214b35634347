import Foundation
import Synchronization
import Wire

/// How a request shows who sends it.
public struct Authorization: Sendable {
    private enum Key {
        case fixed(String)
        case renewed(TokenCache)
    }

    private enum Scheme {
        case none
        case bearer
        case basic
        case signature
        case partner(identity: String)
    }

    private let key: Key
    private let scheme: Scheme
    private let signatures = RecentSignatures()

    /// Nothing: for a server that lets everybody in.
    public static let none = Self(key: .fixed(""), scheme: .none)

    /// `Authorization: Bearer KEY`, as OpenAI's API has it.
    public static func bearer(_ key: String) -> Self { .init(key: .fixed(key), scheme: .bearer) }

    /// `Authorization: Basic`, with the key as the user's name (RFC 7617).
    static func basic(_ key: String) -> Self { .init(key: .fixed(key), scheme: .basic) }

    /// The headers `X-Api-Id`, `X-Nonce` and `X-Signature` of a partner.
    public static func partner(identity: String, secret: String) -> Self {
        .init(key: .fixed(secret), scheme: .partner(identity: identity))
    }

    /// The headers `x-signature` and `x-timestamp`, made with a key that every copy of the app has.
    static func signature(key: String) -> Self { .init(key: .fixed(key), scheme: .signature) }

    /// The same, made with a token of this device's session.
    static func signature(tokens: TokenCache) -> Self { .init(key: .renewed(tokens), scheme: .signature) }

    static func bearer(tokens: TokenCache) -> Self { .init(key: .renewed(tokens), scheme: .bearer) }

    /// Whether there may be another key once one was refused.
    var isRenewable: Bool {
        if case .renewed = key { true } else { false }
    }

    /// What to sign with, or to show.
    ///
    /// - Parameter refused: What the server did not accept, of a key that is renewable.
    func currentKey(insteadOf refused: String? = nil) async throws -> String {
        switch key {
        case .fixed(let key): key
        case .renewed(let tokens): try await tokens.token(insteadOf: refused)
        }
    }

    /// - Parameter path: As it is sent: percent-encoded, without the query.
    func headers(method: String, path: String, body: [UInt8], key: String) -> [String: String] {
        switch scheme {
        case .none: return [:]
        case .basic: return ["Authorization": "Basic \(Data("\(key):".utf8).base64EncodedString())"]
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

/// Keeps requests apart that are equal and sent within a second: their signatures would be equal as well, and the server
/// refuse the second as a replay. The later one is signed for the next second.
private final class RecentSignatures: Sendable {
    /// Each with the second it was made for; only those of the future and the present can be made again.
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
