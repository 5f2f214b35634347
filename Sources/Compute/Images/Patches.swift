extension Compute {
    /// The pixels of an image's patches as floats, `byte · scale + offset`, ordered by color, then row by row.
    ///
    /// - Parameters:
    ///   - bytes: Red, green and blue of each pixel, row by row, `width` pixels a row.
    ///   - side: Side of a patch in pixels.
    ///   - places: Row and column of each patch, in patches.
    ///   - scale: One for each color; `offset` likewise.
    ///   - output: `[patches, 3 · side · side]`
    package func unfold(
        _ bytes: [UInt8], width: Int, side: Int, places: [RotaryPosition], scale: [Float], offset: [Float],
        into output: Matrix
    ) {
        precondition(scale.count == 3 && offset.count == 3, "three colors")
        bytes.withUnsafeBufferPointer { bytes in
            forEachRow(of: output) { row in
                let (place, values) = (places[row], output[row])
                let corner = 3 * (Int(place.row) * side * width + Int(place.column) * side)
                for y in 0..<side {
                    for x in 0..<side {
                        let pixel = bytes.baseAddress! + corner + 3 * (y * width + x)
                        for color in 0..<3 {
                            values[(color * side + y) * side + x] = Float(pixel[color]) * scale[color] + offset[color]
                        }
                    }
                }
            }
        }
    }
}
