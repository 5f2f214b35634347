import Foundation
import HTTP
import Shim

/// The `Authorization` of the autocomplete SDK, or of the server of an app that uses it.
enum SDKCredential: Equatable {
    case publicKey(String)
    case secretKey(String)
    case accessToken(String)
    /// Several `Authorization` headers, so it is unclear which one counts.
    case several

    /// - Returns: `nil` for a request without one.
    init?(_ headers: Headers) {
        let values = headers.all("Authorization")
        let credentials = values.compactMap(Self.credential)
        guard let credential = credentials.first else { return nil }
        self = values.count == 1 ? credential : .several
    }

    /// Reads `Bearer TOKEN` or `Basic TOKEN`. After `Basic` the token may also be the user name of RFC 7617.
    private static func credential(_ value: String) -> Self? {
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        let text = parts[1].trimmingCharacters(in: .whitespaces)
        switch parts[0].lowercased() {
        case "bearer": return of(text)
        case "basic":
            let decoded = Data(base64Encoded: text).map { String(decoding: $0, as: UTF8.self) }
            return of(text) ?? decoded.flatMap { of(String($0.prefix { $0 != ":" })) }
        default: return nil
        }
    }

    private static func of(_ text: String) -> Self? {
        if text.utf8.starts(with: "pk_v1_".utf8) { return .publicKey(text) }
        if text.utf8.starts(with: "sk_v1_".utf8) { return .secretKey(text) }
        if text.utf8.starts(with: "at_v1_".utf8) { return .accessToken(text) }
        return nil
    }
}
