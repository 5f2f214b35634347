/// The vectors of a picture's tokens, or of a piece of it: what stands in a prompt in place of token ids.
///
/// `@unchecked Sendable`: written before it is given away, and not afterwards.
final class ImageRows: @unchecked Sendable {
    /// Tokens by row and column.
    let columns: Int
    let rows: Int
    /// `[tokens, width · (1 + layers)]`: a token's vector, and what is added to it after each of the first layers.
    let matrix: Matrix
    private let buffer: AlignedBuffer

    var bytes: Int { buffer.byteCount }

    /// - Parameter buffer: Where `matrix` lies.
    init(columns: Int, rows: Int, matrix: Matrix, in buffer: AlignedBuffer) {
        (self.columns, self.rows, self.matrix, self.buffer) = (columns, rows, matrix, buffer)
    }
}
