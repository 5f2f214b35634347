import KernelFormats

/// A product of tiles of activations by weights that are unpacked, group by group of 16 rows, to panels.
struct PanelProduct {
    /// Parts of the columns; a panel holds one of them.
    let slices: Int
    let tiles: Int
    /// Panels that stay in the L1 cache with a tile, and the bytes of one.
    let panels: Int
    let panelBytes: Int

    /// Floats of the results of a tile by a panel: `[6][16]`, a row per token.
    static let resultFloats = IntegerTile.resultFloats

    /// Floats of scratch for `groups` groups of rows.
    func scratchFloats(groups: Int) -> Int { panels * panelBytes / 4 + groups * tiles * Self.resultFloats }

    /// Multiplies, slice by slice, all tiles by some groups of rows.
    ///
    /// Results are collected in the worker's scratch, which stays in its L2 cache: rows of the output are often a power of
    /// two apart and would evict each other.
    ///
    /// - Parameters:
    ///   - unpack: Fills a panel with a slice of a group.
    ///   - multiply: Multiplies a slice of all tiles by `count` panels, into results for each tile and panel.
    ///   - copyOut: Copies a tile's results for `count` groups to the output.
    @inline(__always)
    func run(
        _ groups: Range<Int>, _ scratch: UnsafeMutablePointer<Float>,
        unpack: (_ group: Int, _ slice: Int, _ panel: UnsafeMutableRawPointer) -> Void,
        multiply: (
            _ slice: Int, _ panels: UnsafeRawPointer, _ count: Int, _ results: UnsafeMutablePointer<Float>
        ) -> Void,
        copyOut: (_ tile: Int, _ firstGroup: Int, _ count: Int, _ results: UnsafePointer<Float>) -> Void
    ) {
        let memory = UnsafeMutableRawPointer(scratch)
        let results = scratch + panels * panelBytes / 4
        let resultsOfPanels = tiles * panels * Self.resultFloats
        let turns = stride(from: groups.lowerBound, to: groups.upperBound, by: panels)
        // A slice comes from the L3 cache for the first panels and from the L2 cache for the others.
        for slice in 0..<slices {
            for (turn, first) in turns.enumerated() {
                let count = min(panels, groups.upperBound - first)
                for index in 0..<count { unpack(first + index, slice, memory + index * panelBytes) }
                multiply(slice, memory, count, results + turn * resultsOfPanels)
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
