@testable import GGUF
import Foundation
import KernelFormats
import TestSupport
import Testing

@testable import LocalLLM

@Suite struct CheckpointModelTests {
    private let directory: TemporaryDirectory
    private static let tokens: [Int32] = [1, 30, 75, 200, 9, 114, 3, 77]

    init() throws { directory = try TemporaryDirectory() }

    private func logits(_ url: URL) async throws -> [Float] {
        try await LocalModel.load(from: url).logits(of: Self.tokens)
    }

    /// Each with the family's file and what sets it apart.
    static let families: [(className: String, config: String, tiny: TinyModel)] = {
        func tiny(_ architecture: String, _ change: (inout TinyModel) -> Void = { _ in }) -> TinyModel {
            var tiny = TinyModel()
            tiny.architecture = architecture
            change(&tiny)
            return tiny
        }
        return [
            ("LlamaForCausalLM", "", tiny("llama")),
            ("LlamaForCausalLM", #", "tie_word_embeddings": true"#, tiny("llama") { $0.isTied = true }),
            ("MistralForCausalLM", #", "sliding_window": null"#, tiny("llama")),
            (
                "MistralForCausalLM", #", "sliding_window": 4"#,
                tiny("llama") { $0.slidingWindow = 4 }
            ),
            ("Qwen2ForCausalLM", "", tiny("qwen2") { $0.hasBias = true }),
            ("Qwen3ForCausalLM", "", tiny("qwen3") { $0.hasHeadNorm = true }),
            (
                "Qwen3MoeForCausalLM",
                #", "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 96, "norm_topk_prob": true"#,
                tiny("qwen3moe") { ($0.experts, $0.usedExperts, $0.hasHeadNorm) = (4, 2, true) }
            ),
        ]
    }()

    @Test(arguments: 0..<families.count)
    func `a folder gives the logits of the same model as a file`(index: Int) async throws {
        let (className, config, tiny) = Self.families[index]
        let file = try await logits(tiny.write(in: directory))
        let folder = try await logits(tiny.writeFolder(in: directory, architecture: className, config: config))
        #expect(folder == file)
    }

    /// The configuration declares the kind of each layer, for which GGUF has a key beside that of their period.
    @Test func `a Qwen 3,5 folder of attention layers gives the logits of the same model as a file`() async throws {
        var tiny = TinyModel()
        tiny.architecture = "qwen35"
        tiny.extra = [("qwen35.full_attention_interval", .uint32(1))]
        var builder = tiny.builder()
        for index in builder.tensors.indices {
            builder.tensors[index].name.replace("ffn_norm", with: "post_attention_norm")
            // Queries with gates.
            guard builder.tensors[index].name.hasSuffix("attn_q.weight") else { continue }
            builder.tensors[index].shape[1] *= 2
            builder.tensors[index].data += builder.tensors[index].data
        }
        let file = try await logits(URL(filePath: try directory.write(builder.bytes(), as: "qwen35.gguf")))
        let kinds = Array(repeating: #""full_attention""#, count: tiny.layers).joined(separator: ", ")
        let folder = try await logits(
            tiny.writeFolder(
                in: directory, architecture: "Qwen3_5ForCausalLM",
                config: #", "layer_types": [\#(kinds)], "partial_rotary_factor": 1, "rope_theta": 10000"#
            ) {
                $0 = $0.map { tensor in
                    let values = tensor.data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
                    // Norms are stored minus 1.
                    if tensor.name.contains("norm") {
                        return .init(tensor.name, shape: tensor.shape, values.map { $0 - 1 })
                    }
                    guard tensor.name.hasSuffix("q_proj.weight") else { return tensor }
                    return .init(tensor.name, shape: [2 * tensor.shape[0], tensor.shape[1]], values + values)
                }
            })
        #expect(normalizedMeanSquaredError(folder, file) < 1e-9)
    }

    /// transformers 5.23 puts zeros before the number if other layers have more digits.
    @Test(arguments: ["5", "05"])
    func `what sets a layer apart is found by the layer's number`(layer: String) throws {
        let config = """
            {"architectures": ["Gemma4ForCausalLM"], "num_hidden_layers": 12, "hidden_size": 8, "intermediate_size": 8,
             "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 8, "vocab_size": 8,
             "per_layer_config": {"\(layer)": {"head_dim": 16}}}
            """
        let weights = SafetensorsBuilder([.init("model.norm.weight", shape: [8], Array(repeating: 1, count: 8))])
        let folder = try weights.write(config: config, in: directory, as: "gemma4")
        #expect(try GGUFFile(path: folder.path).metadata["gemma4.attention.key_length"]?.int == 16)
    }

    @Test func `matrices lie in the folder's own file unless they change`() throws {
        let url = try TinyModel().writeFolder(in: directory, architecture: "LlamaForCausalLM")
        let file = try GGUFFile(path: url.path)
        let weights = url.appending(path: "model.safetensors").path
        let value = try #require(file.tensorIfPresent("blk.0.attn_v.weight"))
        #expect(value.file.path == weights)
        // Rows of queries are in another order.
        #expect(file.tensorIfPresent("blk.0.attn_q.weight")?.file.byteCount == value.byteCount * 2)
    }

    @Test func `what is computed is computed again after it was given back`() throws {
        let url = try TinyModel().writeFolder(in: directory, architecture: "LlamaForCausalLM")
        let query = try #require(GGUFFile(path: url.path).tensorIfPresent("blk.0.attn_q.weight"))
        let before = query.floats()
        query.file.giveBack(query.range)
        #expect(query.floats() == before)
        #expect(before.contains { $0 != 0 })
    }

    @Test func `sixteen-bit weights stay what they are and norms become exact`() throws {
        let url = try TinyModel().writeFolder(in: directory, architecture: "LlamaForCausalLM") { tensors in
            for index in tensors.indices {
                let values = tensors[index].data
                // The upper half of a float's bits is a bfloat16.
                let halves = stride(from: 0, to: values.count, by: 4).flatMap { values[$0 + 2...$0 + 3] }
                (tensors[index].type, tensors[index].data) = ("BF16", halves)
            }
        }
        let file = try GGUFFile(path: url.path)
        #expect(file.tensorIfPresent("blk.0.ffn_up.weight")?.type == .BF16)
        #expect(file.tensorIfPresent("blk.0.attn_q.weight")?.type == .BF16)
        #expect(file.tensorIfPresent("blk.0.attn_norm.weight")?.type == .F32)
        #expect(try file.metadata.int("general.file_type") == 32)
    }

    @Test func `a converted folder is the file that the folder is read as`() async throws {
        let url = try TinyModel().writeFolder(in: directory, architecture: "LlamaForCausalLM")
        let target = directory.url.appending(path: "converted.gguf")
        let summary = try Quantizer.copy(modelAt: url.path, to: target.path)
        let (folder, file) = (try GGUFFile(path: url.path), try GGUFFile(path: target.path))
        #expect(summary.tensors == ["F32": folder.tensors.count])
        #expect(file.metadata.keys == folder.metadata.keys)
        #expect(file.tensors.map(\.name) == folder.tensors.map(\.name))
        for (a, b) in zip(file.tensors, folder.tensors) {
            #expect(a.shape == b.shape)
            #expect(a.bytes.elementsEqual(b.bytes))
        }
        #expect(try await logits(target) == (try await logits(url)))
    }

    @Test func `weights in several files are found by the index`() async throws {
        let tiny = TinyModel()
        let whole = try await logits(tiny.writeFolder(in: directory, as: "whole", architecture: "LlamaForCausalLM"))
        var all: [SafetensorsBuilder.Tensor] = []
        let url = try tiny.writeFolder(in: directory, as: "parts", architecture: "LlamaForCausalLM") { all = $0 }
        try FileManager.default.removeItem(at: url.appending(path: "model.safetensors"))
        let parts = [Array(all[..<7]), Array(all[7...])]
        var map: [String] = []
        for (index, part) in parts.enumerated() {
            let name = "model-0000\(index + 1)-of-00002.safetensors"
            try Data(SafetensorsBuilder(part).bytes()).write(to: url.appending(path: name))
            map += part.map { #""\#($0.name)": "\#(name)""# }
        }
        let index = url.appending(path: "model.safetensors.index.json")
        try Data(#"{"weight_map": {\#(map.joined(separator: ", "))}}"#.utf8).write(to: index)
        #expect(try await logits(url) == whole)

        try FileManager.default.removeItem(at: url.appending(path: "model-00002-of-00002.safetensors"))
        let error = #expect(throws: ModelFileError.self) { try GGUFFile(path: url.path) }
        #expect(error?.reason == .badSplit)
        #expect(error?.message.contains("'model-00002-of-00002.safetensors' is missing") == true)

        try Data(#"{"weight_map": {"a": "../model.safetensors"}}"#.utf8).write(to: index)
        #expect(throws: ModelFileError.self) { try GGUFFile(path: url.path) }
    }

    @Test(arguments: [
        ("missing", "blk.0.ffn_up.weight"), ("shape", "blk.0.ffn_up.weight"),
        ("unknown", "model.layers.0.mlp.new.weight"),
        ("type", "I64"),
    ])
    func `weights that do not fit the configuration are refused by name`(kind: String, text: String) throws {
        let url = try TinyModel().writeFolder(in: directory, architecture: "LlamaForCausalLM") { tensors in
            guard let index = tensors.firstIndex(where: { $0.name == "model.layers.0.mlp.up_proj.weight" }) else {
                return
            }
            switch kind {
            case "missing": tensors.remove(at: index)
            case "shape": tensors[index].shape.swapAt(0, 1)
            case "unknown":
                tensors.append(.init("model.layers.0.mlp.new.weight", shape: [4], [1, 2, 3, 4]))
            default:
                tensors[index].type = "I64"
                tensors[index].shape[1] /= 2
            }
        }
        let error = #expect(throws: ModelFileError.self) { try LocalModel.info(of: url) }
        #expect(error?.message.contains(text) == true, "\(String(describing: error))")
    }

    @Test(arguments: [
        ("{}", "architectures"), (#"{"architectures": ["NewForCausalLM"]}"#, "NewForCausalLM"), ("[]", "object"),
        ("{", "JSON"),
        (#"{"architectures": ["LlamaForCausalLM"]}"#, "num_hidden_layers"),
        (#"{"architectures": ["LlamaForCausalLM"], "num_hidden_layers": "two"}"#, "num_hidden_layers"),
        (#"{"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1, "hidden_size": 0}"#, "hidden_size"),
        (
            #"{"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1, "hidden_size": 4, "num_attention_heads": 2, "rope_scaling": {"rope_type": "new"}}"#,
            "new"
        ),
        (gemma4(#""rope_parameters": {"partial_rotary_factor": 1e300}"#), "partial_rotary_factor"),
        (gemma4(#""use_double_wide_mlp": true, "num_kv_shared_layers": -9223372036854775807"#), "num_kv_shared_layers"),
        (
            #"{"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1, "hidden_size": 4, "num_attention_heads": 2, "head_dim": 4294967294, "rope_scaling": {"rope_type": "llama3"}}"#,
            "head_dim"
        ),
    ])
    func `a configuration that cannot be used is refused by what is wrong`(config: String, text: String) throws {
        let url = try SafetensorsBuilder([.init("a", shape: [1], [1])]).write(config: config, in: directory, as: "bad")
        let error = #expect(throws: ModelFileError.self) { try GGUFFile(path: url.path) }
        #expect(error?.message.contains(text) == true, "\(String(describing: error))")
    }

    private static func gemma4(_ more: String) -> String {
        #"{"architectures": ["Gemma4ForCausalLM"], "num_hidden_layers": 1, "hidden_size": 8, "intermediate_size": 8, \#(more)}"#
    }

    @Test(.timeLimit(.minutes(1))) func `the time to stack experts is linear in their number`() throws {
        let count = 100_000
        let experts = (0..<count).map {
            SafetensorsBuilder.Tensor(
                "model.layers.0.mlp.experts.\($0).up_proj.weight", shape: [4, 2], (0..<8).map { Float($0) })
        }
        let config = """
            {"architectures": ["Qwen3MoeForCausalLM"], "num_hidden_layers": 1, "hidden_size": 2,
            "num_attention_heads": 1, "num_experts": \(count), "norm_topk_prob": true}
            """
        let url = try SafetensorsBuilder(experts).write(config: config, in: directory, as: "wide")
        let stacked = try #require(GGUFFile(path: url.path).tensorIfPresent("blk.0.ffn_up_exps.weight"))
        #expect(stacked.floats() == (0..<8 * count).map { Float($0 % 8) })
    }
}
