import Cryptography

/// What the keys and values of a prompt's page depend on, as a digest: the model, the program, the request's adapters and
/// salt, and all tokens up to the page's last one.
package struct PrefixKey: Hashable, Sendable {
    package let digest: [UInt8]

    /// The key of an empty prompt.
    package init(model: [UInt8], adapters: [UInt8], salt: String?) {
        let hash = SHA256()
        hash.add(model)
        hash.add(adapters)
        hash.add(salt.map { Array("salted \($0)".utf8) } ?? [])
        digest = hash.digest
    }

    private init(digest: [UInt8]) { self.digest = digest }

    /// The key of this prefix and one more page.
    func next(_ tokens: ArraySlice<Int32>) -> PrefixKey {
        let hash = SHA256()
        digest.withUnsafeBytes(hash.update)
        tokens.withUnsafeBytes(hash.update)
        return PrefixKey(digest: hash.digest)
    }
}

extension SHA256 {
    /// Adds bytes and their number, so that what follows cannot be taken for a part of them.
    package func add(_ bytes: [UInt8]) {
        withUnsafeBytes(of: UInt64(bytes.count).littleEndian, update)
        bytes.withUnsafeBytes(update)
    }
}
