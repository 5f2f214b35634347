import KernelFormats

/// A product of tiles of activations by weights that are unpacked, group by group of 16 rows, to panels.
struct PanelProduct {
    let columns: Int
    /// Columns of a slice; a panel holds one slice of a group.
    let sliceColumns: Int
    let tiles: Int
    /// Panels that stay in the L1 cache with a tile, and the bytes of one.
    let panels: Int
    let panelBytes: Int

    /// Floats of the results of a tile by a panel: `[6][16]`, a row per token.
    static let resultFloats = IntegerTile.resultFloats

    /// Maximum weight rows per block; they share a slice of all tiles in the L2 cache.
    static let rows = 128

    /// Weight rows per block: many, since prefetching begins anew with each block, but at least four blocks per thread if the
    /// weights have as many rows.
    static func blockRows(_ weights: WeightMatrix, threads: Int) -> Int {
        weights.rows >= 4 * rows * threads ? rows : rows / 2
    }

    /// Floats of scratch for the groups of a block.
    var scratchFloats: Int { panels * panelBytes / 4 + Self.rows / PackedLayout.rows * tiles * Self.resultFloats }

    func columns(ofSlice slice: Int) -> Range<Int> {
        let first = slice * sliceColumns
        return first..<min(first + sliceColumns, columns)
    }

    /// Multiplies, slice by slice, all tiles by some groups of rows.
    ///
    /// Results are collected in the worker's scratch, which stays in its L2 cache: rows of the output are often a power of
    /// two apart and would evict each other.
    ///
    /// - Parameters:
    ///   - unpack: Fills a panel with a slice of a group.
    ///   - multiply: Multiplies a slice of all tiles by `count` panels, into results for each tile and panel. After the last
    ///     slice, those of the output's first row will be copied to `destination`.
    ///   - copyOut: Copies a tile's results for `count` groups to the output.
    @inline(__always)
    func run(
        _ groups: Range<Int>, into output: Matrix, _ scratch: UnsafeMutablePointer<Float>,
        unpack: (_ group: Int, _ slice: Int, _ panel: UnsafeMutableRawPointer) -> Void,
        multiply: (
            _ slice: Int, _ panels: UnsafeRawPointer, _ count: Int, _ results: UnsafeMutablePointer<Float>,
            _ destination: Destination
        ) -> Void,
        copyOut: (_ tile: Int, _ firstGroup: Int, _ count: Int, _ results: UnsafePointer<Float>) -> Void
    ) {
        let memory = UnsafeMutableRawPointer(scratch)
        let results = scratch + panels * panelBytes / 4
        let resultsOfPanels = tiles * panels * Self.resultFloats
        let turns = stride(from: groups.lowerBound, to: groups.upperBound, by: panels)
        // A slice comes from the L3 cache for the first panels and from the L2 cache for the others.
        let slices = (columns + sliceColumns - 1) / sliceColumns
        for slice in 0..<slices {
            for (turn, first) in turns.enumerated() {
                let count = min(panels, groups.upperBound - first)
                for index in 0..<count { unpack(first + index, slice, memory + index * panelBytes) }
                let destination =
                    slice == slices - 1
                    ? Destination(output[0] + first * PackedLayout.rows, stride: output.stride) : Destination()
                multiply(slice, memory, count, results + turn * resultsOfPanels, destination)
            }
        }
        for (turn, first) in turns.enumerated() {
            let count = min(panels, groups.upperBound - first)
            for tile in 0..<tiles {
                copyOut(tile, first, count, results + turn * resultsOfPanels + tile * count * Self.resultFloats)
            }
        }
    }
}
