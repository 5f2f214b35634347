import COpenSSL

/// SHA-256 (FIPS 180-4) of bytes that come in pieces.
final class SHA256 {
    private let context = EVP_MD_CTX_new()

    init() { EVP_DigestInit_ex(context, EVP_sha256(), nil) }

    deinit { EVP_MD_CTX_free(context) }

    func update(_ bytes: UnsafeRawBufferPointer) { EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }

    /// Of everything so far; more may follow.
    var digest: [UInt8] {
        let copy = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(copy) }
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_MD_CTX_copy_ex(copy, context)
        EVP_DigestFinal_ex(copy, &digest, nil)
        return digest
    }

    /// The same as 64 lower-case hexadecimal digits.
    var hexadecimal: String { digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }

    /// A digest as servers and people write it, in lower case; `nil` for anything else.
    static func digest(_ text: String) -> String? {
        let digits = text.utf8.filter { $0 != UInt8(ascii: "\"") }
        guard digits.count == 64, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
        return String(decoding: digits, as: UTF8.self).lowercased()
    }
}
