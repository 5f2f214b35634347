import Compute

/// The patches of an image, in the order of the encoder's rows.
///
/// Patches that are merged to a token are consecutive, row by row; so are the tokens of a window.
struct PatchGrid {
    /// Size in tokens, after merging.
    let columns: Int
    let rows: Int
    /// Patches per side of a token.
    let merge: Int
    /// Row and column of each patch in the image.
    private(set) var places: [RotaryPosition] = []
    /// Index of the token, row by row in the image, for each group of `merge · merge` rows.
    private(set) var tokens: [Int] = []
    /// Rows of each window; without windows, one range of all rows.
    private(set) var windows: [Range<Int>] = []

    var patchCount: Int { places.count }
    var tokenCount: Int { columns * rows }

    /// - Parameter window: Tokens per side of a window; `nil`: no windows.
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
                            places.append(RotaryPosition(time: 0, row: Int32(y), column: Int32(x)))
                        }
                    }
                }
                windows.append(first..<places.count)
            }
        }
    }

    /// Patches per row of the image.
    var patchColumns: Int { columns * merge }
    var patchRows: Int { rows * merge }
}
