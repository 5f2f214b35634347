/// A picture as a model reads it: vectors in place of tokens, and the text between and around them.
///
/// Made by `LocalModel.read`; for that model only.
public struct ModelImage: Sendable {
    let pieces: [ImageMarkers.Piece]
    let rows: [ImageRows]
    /// The ids of its tokens, by what they are below 0.
    let ids: Range<Int>
    /// The encoder, which another model does not have. Not the other way round: an encoder remembers its pictures.
    private weak let eyes: Eyes?

    init(pieces: [ImageMarkers.Piece], rows: [ImageRows], firstID: Int, eyes: Eyes) {
        self.pieces = pieces
        self.rows = rows
        ids = firstID..<firstID + rows.reduce(0) { $0 + $1.matrix.rows }
        self.eyes = eyes
    }

    /// Tokens that it takes in a prompt, without the text around them.
    public var tokenCount: Int { ids.count }

    func isOf(_ eyes: Eyes) -> Bool { self.eyes === eyes }
}

/// What a model is to go on with: tokens, and pictures among them.
public struct ModelPrompt: Sendable {
    /// Those of pictures are below 0.
    public private(set) var tokens: [Int32] = []
    private(set) var images: [SequenceImages.Placed] = []

    public init(tokens: [Int32]) { self.tokens = tokens }

    mutating func append(_ new: [Int32]) { tokens += new }

    mutating func append(_ piece: ImageRows, firstID: Int) {
        let range = tokens.count..<tokens.count + piece.matrix.rows
        tokens += (0..<range.count).map { Int32(-(firstID + $0)) }
        images.append(.init(tokens: range, rows: piece))
    }

    /// Whether every token below 0 is a picture's.
    var isWhole: Bool { tokens.count { $0 < 0 } == images.reduce(0) { $0 + $1.tokens.count } }
}
