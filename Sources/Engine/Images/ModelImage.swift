package import Networks
package import Compute

/// An image as input of a model: vectors that replace token embeddings, with text between and around them.
///
/// Created by `LocalModel.read`, for that model only.
public struct ModelImage: Sendable {
    package let pieces: [ImageMarkers.Element]
    package let rows: [MediaRows]
    /// Token IDs of the image, negated.
    package let ids: Range<Int>
    /// The encoder, which identifies the model. Weak, since the encoder's cache holds its images.
    nonisolated(unsafe) private weak var imageReader: ImageReader?

    init(pieces: [ImageMarkers.Element], rows: [MediaRows], firstID: Int, imageReader: ImageReader) {
        self.pieces = pieces
        self.rows = rows
        ids = firstID..<firstID + rows.reduce(0) { $0 + $1.matrix.rows }
        self.imageReader = imageReader
    }

    /// Number of image tokens, without those of the text around them.
    public var tokenCount: Int { ids.count }

    package func isOf(_ imageReader: ImageReader) -> Bool { self.imageReader === imageReader }
}

/// A prompt: tokens, with images among them.
public struct ModelPrompt: Sendable {
    /// Token IDs; negative for image tokens.
    public private(set) var tokens: [Int32] = []
    package private(set) var media: [SequenceMedia.Placed] = []

    public init(tokens: [Int32]) { self.tokens = tokens }

    package mutating func append(_ new: [Int32]) { tokens += new }

    /// With tokens behind it.
    package static func + (prompt: Self, tokens: [Int32]) -> Self {
        var longer = prompt
        longer.append(tokens)
        return longer
    }

    package mutating func append(_ piece: MediaRows, firstID: Int) {
        let range = tokens.count..<tokens.count + piece.matrix.rows
        tokens += (0..<range.count).map { Int32(-(firstID + $0)) }
        media.append(.init(tokens: range, rows: piece))
    }

    /// Whether every negative ID belongs to an image of the prompt.
    package var isWhole: Bool { tokens.count { $0 < 0 } == media.reduce(0) { $0 + $1.tokens.count } }
}
