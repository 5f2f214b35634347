package import Compute

/// A vision transformer (Dosovitskiy et al. 2021) and a projector to tokens, from an `mmproj` file.
///
/// Used by the engine's thread only, like `Compute`; immutable.
package final class VisionEncoder: Sendable {
    package let family: VisionFamily
    package let preprocessing: ImagePreprocessing
    /// Width of a token for the language model, without the vectors for its first layers.
    package let outputWidth: Int
    let projector: Projector
    /// By encoder layer: projectors for the language model's first layers (DeepStack, Meng et al. 2024).
    let deepstack: [(layer: Int, projector: Projector)]
    /// Vector after each row of tokens except the last.
    let rowEnd: [Float]?

    fileprivate let grid: (patch: Int, merge: Int, window: Int?)
    fileprivate let width: Int
    fileprivate let patches: PatchEmbedding
    fileprivate nonisolated(unsafe) let layers: [EncoderLayer]
    /// One layer in this many is global, the others are windowed; `nil`: all are global.
    fileprivate let fullLayers: Int?
    fileprivate let rotary: Rotary?
    fileprivate let outputNorm: Norm?

    init(
        family: VisionFamily, preprocessing: ImagePreprocessing, grid: (patch: Int, merge: Int, window: Int?),
        width: Int,
        patches: PatchEmbedding, layers: [EncoderLayer], fullLayers: Int?, rotary: Rotary?, outputNorm: Norm?,
        deepstack: [Int: Projector], projector: Projector, rowEnd: [Float]?
    ) {
        self.family = family
        self.preprocessing = preprocessing
        self.grid = grid
        self.width = width
        self.patches = patches
        self.layers = layers
        self.fullLayers = fullLayers
        self.rotary = rotary
        self.outputNorm = outputNorm
        self.deepstack = deepstack.map { (layer: $0.key, projector: $0.value) }.sorted { $0.layer < $1.layer }
        self.projector = projector
        self.rowEnd = rowEnd
        outputWidth = projector.outputWidth(of: width, group: grid.merge * grid.merge)
    }

    /// Values per token for the language model: its vector, then the vectors for the first layers.
    package var rowWidth: Int { outputWidth * (1 + deepstack.count) }

    /// Number of tokens of a piece of this size, vectors between rows included.
    package func tokenCount(of size: RGBImage.Size) -> Int {
        let cells = patchGrid(size)
        return cells.tokenCount + (rowEnd == nil ? 0 : cells.rows - 1)
    }

    func patchGrid(_ size: RGBImage.Size) -> PatchGrid {
        PatchGrid(size, patch: grid.patch, merge: grid.merge, window: grid.window)
    }

    /// Number of encoder rows of a piece of this size.
    package func rowCount(of size: RGBImage.Size) -> Int {
        patches.leadingRows + (size.width / grid.patch) * (size.height / grid.patch)
    }

    /// Starts a batch of pieces.
    ///
    /// - Parameter rowsOfPart: Few enough that answers beside it do not stall, enough that reading the weights again costs little.
    ///   Always the same, since results depend on it in their last bits.
    package func pass(over images: [RGBImage], rowsOfPart: Int = 256) -> VisionPass {
        VisionPass(self, images, rowsOfPart)
    }
}

/// A batch of pieces being encoded, some rows of a layer at a time.
///
/// `@unchecked Sendable`: created by the waiting task, changed by the engine's thread only.
package final class VisionPass: @unchecked Sendable {
    private enum Part { case patches, layerBegins, layerEnds, projector }

    private let encoder: VisionEncoder
    private let images: [RGBImage]
    private let grids: [PatchGrid]
    /// First row of each piece in the residual stream.
    private var starts: [Int] = []
    private let work = Workspace()
    private let rowCount: Int
    private let rowsOfPart: Int
    private var angles: [RotaryAngles] = []
    /// What `advance` computes next, of which layer, from which row on.
    private var next = Part.patches
    private var (nextLayer, nextRow) = (0, 0)
    /// Outputs of the DeepStack projectors, by layer and piece.
    private var stacked: [[AlignedBuffer]] = []
    /// The tokens of each piece, `[tokens, rowWidth]`, once `advance` has returned false.
    package private(set) var results: [MediaRows] = []

    fileprivate init(_ encoder: VisionEncoder, _ images: [RGBImage], _ rowsOfPart: Int) {
        self.encoder = encoder
        self.rowsOfPart = rowsOfPart
        self.images = images
        grids = images.map { encoder.patchGrid($0.size) }
        var rows = 0
        for grid in grids {
            starts.append(rows)
            rows += encoder.patches.leadingRows + grid.patchCount
        }
        rowCount = rows
    }

    /// Computes the next part: the patch embedding, one half of a layer for some rows, or the projector.
    ///
    /// - Returns: Whether there is more to compute.
    package func advance(on compute: Compute) -> Bool {
        let residual = work[.residual, rowCount, encoder.width]
        let rows = nextRow..<min(nextRow + rowsOfPart, rowCount)
        var context: LayerContext {
            LayerContext(
                step: Step(), layer: nextLayer, layerCount: encoder.layers.count, work: work, compute: compute,
                angles: angles)
        }
        switch next {
        case .patches:
            embed(into: residual, compute)
            next = encoder.layers.isEmpty ? .projector : .layerBegins
            return true
        case .layerBegins:
            encoder.layers[nextLayer].begin(residual, rows, context)
        case .layerEnds:
            encoder.layers[nextLayer].finish(residual, rows, within: spans(ofLayer: nextLayer, rows), context)
        case .projector:
            finish(residual, compute)
            return false
        }
        nextRow = rows.upperBound
        guard nextRow == rowCount else { return true }
        nextRow = 0
        if next == .layerBegins {
            next = .layerEnds
            return true
        }
        if let projector = encoder.deepstack.first(where: { $0.layer == nextLayer })?.projector {
            stacked.append(tokens(residual, projector, norm: nil, compute))
        }
        nextLayer += 1
        next = nextLayer == encoder.layers.count ? .projector : .layerBegins
        return true
    }

    private func embed(into residual: Matrix, _ compute: Compute) {
        for (index, image) in images.enumerated() {
            let rows = residual[rows: starts[index], count: encoder.patches.leadingRows + grids[index].patchCount]
            encoder.patches.embed(image, grids[index], into: rows, work, on: compute)
        }
        if let rotary = encoder.rotary {
            // The class vector has no place; it gets the first patch's.
            let lead = Array(repeating: RotaryPosition(0), count: encoder.patches.leadingRows)
            angles = [rotary.angles(of: grids.flatMap { lead + $0.places }, in: work, index: 0)]
        }
    }

    private func finish(_ residual: Matrix, _ compute: Compute) {
        let parts = [tokens(residual, encoder.projector, norm: encoder.outputNorm, compute)] + stacked
        results = grids.indices.map { index in
            let buffers = parts.map { $0[index] }
            return MediaRows(
                buffers, grids[index], width: encoder.outputWidth, rowEnd: encoder.rowEnd, on: compute)
        }
    }

    /// What some rows attend to in a layer: their whole piece, or window.
    private func spans(ofLayer index: Int, _ wanted: Range<Int>) -> [AttentionSpan] {
        let lead = encoder.patches.leadingRows
        let isWindowed = encoder.fullLayers.map { (index + 1) % $0 != 0 } ?? false
        return zip(starts, grids).flatMap { start, grid in
            let windows = isWindowed ? grid.windows : [0..<lead + grid.patchCount]
            return windows.compactMap { window in
                let rows = start + window.lowerBound..<start + window.upperBound
                let queries = rows.clamped(to: wanted)
                return queries.isEmpty ? nil : AttentionSpan(queries: queries, keys: rows)
            }
        }
    }

    /// The projector's output for each piece, `[tokens, output width]`, in the order of `PatchGrid.tokens`.
    private func tokens(
        _ residual: Matrix, _ projector: Projector, norm: Norm?, _ compute: Compute
    ) -> [AlignedBuffer] {
        zip(starts, grids).map { start, grid in
            let patches = work[.normed, grid.patchCount, encoder.width]
            let source = residual[rows: start + encoder.patches.leadingRows, count: grid.patchCount]
            if let norm { compute.normalize(source, norm, into: patches) } else { compute.copy(source, into: patches) }
            let result = projector.forward(patches, group: grid.merge * grid.merge, work, on: compute)
            let buffer = AlignedBuffer(floats: result.rows * result.columns)
            compute.copy(result, into: buffer.matrix(rows: result.rows, columns: result.columns))
            return buffer
        }
    }
}

extension MediaRows {
    /// - Parameters:
    ///   - parts: The token vectors, then those for the first layers, each in the order of `grid.tokens`.
    ///   - rowEnd: Vector to insert after each row except the last.
    fileprivate convenience init(
        _ parts: [AlignedBuffer], _ grid: PatchGrid, width: Int, rowEnd: [Float]?, on compute: Compute
    ) {
        let count = grid.tokenCount + (rowEnd == nil ? 0 : grid.rows - 1)
        let buffer = AlignedBuffer(floats: count * width * parts.count)
        let matrix = buffer.matrix(rows: count, columns: width * parts.count)
        let rows = grid.tokens.map { $0 + (rowEnd == nil ? 0 : $0 / grid.columns) }
        for (part, values) in parts.enumerated() {
            compute.scatter(
                values.matrix(rows: grid.tokenCount, columns: width), toRows: rows,
                of: matrix[columns: part * width, count: width])
        }
        for row in 0..<max(0, grid.rows - 1) {
            guard let rowEnd else { break }
            let end = matrix[rows: row * (grid.columns + 1) + grid.columns, count: 1]
            compute.fill(end[columns: 0, count: width], withRow: rowEnd)
        }
        self.init(columns: grid.columns, rows: grid.rows, matrix: matrix, in: buffer)
    }
}
