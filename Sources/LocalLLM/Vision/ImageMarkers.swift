/// The text around a picture's tokens in a prompt.
struct ImageMarkers: Sendable {
    /// Around all of it.
    var begin = ""
    var end = ""
    /// Before a tile, with its row and column, counted from 1.
    var tile: (@Sendable (_ row: Int, _ column: Int) -> String)?
    /// Between two rows of tiles.
    var rowEnd = ""
    /// Around the overview, which comes after the tiles. Each string is turned into tokens by itself.
    var overviewBegin: [String] = []
    var overviewEnd = ""

    enum Piece: Equatable {
        case text(String)
        /// The tokens of one of `TiledImage.all`.
        case tokens(of: Int)
    }

    func pieces(around image: TiledImage) -> [Piece] {
        var pieces = [Piece.text(begin)]
        for index in image.tiles.indices {
            if image.columns > 0 {
                let (row, column) = (index / image.columns, index % image.columns)
                if column == 0, row > 0 { pieces.append(.text(rowEnd)) }
                if let tile { pieces.append(.text(tile(row + 1, column + 1))) }
            }
            pieces.append(.tokens(of: index))
        }
        if image.overview != nil {
            pieces += overviewBegin.map { .text($0) }
            pieces += [.tokens(of: image.tiles.count), .text(overviewEnd)]
        }
        return (pieces + [.text(end)]).filter { $0 != .text("") }
    }
}
