package import GGUF
package import Compute
import Foundation
import KernelFormats

/// Builds a vision encoder from an `mmproj` file.
package struct VisionBuilder {
    let file: ModelReader
    let family: VisionFamily
    let kind: String
    /// Keys `clip.…`.
    let hyper: Hyperparameters
    let width: Int
    /// Side in pixels of a patch, and of a square image.
    let patch: Int
    let imageSize: Int
    /// Patches per side of a token.
    let merge: Int
    let epsilon: Float

    /// - Parameter packer: Repacks the weights; `nil`: they stay as in the file.
    package init(_ file: GGUFFile, packer: WeightPacker? = nil) throws(ModelFileError) {
        let file = ModelReader(file, packer: packer)
        self.file = file
        let architecture = try file.metadata.string("general.architecture")
        guard architecture == "clip" else {
            throw ModelFileError(
                .unsupported,
                "This is not an image encoder: 'general.architecture' must be 'clip', but is '\(architecture)'.",
                path: file.path)
        }
        hyper = Hyperparameters(file: file, architecture: architecture)
        guard try hyper.bool("has_vision_encoder") == true else {
            throw ModelFileError(
                .unsupported, "The file has no image encoder: 'clip.has_vision_encoder' is not true.",
                path: file.path)
        }
        var declared = try hyper.string("projector_type")
        if declared == nil { declared = try hyper.string("vision.projector_type") }
        guard let kind = declared else {
            throw ModelFileError(
                .missingMetadata, "The metadata key 'clip.vision.projector_type' is missing.", path: file.path)
        }
        guard let family = VisionFamily.families[kind] else {
            let known = VisionFamily.families.keys.sorted().joined(separator: ", ")
            throw ModelFileError(
                .unsupported, "Image encoders of the kind '\(kind)' are not supported. Supported: \(known).",
                path: file.path)
        }
        (self.kind, self.family) = (kind, family)
        width = try hyper.count("vision.embedding_length")
        imageSize = try hyper.count("vision.image_size")
        let patch = try hyper.count("vision.patch_size")
        let merge = try hyper.countIfPresent(family.mergeKey) ?? family.merge
        self.patch = family.hasNoLayers ? patch * merge : patch
        self.merge = family.hasNoLayers ? 1 : merge
        guard patch <= 128, merge <= 16, imageSize <= 4096, imageSize >= patch * merge else {
            throw ModelFileError(
                .badMetadata,
                "Images of \(imageSize) pixels cannot be cut into patches of \(patch) pixels, \(merge) × \(merge) to a token.",
                path: file.path)
        }
        epsilon = Float(try hyper.double("vision.attention.layer_norm_epsilon") ?? 1e-6)
        guard epsilon >= 0, epsilon < 1 else {
            throw hyper.invalid("vision.attention.layer_norm_epsilon", "in 0..<1", found: epsilon)
        }
    }

    package func encoder() throws(ModelFileError) -> VisionEncoder {
        try file.loadBLAS()
        let sizing = try family.sizing(self)
        switch sizing {
        case .dynamic: break
        default:
            guard imageSize / patch % merge == 0 else {
                throw hyper.invalid(
                    "vision.image_size",
                    "a multiple of \(patch * merge) (patches of \(patch) pixels, \(merge) × \(merge) merged into a token)",
                    found: imageSize)
            }
        }
        guard sizing.mostPixels <= RGBImage.Limits().pixels else {
            throw ModelFileError(
                .unsupported,
                "Every image would be enlarged to \(sizing.mostPixels) pixels; at most \(RGBImage.Limits().pixels) are supported.",
                path: file.path)
        }
        let preprocessing = ImagePreprocessing(
            sizing: sizing, side: imageSize, alignment: patch * merge, filter: family.filter,
            background: family.background)
        let layerCount = family.hasNoLayers ? 0 : try hyper.count("vision.block_count")
        let shape = try attentionShape()
        var layers: [EncoderLayer] = []
        var deepstack: [Int: Projector] = [:]
        for index in 0..<layerCount {
            layers.append(try layer(index, shape))
            if file.contains("v.deepstack.\(index).fc1.weight") { deepstack[index] = try self.deepstack(index) }
        }
        let encoder = VisionEncoder(
            family: family, preprocessing: preprocessing, grid: (patch, merge, try window()), width: width,
            patches: try patchEmbedding(), layers: layers,
            fullLayers: try hyper.countIfPresent("vision.n_wa_pattern"), rotary: try rotary(shape),
            outputNorm: try normIfPresent("v.post_ln", width), deepstack: deepstack,
            projector: Projector(operations: try family.projector(self)), rowEnd: try rowEnd())
        try refuseUnknownTensors()
        try check(encoder)
        return encoder
    }

    /// Numbers of pixels that give numbers of tokens in this range.
    func pixels(ofTokens counts: ClosedRange<Int>) -> ClosedRange<Int> {
        let area = patch * patch * merge * merge
        return counts.lowerBound * area...counts.upperBound * area
    }

    // MARK: Parts

    private func patchEmbedding() throws(ModelFileError) -> PatchEmbedding {
        let mean = try three("vision.image_mean"), deviation = try three("vision.image_std")
        guard deviation.allSatisfy({ $0 > 0 }) else {
            throw hyper.invalid("vision.image_std", "three numbers above 0", found: deviation)
        }
        let double: Float = family.doublesPixels ? 2 : 1
        let classVector = try file.vectorIfPresent("v.class_embd", width)
        let inputs = 3 * patch * patch
        var norm = try normIfPresent("v.norm_embd", width)
        var lastNorm = try normIfPresent("v.pre_ln", width)
        if family.hasNoLayers {
            norm = try self.norm("v.patch_norm.2", kind: .layer, width: width, epsilon: 1e-5)
            lastNorm = try self.norm("v.patch_norm.3", kind: .layer, width: width, epsilon: 1e-5)
        }
        return PatchEmbedding(
            patch: patch, scale: deviation.map { double / (255 * $0) },
            offset: zip(mean, deviation).map { double * -$0 / $1 - (double - 1) },
            pixelNorm: try normIfPresent("v.patch_norm.1", inputs, kind: .layer, epsilon: 1e-5),
            kernel: try kernel(inputs),
            norm: norm,
            classVector: classVector, positions: try positions(hasClass: classVector != nil),
            lastNorm: lastNorm)
    }

    /// The convolution over patches as a linear layer. Two kernels, for two equal video frames, are added.
    private func kernel(_ inputs: Int) throws(ModelFileError) -> Linear {
        let shape = family.hasNoLayers ? [inputs, width] : [patch, patch, 3, width]
        var values = try file.tensor("v.patch_embd.weight", shape: shape).floats()
        if let second = try file.tensorIfPresent("v.patch_embd.weight.1", shape: shape)?.floats() {
            for index in values.indices { values[index] += second[index] }
        }
        return Linear(
            weights: WeightMatrix(try tensor("v.patch_embd.weight", values, [inputs, width])),
            bias: try file.vectorIfPresent("v.patch_embd.bias", width))
    }

    private func positions(hasClass: Bool) throws(ModelFileError) -> PatchPositions? {
        guard let kind = family.positions else { return nil }
        guard let tensor = file.tensorIfPresent("v.position_embd.weight") else {
            // GLM-OCR has no position vectors.
            if case .resized = kind { return nil }
            throw ModelFileError(.missingTensor, "Tensor 'v.position_embd.weight' is missing.", path: file.path)
        }
        let positions = PatchPositions(kind, table: tensor.floats(), width: width, hasClass: hasClass)
        let vectors = tensor.count / width
        let expected: Int? =
            switch kind {
            case .square: (imageSize / patch) * (imageSize / patch) + (hasClass ? 1 : 0)
            case .resized: positions.side * positions.side + (hasClass ? 1 : 0)
            case .columnsAndRows: tensor.shape.last == 2 ? vectors : nil
            }
        guard tensor.shape[0] == width, vectors == expected, positions.side > 0 else {
            throw ModelFileError(
                .badTensor,
                "Tensor 'v.position_embd.weight' of shape \(tensor.shape) does not have one vector of \(width) values for each patch of a square image of \(imageSize) pixels.",
                path: tensor.file.path)
        }
        return positions
    }

    private func attentionShape() throws(ModelFileError) -> BidirectionalShape {
        if family.hasNoLayers {
            return BidirectionalShape(heads: 1, kvHeads: 1, keyWidth: width, valueWidth: width, scale: 1)
        }
        let heads = try hyper.count("vision.attention.head_count")
        let kvHeads = try hyper.countIfPresent("vision.attention.head_count_kv") ?? heads
        let headWidth = try hyper.countIfPresent("vision.attention.head_dim") ?? max(1, width / heads)
        guard heads % kvHeads == 0, headWidth % 2 == 0, headWidth <= 1 << 12, heads <= 1 << 12 else {
            throw hyper.invalid(
                "vision.attention.head_count", "a multiple of the \(kvHeads) KV heads, and give heads of an even width",
                found: heads)
        }
        return BidirectionalShape(
            heads: heads, kvHeads: kvHeads, keyWidth: headWidth, valueWidth: headWidth,
            scale: family.scoreScale ?? 1 / Float(headWidth).squareRoot())
    }

    /// Tokens per side of a window; `nil`: every layer is global.
    private func window() throws(ModelFileError) -> Int? {
        guard try hyper.countIfPresent("vision.n_wa_pattern") != nil else { return nil }
        let pixels = try hyper.countIfPresent("vision.window_size") ?? 112
        guard pixels >= patch * merge else {
            throw hyper.invalid("vision.window_size", "at least \(patch * merge), the pixels of a token", found: pixels)
        }
        return pixels / patch / merge
    }

    private func rotary(_ shape: BidirectionalShape) throws(ModelFileError) -> Rotary? {
        guard let rotation = family.rotation else { return nil }
        let width = shape.keyWidth
        guard width % 4 == 0 else {
            throw hyper.invalid(
                "vision.attention.head_count", "a number of heads whose width is a multiple of 4", found: shape.heads)
        }
        // Each half of a head has all frequencies, or every other one.
        let half = (0..<width / 4).map { pow(family.rotaryBase, -4 * Double($0) / Double(width)) }
        func axes(_ first: Rotary.Axis, _ second: Rotary.Axis) -> [Rotary.Axis] {
            half.map { _ in first } + half.map { _ in second }
        }
        switch rotation {
        case .rowsThenColumns:
            let odd = pow(family.rotaryBase, -2 / Double(width))
            return Rotary(
                layout: .adjacent, frequencies: half + half.map { $0 * odd }, axes: axes(.row, .column))
        case .columnsThenRows:
            return Rotary(layout: .adjacent, frequencies: half + half, axes: axes(.column, .row))
        case .columnsThenRowsInHalves:
            return Rotary(layout: .halvesOfHalves, frequencies: half + half, axes: axes(.column, .row))
        case .halvesOfPairs:
            return Rotary(layout: .halves, frequencies: half + half, axes: axes(.row, .column))
        }
    }

    private func layer(_ index: Int, _ shape: BidirectionalShape) throws(ModelFileError) -> EncoderLayer {
        let name = "v.blk.\(index)."
        let sizes = [shape.heads, shape.kvHeads, shape.kvHeads].map { $0 * shape.keyWidth }
        let projections =
            file.contains(name + "attn_qkv.weight")
            ? try file.linears(name + "attn_qkv", from: width, to: sizes)
            : [
                try linear(name + "attn_q", from: width, to: sizes[0]),
                try linear(name + "attn_k", from: width, to: sizes[1]),
                try linear(name + "attn_v", from: width, to: sizes[2]),
            ]
        let attention = EncoderAttention(
            query: projections[0], key: projections[1], value: projections[2],
            output: try linear(name + "attn_out", from: sizes[0], to: width), shape)
        attention.queryNorm = try headNorm(name + "attn_q_norm", sizes[0], shape.keyWidth)
        attention.keyNorm = try headNorm(name + "attn_k_norm", sizes[1], shape.keyWidth)
        if family.normalizesValues { attention.valueNorm = weightlessNorm(shape.valueWidth) }
        if family.rotation != nil { attention.rotary = 0 }
        return EncoderLayer(
            attention: attention,
            attentionNorms: .init(
                before: try norm(name + "ln1", width: width),
                gain: try file.vectorIfPresent(name + "ls1.weight", width),
                after: try normIfPresent(name + "attn_post_norm", width)),
            feedForward: try mlp(name),
            feedForwardNorms: .init(
                before: try norm(name + "ln2", width: width),
                gain: try file.vectorIfPresent(name + "ls2.weight", width),
                after: try normIfPresent(name + "ffn_post_norm", width)),
            outputScale: try file.vectorIfPresent(name + "out_scale.weight", 1)?[0] ?? 1)
    }

    private func mlp(_ layer: String) throws(ModelFileError) -> MLP {
        // Early converters swapped the names of the two.
        var (up, down) = (layer + "ffn_up", layer + "ffn_down")
        if let first = file.tensorIfPresent(up + ".weight"), first.shape[0] != width { swap(&up, &down) }
        let hidden = try rows(up)
        return MLP(
            gate: file.contains(layer + "ffn_gate.weight")
                ? try linear(layer + "ffn_gate", from: width, to: hidden) : nil,
            up: try linear(up, from: width, to: hidden), down: try linear(down, from: hidden, to: width),
            activation: try activation())
    }

    func activation() throws(ModelFileError) -> Activation {
        let (gelu, silu) = (try hyper.bool("use_gelu") == true, try hyper.bool("use_silu") == true)
        guard !(gelu && silu) else { throw hyper.invalid("use_silu", "false if clip.use_gelu is true", found: true) }
        return gelu ? .gelu : silu ? .silu : family.activation
    }

    private func deepstack(_ index: Int) throws(ModelFileError) -> Projector {
        let name = "v.deepstack.\(index)."
        let norm = try norm(name + "norm", kind: .layer, width: width * merge * merge)
        return Projector(operations: [
            .concatenate, .normalize(norm), .linear(try projection(name + "fc1")), .activate(.gelu),
            .linear(try projection(name + "fc2")),
        ])
    }

    /// The vector of `[IMG_BREAK]`, which ends rows of tokens.
    private func rowEnd() throws(ModelFileError) -> [Float]? {
        guard let tensor = file.tensorIfPresent("v.token_embd.img_break") else { return nil }
        return tensor.floats()
    }

    // MARK: Layers

    /// A linear layer, with the ranges of its inputs and outputs if the file declares them (Gemma 4).
    private func linear(_ name: String, from inputs: Int, to outputs: Int) throws(ModelFileError) -> Linear {
        try ranged(try file.linear(name, from: inputs, to: outputs), name)
    }

    /// A layer of the projector, with its sizes taken from the tensor.
    ///
    /// - Parameter isConvolution: Whether its inputs are three dimensions of the tensor.
    func projection(_ name: String, isConvolution: Bool = false) throws(ModelFileError) -> Linear {
        guard isConvolution else {
            guard let tensor = file.tensorIfPresent(name + ".weight"), tensor.shape.count <= 2 else {
                throw ModelFileError(
                    .missingTensor, "Tensor '\(name).weight' of two dimensions is missing.", path: file.path)
            }
            return try linear(name, from: tensor.shape[0], to: tensor.count / tensor.shape[0])
        }
        guard let tensor = file.tensorIfPresent(name + ".weight"), tensor.shape.count == 4 else {
            throw ModelFileError(
                .missingTensor, "Tensor '\(name).weight' of four dimensions is missing.", path: file.path)
        }
        let (inputs, outputs) = (tensor.shape[..<3].reduce(1, *), tensor.shape[3])
        return Linear(
            weights: WeightMatrix(try self.tensor(name, tensor.floats(), [inputs, outputs])),
            bias: try file.vectorIfPresent(name + ".bias", outputs))
    }

    /// A layer whose weights are transposed in the file.
    func transposedProjection(_ name: String) throws(ModelFileError) -> Linear {
        guard let tensor = file.tensorIfPresent(name + ".weight"), tensor.shape.count == 2 else {
            throw ModelFileError(
                .missingTensor, "Tensor '\(name).weight' of two dimensions is missing.", path: file.path)
        }
        let (outputs, inputs) = (tensor.shape[0], tensor.shape[1])
        let values = tensor.floats()
        var transposed = [Float](repeating: 0, count: values.count)
        for input in 0..<inputs {
            for output in 0..<outputs { transposed[output * inputs + input] = values[input * outputs + output] }
        }
        return Linear(weights: WeightMatrix(try self.tensor(name, transposed, [inputs, outputs])))
    }

    private func ranged(_ layer: Linear, _ name: String) throws(ModelFileError) -> Linear {
        var layer = layer
        func range(_ kind: String) throws(ModelFileError) -> ClosedRange<Float>? {
            let low = try file.vectorIfPresent("\(name).\(kind)_min", 1)?[0]
            let high = try file.vectorIfPresent("\(name).\(kind)_max", 1)?[0]
            guard low != nil || high != nil else { return nil }
            let (least, most) = (low ?? -.greatestFiniteMagnitude, high ?? .greatestFiniteMagnitude)
            guard least <= most else {
                throw ModelFileError(
                    .badTensor, "Tensor '\(name).\(kind)_min' is \(least), above \(name).\(kind)_max, \(most).",
                    path: file.path)
            }
            return least...most
        }
        layer.inputRange = try range("input")
        layer.outputRange = try range("output")
        return layer
    }

    /// A tensor of computed values.
    private func tensor(_ name: String, _ values: [Float], _ shape: [Int]) throws(ModelFileError) -> TensorView {
        try TensorView(name: name, shape: shape, floats: values, path: file.path)
    }

    private func rows(_ name: String) throws(ModelFileError) -> Int {
        guard let tensor = file.tensorIfPresent(name + ".weight") else {
            throw ModelFileError(.missingTensor, "Tensor '\(name).weight' is missing.", path: file.path)
        }
        return tensor.count / tensor.shape[0]
    }

    func norm(
        _ name: String, kind: Norm.Kind? = nil, width: Int, epsilon: Float? = nil
    ) throws(ModelFileError) -> Norm {
        let bias = try file.vectorIfPresent(name + ".bias", width)
        let declared: Norm.Kind =
            switch family.norm {
            case .layer: .layer
            case .rms: .rms
            case .rmsWithoutBias: bias == nil ? .rms : .layer
            }
        return Norm(
            kind ?? declared, weight: try file.vector(name + ".weight", width), bias: bias,
            epsilon: epsilon ?? self.epsilon)
    }

    private func normIfPresent(
        _ name: String, _ width: Int, kind: Norm.Kind? = nil, epsilon: Float? = nil
    ) throws(ModelFileError) -> Norm? {
        file.contains(name + ".weight") ? try norm(name, kind: kind, width: width, epsilon: epsilon) : nil
    }

    func weightlessNorm(_ width: Int) -> Norm {
        Norm(.rms, weight: Array(repeating: 1, count: width), epsilon: epsilon)
    }

    private func headNorm(_ name: String, _ all: Int, _ head: Int) throws(ModelFileError) -> Norm? {
        guard let tensor = file.tensorIfPresent(name + ".weight") else { return nil }
        return try norm(name, width: tensor.count == head ? head : all)
    }

    private func three(_ key: String) throws(ModelFileError) -> [Float] {
        let values = try file.metadata.doubles("clip.\(key)")
        guard values.count >= 3, values.allSatisfy({ $0.isFinite && abs($0) < 1e6 }) else {
            throw hyper.invalid(key, "three numbers", found: values)
        }
        return values.prefix(3).map { Float($0) }
    }

    // MARK: Checks

    /// - Throws: For an unknown tensor of the vision encoder, which would change the result.
    private func refuseUnknownTensors() throws(ModelFileError) {
        for tensor in file.tensors where !file.readTensors.contains(tensor.name) && !family.unused.contains(tensor.name)
        {
            // The file may also contain an audio encoder.
            guard tensor.name.hasPrefix("v.") || tensor.name.hasPrefix("mm."), !tensor.name.hasPrefix("mm.a.") else {
                continue
            }
            throw ModelFileError(
                .unsupported,
                "Tensor '\(tensor.name)' of shape \(tensor.shape) is not known in image encoders of the kind '\(kind)', and would change the result.",
                path: tensor.file.path)
        }
    }

    /// - Throws: If the widths of the projector's layers do not match.
    private func check(_ encoder: VisionEncoder) throws(ModelFileError) {
        for projector in [encoder.projector] + encoder.deepstack.map(\.projector) {
            var width = self.width
            for operation in projector.operations {
                let expected: Int? =
                    switch operation {
                    case .linear(let layer): layer.weights.columns
                    case .gate(let gate, let up, _):
                        gate.weights.columns == up.weights.columns && gate.weights.rows == up.weights.rows
                            ? up.weights.columns : 0
                    case .normalize(let norm): norm.weight.count
                    default: nil
                    }
                if let expected, expected != width {
                    throw ModelFileError(
                        .badTensor,
                        "The projector has a layer with \(expected) inputs, but its input has \(width) values.",
                        path: file.path)
                }
                width = Projector(operations: [operation]).outputWidth(of: width, group: merge * merge)
            }
            guard width == encoder.outputWidth, encoder.rowEnd.map({ $0.count == width }) ?? true else {
                throw ModelFileError(
                    .badTensor, "The projector's parts have \(width) and \(encoder.outputWidth) outputs.",
                    path: file.path)
            }
        }
    }
}
