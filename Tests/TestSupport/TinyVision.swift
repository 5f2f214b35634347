public import Foundation

/// A small image encoder with random weights. The kinds differ only in the projector.
public struct TinyVision: Sendable {
    /// Width of the language model's embeddings.
    public var modelWidth = 64
    public var width = 32
    public var layers = 2
    public var heads = 2
    public var feedForward = 48
    public var patch = 4
    public var imageSize = 16
    public var merge = 2
    /// `gemma3`, `idefics3` or `lfm2`.
    public var kind = "gemma3"
    public var extra: [(key: String, value: GGUFBuilder.Value)] = []

    public init() {}

    /// Tokens of a square image.
    public var tokens: Int { (imageSize / patch / merge) * (imageSize / patch / merge) }

    public func builder() -> GGUFBuilder {
        var generator = SeededGenerator(seed: 0xEE5)
        var builder = GGUFBuilder()
        func tensor(_ name: String, _ shape: [Int], scale: Float, around mean: Float = 0) {
            let values = (0..<shape.reduce(1, *)).map { _ in mean + scale * Float.random(in: -1...1, using: &generator)
            }
            builder.tensors.append(.init(name, shape: shape, values))
        }
        func matrix(_ name: String, _ inputs: Int, _ outputs: Int) {
            tensor(name + ".weight", [inputs, outputs], scale: 1.7 / Float(inputs).squareRoot())
        }
        func norm(_ name: String, _ width: Int) {
            tensor(name + ".weight", [width], scale: 0.2, around: 1)
            tensor(name + ".bias", [width], scale: 0.1)
        }
        tensor("v.patch_embd.weight", [patch, patch, 3, width], scale: 0.2)
        let side = imageSize / patch
        tensor("v.position_embd.weight", [width, side * side], scale: 0.5)
        for layer in 0..<layers {
            let name = "v.blk.\(layer)."
            norm(name + "ln1", width)
            norm(name + "ln2", width)
            for part in ["attn_q", "attn_k", "attn_v", "attn_out"] { matrix(name + part, width, width) }
            matrix(name + "ffn_up", width, feedForward)
            matrix(name + "ffn_down", feedForward, width)
        }
        norm("v.post_ln", width)
        let merged = width * merge * merge
        switch kind {
        case "idefics3": matrix("mm.model.fc", merged, modelWidth)
        case "lfm2":
            matrix("mm.1", merged, width)
            matrix("mm.2", width, modelWidth)
            tensor("mm.1.bias", [width], scale: 0.1)
            tensor("mm.2.bias", [modelWidth], scale: 0.1)
        default:
            tensor("mm.soft_emb_norm.weight", [width], scale: 0.2, around: 1)
            // Stored transposed.
            tensor("mm.input_projection.weight", [modelWidth, width], scale: 0.3)
        }
        builder.metadata = [
            ("general.architecture", .string("clip")), ("clip.has_vision_encoder", .bool(true)),
            ("clip.projector_type", .string(kind)), ("clip.use_gelu", .bool(true)),
            ("clip.vision.embedding_length", .uint32(UInt32(width))),
            ("clip.vision.block_count", .uint32(UInt32(layers))),
            ("clip.vision.feed_forward_length", .uint32(UInt32(feedForward))),
            ("clip.vision.image_size", .uint32(UInt32(imageSize))),
            ("clip.vision.patch_size", .uint32(UInt32(patch))),
            ("clip.vision.projection_dim", .uint32(UInt32(modelWidth))),
            ("clip.vision.attention.head_count", .uint32(UInt32(heads))),
            ("clip.vision.attention.layer_norm_epsilon", .float32(1e-6)),
            ("clip.vision.projector.scale_factor", .uint32(UInt32(merge))),
            ("clip.vision.image_mean", .floats([0.5, 0.5, 0.5])), ("clip.vision.image_std", .floats([0.5, 0.5, 0.5])),
        ]
        builder.metadata += extra
        return builder
    }

    /// Writes the file into `directory`.
    public func write(in directory: TemporaryDirectory, as name: String = "mmproj.gguf") throws -> URL {
        URL(filePath: try directory.write(builder().bytes(), as: name))
    }
}
