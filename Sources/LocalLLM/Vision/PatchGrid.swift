/// The patches of a picture, in the order in which the encoder has them as rows.
///
/// Patches that become one token follow each other, row by row; so do the tokens of a window.
struct PatchGrid {
    /// Tokens, after patches are merged.
    let columns: Int
    let rows: Int
    /// Patches of a token's side.
    let merge: Int
    /// Where each patch is, in patches from the upper left: its row in the picture and its column.
    private(set) var places: [Place] = []
    /// The token that each group of `merge · merge` rows becomes, counted row by row over the picture.
    private(set) var tokens: [Int] = []
    /// Rows of each window; of all, where there are none.
    private(set) var windows: [Range<Int>] = []

    var patchCount: Int { places.count }
    var tokenCount: Int { columns * rows }

    /// - Parameter window: Tokens of a window's side; `nil`: there are no windows.
    init(_ size: RGBImage.Size, patch: Int, merge: Int, window: Int? = nil) {
        columns = size.width / patch / merge
        rows = size.height / patch / merge
        self.merge = merge
        let (width, height) = (window ?? columns, window ?? rows)
        places.reserveCapacity(columns * rows * merge * merge)
        for top in stride(from: 0, to: rows, by: height) {
            for left in stride(from: 0, to: columns, by: width) {
                let first = places.count
                for row in top..<min(top + height, rows) {
                    for column in left..<min(left + width, columns) {
                        tokens.append(row * columns + column)
                        for patch in 0..<merge * merge {
                            let (y, x) = (row * merge + patch / merge, column * merge + patch % merge)
                            places.append(Place(time: 0, row: Int32(y), column: Int32(x)))
                        }
                    }
                }
                windows.append(first..<places.count)
            }
        }
    }

    /// Patches of a row of the picture.
    var patchColumns: Int { columns * merge }
    var patchRows: Int { rows * merge }
}
