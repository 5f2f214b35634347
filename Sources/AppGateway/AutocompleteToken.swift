import Cryptography
import Shim
import Wire

/// A token of the autocomplete SDK: `at_v1_EXPIRES_ISSUED_NAME_CODE`, times in seconds since 1970.
///
/// `CODE` is the HMAC-SHA256 of the rest under the product's secret key. No server state is needed: tokens stay valid
/// across restarts and replicas, and replacing the secret key revokes them.
struct AutocompleteToken: Sendable {
    let expires: Int
    let issued: Int
    /// Random identifier, not secret.
    let name: String

    init(product: ClientConfiguration.Product, now: Int) {
        expires = now + product.accessSeconds
        issued = now
        name = randomBytes(16).hexadecimal
    }

    /// - Returns: `nil` unless `text` is a valid, unexpired token of this product.
    init?(_ text: String, product: ClientConfiguration.Product, now: Int) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 6, let expires = Int(parts[2]), let issued = Int(parts[3]), let key = product.secretKey
        else { return nil }
        (self.expires, self.issued, name) = (expires, issued, parts[4])
        guard isEqualInConstantTime(text.utf8, self.text(key.value).utf8), now < expires,
            issued >= Int(product.tokensValidFrom?.value ?? 0)
        else { return nil }
    }

    func text(_ secretKey: String) -> String {
        let text = "at_v1_\(expires)_\(issued)_\(name)"
        return text + "_" + hmacSHA256(text.utf8, key: secretKey.utf8).hexadecimal
    }
}
