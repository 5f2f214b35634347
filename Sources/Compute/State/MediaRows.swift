import Synchronization

/// The vectors of an image's tokens, or of a piece of it, which replace token embeddings in a prompt.
///
/// `@unchecked Sendable`: not written after it was handed over.
package final class MediaRows: @unchecked Sendable {
    /// Tokens per row of the image; the tokens are ordered by row and column.
    let columns: Int
    let rows: Int
    /// `[tokens, width · (1 + layers)]`: a token's vector, then the vectors added to it after each of the first layers.
    package let matrix: Matrix
    private let buffer: AlignedBuffer
    private let digest = Mutex<[UInt8]?>(nil)

    package var bytes: Int { buffer.byteCount }

    /// - Parameter buffer: Memory that holds `matrix`.
    package init(columns: Int, rows: Int, matrix: Matrix, in buffer: AlignedBuffer) {
        (self.columns, self.rows, self.matrix, self.buffer) = (columns, rows, matrix, buffer)
    }

    /// A digest of the vectors and their places, which `make` computes once.
    package func digest(_ make: (_ places: [Int], _ vectors: UnsafeRawBufferPointer) -> [UInt8]) -> [UInt8] {
        digest.withLock { digest in
            let known =
                digest ?? make([columns, rows], UnsafeRawBufferPointer(start: matrix.base, count: buffer.byteCount))
            digest = known
            return known
        }
    }
}
