package import Compute
import GGUF
import Foundation
import KernelFormats

/// The design of a kind of vision encoder. Sizes are in the file; biases, norms of heads, gates, and fused query, key
/// and value projections are used if the file has their tensors.
package struct VisionFamily: Sendable {
    /// Kind of the layers' norms.
    enum NormKind: Sendable {
        case layer, rms
        /// RMS if they have no bias, else LayerNorm.
        case rmsWithoutBias
    }

    /// How the place of a patch rotates queries and keys.
    enum Rotation: Sendable {
        /// First half of a head by row, second by column; frequencies alternate between them.
        case rowsThenColumns
        /// First half by column, second by row, with equal frequencies.
        case columnsThenRows
        /// As `columnsThenRows`, with pairs within each half of a head.
        case columnsThenRowsInHalves
        /// First half of the pairs by row, second by column.
        case halvesOfPairs
    }

    var norm = NormKind.layer
    /// Activation if the file declares neither GELU nor SiLU.
    var activation = Activation.quickGELU
    var positions: PatchPositions.Kind?
    var rotation: Rotation?
    var rotaryBase = 10_000.0
    /// Factor on the scores; `nil`: 1/√ of the head width.
    var scoreScale: Float?
    var normalizesValues = false
    /// Whether there are no layers, and patches have `merge` times the side.
    var hasNoLayers = false
    /// Whether pixels are scaled to −1...1 after the file's mean and deviation were applied.
    var doublesPixels = false

    /// Patches per side of a token, unless the file declares it.
    var merge = 1
    var mergeKey = "vision.projector.scale_factor"
    var sizing: @Sendable (VisionBuilder) throws(ModelFileError) -> ImagePreprocessing.Sizing = {
        _ throws(ModelFileError) in .square
    }
    var filter = ResamplingFilter.bicubic
    var background: (UInt8, UInt8, UInt8) = (0, 0, 0)
    var projector: @Sendable (VisionBuilder) throws(ModelFileError) -> [Projector.Operation]

    package var markers = ImageMarkers()
    /// Whether, and in which layers, an image's tokens attend to each other in both directions.
    package var sight = ImageSight.causal
    /// Whether image tokens have row and column positions in the prompt (M-RoPE).
    package var hasGridPositions = false
    /// Tensors of files that are known but not used.
    var unused: Set<String> = []
}

extension VisionFamily {
    /// By `clip.projector_type` or `clip.vision.projector_type`.
    static let families: [String: VisionFamily] = [
        "gemma3": .gemma3, "gemma4v": .gemma4, "gemma4uv": .gemma4Unified, "qwen2.5vl_merger": .qwen25VL,
        "qwen3vl_merger": .qwen3VL, "idefics3": .idefics3, "pixtral": .pixtral, "internvl": .internVL, "lfm2": .lfm2,
        "mlp": .llava, "glm4v": .glm4V, "kimivl": .kimiVL,
    ]

    private static func tokens(
        _ counts: ClosedRange<Int>
    ) -> @Sendable (VisionBuilder) throws(ModelFileError) -> ImagePreprocessing.Sizing {
        { model throws(ModelFileError) in .dynamic(pixels: model.pixels(ofTokens: counts)) }
    }

    /// The layers `first`, GELU, `second`.
    private static func mlp(
        _ first: String, _ second: String, _ model: VisionBuilder
    ) throws(ModelFileError) -> [Projector.Operation] {
        [
            .linear(try model.projection(first)), .activate(.gelu), .linear(try model.projection(second)),
        ]
    }

    /// SigLIP (Zhai et al. 2023), with four by four patches averaged.
    static let gemma3 = VisionFamily(
        positions: .square, merge: 4, filter: .bilinear,
        projector: { model throws(ModelFileError) in
            [
                .average, .normalize(try model.norm("mm.soft_emb_norm", kind: .rms, width: model.width)),
                .linear(try model.transposedProjection("mm.input_projection")),
            ]
        }, markers: ImageMarkers(begin: "<start_of_image>", end: "<end_of_image>"), sight: .whole)

    static let gemma4 = VisionFamily(
        norm: .rms, activation: .gelu, positions: .columnsAndRows, rotation: .columnsThenRowsInHalves, rotaryBase: 100,
        scoreScale: 1, normalizesValues: true, doublesPixels: true, merge: 3, sizing: tokens(70...1120),
        projector: { model throws(ModelFileError) in
            var operations: [Projector.Operation] = [.average, .scale(Float(model.width).squareRoot())]
            if let bias = try model.file.vectorIfPresent("v.std_bias", model.width) {
                operations.append(
                    .shift(bias.map { -$0 }, scale: try model.file.vector("v.std_scale", model.width)))
            }
            return operations + [
                .normalize(model.weightlessNorm(model.width)), .linear(try model.projection("mm.input_projection")),
            ]
        }, markers: ImageMarkers(begin: "<|image>", end: "<image|>"), sight: .wholeInWindows)

    /// No transformer: patches are projected directly to the language model.
    static let gemma4Unified = VisionFamily(
        norm: .rms, positions: .columnsAndRows, hasNoLayers: true, merge: 3, sizing: tokens(70...1120),
        projector: { model throws(ModelFileError) in
            [.normalize(model.weightlessNorm(model.width)), .linear(try model.projection("mm.input_projection"))]
        }, markers: ImageMarkers(begin: "<|image>", end: "<image|>"), sight: .wholeInWindows)

    private static let qwenMarkers = ImageMarkers(begin: "<|vision_start|>", end: "<|vision_end|>")

    static let qwen25VL = VisionFamily(
        norm: .rms, rotation: .halvesOfPairs, merge: 2, mergeKey: "vision.spatial_merge_size",
        sizing: tokens(8...4096),
        projector: { model throws(ModelFileError) in try [.concatenate] + mlp("mm.0", "mm.2", model) },
        markers: qwenMarkers, hasGridPositions: true)

    static let qwen3VL = VisionFamily(
        positions: .resized(.cornersAligned), rotation: .halvesOfPairs, merge: 2,
        mergeKey: "vision.spatial_merge_size", sizing: tokens(8...4096),
        projector: { model throws(ModelFileError) in try [.concatenate] + mlp("mm.0", "mm.2", model) },
        markers: qwenMarkers, hasGridPositions: true)

    static let glm4V = VisionFamily(
        norm: .rms, positions: .resized(.bicubic), rotation: .halvesOfPairs, merge: 2,
        mergeKey: "vision.spatial_merge_size", sizing: tokens(8...4096),
        projector: { model throws(ModelFileError) in
            let merged = try model.projection("mm.patch_merger", isConvolution: true)
            let width = merged.weights.rows
            let gate = try model.projection("mm.gate")
            return [
                .concatenateByChannel, .linear(merged), .linear(try model.projection("mm.model.fc")),
                .normalize(try model.norm("mm.post_norm", kind: .layer, width: width, epsilon: 1e-5)),
                .activate(.exactGELU), .gate(gate, up: try model.projection("mm.up"), try model.activation()),
                .linear(try model.projection("mm.down")),
            ]
        }, markers: ImageMarkers(begin: "<|begin_of_image|>", end: "<|end_of_image|>"), hasGridPositions: true)

    /// MoonViT.
    static let kimiVL = VisionFamily(
        positions: .resized(.antialiased), rotation: .columnsThenRows, merge: 2, sizing: tokens(8...1024),
        projector: { model throws(ModelFileError) in
            let norm = try model.norm("mm.input_norm", kind: .layer, width: model.width, epsilon: 1e-5)
            return try [.normalize(norm), .concatenate] + mlp("mm.1", "mm.2", model)
        }, markers: ImageMarkers(begin: "<|media_start|>", end: "<|media_end|>"))

    /// Idefics 3 and SmolVLM.
    static let idefics3 = VisionFamily(
        positions: .square,
        sizing: { model throws(ModelFileError) in
            // Older files do not declare the size: use that of the original models.
            .longestEdge(try model.hyper.countIfPresent("vision.preproc_image_size") ?? 4 * model.imageSize)
        }, filter: .lanczos,
        projector: { model throws(ModelFileError) in [.concatenate, .linear(try model.projection("mm.model.fc"))] },
        markers: ImageMarkers(
            end: "<fake_token_around_image>", tile: { "<fake_token_around_image><row_\($0)_col_\($1)>" }, rowEnd: "\n",
            overviewBegin: ["\n\n", "<fake_token_around_image>", "<global-img>"]))

    static let pixtral = VisionFamily(
        norm: .rms, rotation: .rowsThenColumns, mergeKey: "vision.spatial_merge_size", sizing: tokens(8...1024),
        projector: { model throws(ModelFileError) in
            let mlp = try mlp("mm.1", "mm.2", model)
            guard model.file.contains("mm.patch_merger.weight") else { return mlp }
            return [
                .normalize(try model.norm("mm.input_norm", kind: .rms, width: model.width)), .concatenateByChannel,
                .linear(try model.projection("mm.patch_merger")),
            ] + mlp
        }, markers: ImageMarkers(end: "[IMG_END]"))

    static let internVL = VisionFamily(
        norm: .rmsWithoutBias, positions: .square,
        sizing: { model throws(ModelFileError) in
            let least = try model.hyper.countIfPresent("vision.preproc_min_tiles") ?? 1
            let most = try model.hyper.countIfPresent("vision.preproc_max_tiles") ?? 12
            guard least <= most, most <= 64 else {
                throw model.hyper.invalid(
                    "vision.preproc_max_tiles", "from \(least) (vision.preproc_min_tiles) to 64",
                    found: most)
            }
            let grids = (least...most).flatMap { columns in
                (least...most).filter { (least...most).contains($0 * columns) }
                    .map { RGBImage.Size(width: columns * model.imageSize, height: $0 * model.imageSize) }
            }
            guard !grids.isEmpty else {
                throw model.hyper.invalid(
                    "vision.preproc_min_tiles", "a number of tiles that form a rectangle", found: least)
            }
            return .candidates(grids)
        },
        projector: { model throws(ModelFileError) in
            let width = model.width * model.merge * model.merge
            let norm = try model.norm("mm.model.mlp.0", kind: .layer, width: width, epsilon: 1e-5)
            return try [.concatenate, .normalize(norm)] + mlp("mm.model.mlp.1", "mm.model.mlp.3", model)
        }, markers: ImageMarkers(begin: "<img>", end: "</img>"))

    static let lfm2 = VisionFamily(
        positions: .resized(.antialiased), merge: 2,
        sizing: { model throws(ModelFileError) in
            let tile = 512
            guard tile % (model.patch * model.merge) == 0 else {
                throw model.hyper.invalid(
                    "vision.patch_size", "a divisor of the tile size \(tile)", found: model.patch)
            }
            return .tiledIfLarge(pixels: model.pixels(ofTokens: 64...256), tile: tile)
        }, filter: .bilinear,
        projector: { model throws(ModelFileError) in
            var operations: [Projector.Operation] = [.concatenate]
            if model.file.contains("mm.input_norm.weight") {
                let width = model.width * model.merge * model.merge
                operations.append(
                    .normalize(try model.norm("mm.input_norm", kind: .layer, width: width, epsilon: 1e-5)))
            }
            return try operations + mlp("mm.1", "mm.2", model)
        },
        markers: ImageMarkers(
            begin: "<|image_start|>", end: "<|image_end|>", tile: { "<|img_row_\($0)_col_\($1)|>" },
            overviewBegin: ["<|img_thumbnail|>"]))

    /// CLIP (Radford et al. 2021), LLaVA 1.5 and 1.6.
    static let llava = VisionFamily(
        positions: .square,
        sizing: { model throws(ModelFileError) in
            let sides = try model.file.metadata.intsIfPresent("clip.vision.image_grid_pinpoints") ?? []
            guard sides.count % 2 == 0, sides.count <= 256,
                sides.allSatisfy({ $0 % model.imageSize == 0 && (1...8 * model.imageSize).contains($0) })
            else {
                throw model.hyper.invalid(
                    "vision.image_grid_pinpoints",
                    "pairs of multiples of \(model.imageSize) (vision.image_size), each at most eight times it",
                    found: sides)
            }
            let sizes = stride(from: 0, to: sides.count, by: 2).map {
                RGBImage.Size(width: sides[$0], height: sides[$0 + 1])
            }
            return sizes.isEmpty ? .square : .candidates(sizes)
        }, background: (122, 116, 104),
        projector: { model throws(ModelFileError) in
            guard !model.file.contains("mm.3.weight") else {
                throw ModelFileError(
                    .unsupported, "Tensor 'mm.3.weight': projectors with norms (Yi-VL) are not supported.",
                    path: model.file.path)
            }
            let first = Projector.Operation.linear(try model.projection("mm.0"))
            guard model.file.contains("mm.2.weight") else { return [first, .activate(.gelu)] }
            return [first, .activate(.gelu), .linear(try model.projection("mm.2"))]
        }, unused: ["v.image_newline", "model.image_newline"])
}
