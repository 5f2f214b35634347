import Compute
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

    /// - Parameter digest: 32 bytes.
    init(digest: [UInt8]) { self.digest = digest }

    /// The key of this prefix and one more page.
    ///
    /// - Parameters:
    ///   - tokens: The page's part of the prompt.
    ///   - media: The prompt's images. Their rows have negative IDs, other ones in each process: their contents count.
    /// - Returns: `nil` if the page has rows of an image that is not there.
    func next(_ tokens: ArraySlice<Int32>, _ media: SequenceMedia? = nil) -> PrefixKey? {
        let hash = SHA256()
        digest.withUnsafeBytes(hash.update)
        tokens.map { max($0, -1) }.withUnsafeBytes(hash.update)
        guard tokens.contains(where: { $0 < 0 }) else { return PrefixKey(digest: hash.digest) }
        let shown = media?.placed.filter { $0.tokens.overlaps(tokens.indices) } ?? []
        guard !shown.isEmpty else { return nil }
        for image in shown {
            hash.add(image.rows.contentDigest)
            withUnsafeBytes(of: Int64(image.tokens.lowerBound - tokens.startIndex).littleEndian, hash.update)
        }
        return PrefixKey(digest: hash.digest)
    }
}

extension MediaRows {
    fileprivate var contentDigest: [UInt8] {
        digest { places, vectors in
            let hash = SHA256()
            places.withUnsafeBytes(hash.update)
            hash.update(vectors)
            return hash.digest
        }
    }
}

extension SHA256 {
    /// Adds bytes and their number, so that what follows cannot be taken for a part of them.
    package func add(_ bytes: [UInt8]) {
        withUnsafeBytes(of: UInt64(bytes.count).littleEndian, update)
        bytes.withUnsafeBytes(update)
    }
}
