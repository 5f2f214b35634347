/// Text to insert around an image's tokens in a prompt.
package struct ImageMarkers: Sendable {
    /// Before the whole image; `end` after it.
    var begin = ""
    var end = ""
    /// Before a tile, by its row and column, counted from 1.
    var tile: (@Sendable (_ row: Int, _ column: Int) -> String)?
    /// Between two rows of tiles.
    var rowEnd = ""
    /// Before the overview, which follows the tiles. Each string is tokenized separately.
    var overviewBegin: [String] = []
    var overviewEnd = ""

    package enum Element: Equatable {
        case text(String)
        /// The tokens of the piece with this index in `TiledImage.all`.
        case tokens(of: Int)
    }

    package func pieces(around image: TiledImage) -> [Element] {
        var pieces = [Element.text(begin)]
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
