import Compute
import Foundation

/// How images are resized and tiled for a model: from the `mmproj` file and its projector type. All sizes match
/// llama.cpp's (tools/mtmd), for which these files are made.
package struct ImagePreprocessing: Sendable {
    typealias Size = RGBImage.Size

    enum Sizing: Sendable {
        /// A square of `side`, padded.
        case square
        /// The image's own aspect ratio, with a number of pixels in this range.
        case dynamic(pixels: ClosedRange<Int>)
        /// Tiles of `side` in one of these total sizes, whichever keeps most of the image, and an overview. An image
        /// no larger than a tile is only an overview.
        case candidates([Size])
        /// Scales the longer side to this size, rounds both up to whole tiles, and adds an overview.
        case longestEdge(Int)
        /// As `dynamic`; images more than twice as large also become tiles of this side.
        case tiledIfLarge(pixels: ClosedRange<Int>, tile: Int)

        /// Pixels that even a small image may be enlarged to. Larger ones in `dynamic` come from larger images.
        var mostPixels: Int {
            switch self {
            case .square: 0
            case .dynamic(let pixels): pixels.lowerBound
            case .candidates(let sizes): sizes.reduce(0) { max($0, $1.width * $1.height) }
            case .longestEdge(let edge): edge * edge
            case .tiledIfLarge(let pixels, let tile):
                max(pixels.lowerBound, tile * tile * ImagePreprocessing.tileCounts.upperBound)
            }
        }
    }

    let sizing: Sizing
    /// Side of tiles and squares, in pixels.
    let side: Int
    /// Both sides of a `dynamic` image are multiples of this: patch times merge.
    let alignment: Int
    let filter: ResamplingFilter
    /// Color of padding.
    var background: (UInt8, UInt8, UInt8) = (0, 0, 0)
    /// Number of tiles for images tiled by aspect ratio.
    static let tileCounts = 2...10

    package func pieces(of image: RGBImage) -> TiledImage {
        switch sizing {
        case .square: return TiledImage(image.fitted(into: square, filter, background: background))
        case .dynamic(let pixels):
            return TiledImage(image.fitted(into: aligned(image.size, pixels), filter, background: background))
        case .candidates(let sizes):
            let overview = image.resized(to: square, .bicubic)
            guard image.size.width > side || image.size.height > side else {
                return TiledImage(tiles: [], columns: 0, rows: 0, overview: overview)
            }
            let size = Self.best(of: sizes, for: image.size)
            return tiles(of: image.fitted(into: size, .bicubic, background: (0, 0, 0)), side, overview)
        case .longestEdge(let edge):
            let shrunk = image.resized(to: Self.size(image.size, longestEdge: edge), filter)
            let whole = Size(
                width: (shrunk.size.width + side - 1) / side * side,
                height: (shrunk.size.height + side - 1) / side * side)
            let refined = shrunk.resized(to: whole, filter)
            return tiles(of: refined, side, refined.resized(to: square, filter))
        case .tiledIfLarge(let pixels, let tile):
            let overview = image.resized(to: aligned(image.size, pixels), filter)
            guard isLarge(image.size, pixels.upperBound) else { return TiledImage(overview) }
            let grid = Self.grid(for: image.size, tile: tile)
            let refined = image.fitted(
                into: Size(width: grid.width * tile, height: grid.height * tile), filter, background: (0, 0, 0))
            return tiles(of: refined, tile, overview)
        }
    }

    private var square: Size { Size(width: side, height: side) }

    private func tiles(of image: RGBImage, _ side: Int, _ overview: RGBImage) -> TiledImage {
        let (columns, rows) = (image.size.width / side, image.size.height / side)
        var tiles: [RGBImage] = []
        for row in 0..<rows {
            for column in 0..<columns {
                tiles.append(
                    image.cropped(x: column * side, y: row * side, to: Size(width: side, height: side)))
            }
        }
        return TiledImage(tiles: tiles, columns: columns, rows: rows, overview: overview)
    }

    // MARK: Sizes

    /// The nearest size of the same aspect ratio whose sides are multiples of `alignment`. In single precision, as in
    /// the reference.
    private func aligned(_ size: Size, _ pixels: ClosedRange<Int>) -> Size {
        func multiple(_ length: Float, _ rule: FloatingPointRoundingRule) -> Int {
            min(RGBImage.longestSide / alignment, Int((length / Float(alignment)).rounded(rule))) * alignment
        }
        let (width, height) = (Float(size.width), Float(size.height))
        var result = Size(
            width: max(alignment, multiple(width, .toNearestOrAwayFromZero)),
            height: max(alignment, multiple(height, .toNearestOrAwayFromZero)))
        if result.width * result.height > pixels.upperBound {
            let factor = (height * width / Float(pixels.upperBound)).squareRoot()
            result.height = max(alignment, multiple(height / factor, .down))
            result.width = max(alignment, multiple(width / factor, .down))
        } else if result.width * result.height < pixels.lowerBound {
            let factor = (Float(pixels.lowerBound) / (height * width)).squareRoot()
            result.height = max(alignment, multiple(height * factor, .up))
            result.width = max(alignment, multiple(width * factor, .up))
        }
        return result
    }

    /// The candidate that keeps the most pixels of the image; of those, the one with the least padding.
    static func best(of candidates: [Size], for size: Size) -> Size {
        var best = (size: candidates[0], kept: -1, wasted: Int.max)
        for candidate in candidates {
            let scale = min(
                Float(candidate.width) / Float(size.width), Float(candidate.height) / Float(size.height))
            let inner = Int(Float(size.width) * scale) * Int(Float(size.height) * scale)
            let kept = min(inner, size.width * size.height)
            let wasted = candidate.width * candidate.height - kept
            if kept > best.kept || kept == best.kept && wasted < best.wasted { best = (candidate, kept, wasted) }
        }
        return best.size
    }

    /// The size with this longer side; the other side is rounded down, then up to an even number.
    private static func size(_ size: Size, longestEdge edge: Int) -> Size {
        let proportions = Double(size.width) / Double(size.height)
        func even(_ length: Double) -> Int { max(1, Int(length)) + max(1, Int(length)) % 2 }
        return size.width >= size.height
            ? Size(width: edge, height: even(Double(edge) / proportions))
            : Size(width: even(Double(edge) * proportions), height: edge)
    }

    private func isLarge(_ size: Size, _ mostPixels: Int) -> Bool {
        func multiple(_ length: Int) -> Double {
            (Double(length) / Double(alignment)).rounded(.toNearestOrEven) * Double(alignment)
        }
        return max(Double(alignment), multiple(size.width)) * max(Double(alignment), multiple(size.height))
            > 2 * Double(mostPixels)
    }

    /// The grid of tiles with the aspect ratio nearest to the image's; of equal ones, the larger if the image has
    /// pixels for more than half of it.
    private static func grid(for size: Size, tile: Int) -> Size {
        var grids: [Size] = []
        for count in tileCounts {
            for columns in 1...count where count % columns == 0 {
                grids.append(Size(width: columns, height: count / columns))
            }
        }
        let proportions = Float(size.width) / Float(size.height)
        var best = (size: Size(width: 1, height: 1), distance: Float.infinity)
        for grid in grids {
            let distance = abs(proportions - Float(grid.width) / Float(grid.height))
            if distance < best.distance {
                best = (grid, distance)
            } else if distance == best.distance,
                Float(size.width * size.height) > 0.5 * Float(tile * tile * grid.width * grid.height)
            {
                best.size = grid
            }
        }
        return best.size
    }
}

/// An image divided into pieces.
package struct TiledImage: Sendable, Hashable {
    /// Row by row. An undivided image is the only tile, with `columns` and `rows` 0.
    var tiles: [RGBImage]
    var columns: Int
    var rows: Int
    /// The whole image, scaled to a tile.
    var overview: RGBImage?

    init(tiles: [RGBImage], columns: Int, rows: Int, overview: RGBImage?) {
        self.tiles = tiles
        self.columns = columns
        self.rows = rows
        self.overview = overview
    }

    init(_ whole: RGBImage) { self.init(tiles: [whole], columns: 0, rows: 0, overview: nil) }

    /// All pieces for the encoder, in the order of the prompt.
    package var all: [RGBImage] { tiles + (overview.map { [$0] } ?? []) }
}
