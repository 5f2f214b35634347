import Compute

/// Embeds patches of pixels: the start of an encoder's residual stream.
struct PatchEmbedding: Sendable {
    /// Side of a patch in pixels.
    let patch: Int
    /// By color channel: bytes are converted by `byte · scale + offset`.
    let scale: [Float]
    let offset: [Float]
    /// Norm of a patch's pixels.
    let pixelNorm: Norm?
    /// Linear layer on a patch's pixels, ordered by channel, then row by row.
    let kernel: Linear
    /// Norm of the vectors before positions are added.
    let norm: Norm?
    /// Class vector in front of the patches.
    let classVector: [Float]?
    let positions: PatchPositions?
    /// Norm of the vectors after positions are added.
    let lastNorm: Norm?

    /// Rows before an image's patches.
    var leadingRows: Int { classVector == nil ? 0 : 1 }

    /// - Parameter rows: Output, `[leadingRows + patches, width]`.
    func embed(_ image: RGBImage, _ grid: PatchGrid, into rows: Matrix, _ work: Workspace, on compute: Compute) {
        let pixels = work[.gathered, grid.patchCount, 3 * patch * patch]
        compute.unfold(
            image.bytes, width: image.size.width, side: patch, places: grid.places, scale: scale, offset: offset,
            into: pixels)
        if let pixelNorm { compute.normalize(pixels, pixelNorm, into: pixels) }
        let patches = rows[rows: leadingRows, count: grid.patchCount]
        compute.multiply(pixels, by: kernel, into: patches)
        if let norm { compute.normalize(patches, norm, into: patches) }
        if let classVector {
            let row = rows[rows: 0, count: 1]
            compute.fill(row, withRow: classVector)
            positions?.addClass(to: row, on: compute)
        }
        positions?.add(to: patches, grid, on: compute)
        if let lastNorm { compute.normalize(rows, lastNorm, into: rows) }
    }
}
