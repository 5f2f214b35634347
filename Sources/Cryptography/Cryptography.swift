import COpenSSL

/// Incremental SHA-256 (FIPS 180-4).
package final class SHA256 {
    private let context = EVP_MD_CTX_new()

    package init() { EVP_DigestInit_ex(context, EVP_sha256(), nil) }

    deinit { EVP_MD_CTX_free(context) }

    package func update(_ bytes: UnsafeRawBufferPointer) { EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }

    /// The digest of all bytes so far, 32 bytes. More may follow.
    package var digest: [UInt8] {
        let copy = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(copy) }
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_MD_CTX_copy_ex(copy, context)
        EVP_DigestFinal_ex(copy, &digest, nil)
        return digest
    }

    /// `digest` as 64 lower-case hexadecimal digits.
    package var hexadecimal: String { digest.hexadecimal }

    /// The digest of `bytes`, 32 bytes.
    package static func digest(of bytes: some Collection<UInt8>) -> [UInt8] {
        let hash = SHA256()
        bytes.withContiguousBytes(hash.update)
        return hash.digest
    }

    /// Parses a digest of 64 hexadecimal digits, quotes ignored, and returns it in lower case; `nil` if invalid.
    package static func digest(_ text: String) -> String? {
        let digits = text.utf8.filter { $0 != UInt8(ascii: "\"") }
        guard digits.count == 64, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
        return String(decoding: digits, as: UTF8.self).lowercased()
    }
}

/// HMAC-SHA256 (RFC 2104), 32 bytes.
package func hmacSHA256(_ message: some Collection<UInt8>, key: some Collection<UInt8>) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: 32)
    key.withContiguousBytes { key in
        message.withContiguousBytes { message in
            // An empty key may have no address; OpenSSL would then reuse the key of the previous call.
            withUnsafeBytes(of: UInt8(0)) { nothing in
                _ = HMAC(
                    EVP_sha256(), key.baseAddress ?? nothing.baseAddress, Int32(key.count),
                    message.bindMemory(to: UInt8.self).baseAddress, message.count, &code, nil)
            }
        }
    }
    return code
}

/// Compares bytes in a time that does not depend on where they differ.
package func isEqualInConstantTime(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    return left.withContiguousBytes { left in
        right.withContiguousBytes { right in
            left.isEmpty || CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
        }
    }
}

/// Cryptographically secure random bytes.
package func randomBytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    precondition(RAND_bytes(&bytes, Int32(count)) == 1, "the system has no random numbers")
    return bytes
}

extension Sequence where Element == UInt8 {
    /// Two lower-case hexadecimal digits per byte.
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension Collection where Element == UInt8 {
    fileprivate func withContiguousBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) } ?? Array(self).withUnsafeBytes(body)
    }
}
