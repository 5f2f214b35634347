@testable import GGUF
import Foundation
import KernelFormats
import TestSupport
import Testing

@testable import LocalLLM

@Suite struct QuantizerTests {
    private let directory: TemporaryDirectory
    private let source: URL
    private let tiny: TinyModel

    init() throws {
        directory = try TemporaryDirectory()
        var tiny = TinyModel()
        (tiny.width, tiny.feedForward, tiny.headWidth) = (256, 256, 64)
        self.tiny = tiny
        source = try tiny.write(in: directory)
    }

    private func quantize(
        _ name: String, overrides: [String] = [], importance: ImportanceMatrix? = nil
    ) throws -> (url: URL, summary: Quantizer.Summary) {
        let target = directory.url.appending(path: "\(name).gguf")
        let quantizer = try Quantizer(
            modelAt: source.path, #require(Mixture(named: name)),
            overrides: overrides.map { try #require(TypeOverride($0)) }, importance: importance)
        try quantizer.write(to: target.path)
        return (target, quantizer.summary)
    }

    @Test(arguments: [("Q8_0", 1e-3), ("Q6_K", 5e-3), ("Q4_K_M", 8e-2), ("IQ4_XS", 1e-1), ("F16", 1e-6)])
    func `a quantized model gives nearly the same logits`(name: String, limit: Double) async throws {
        let tokens: [Int32] = [1, 30, 75, 200, 9, 114]
        let expected = try await LocalModel.load(from: source).logits(of: tokens)
        let quantized = try quantize(name)
        let logits = try await LocalModel.load(from: quantized.url).logits(of: tokens)
        let error = normalizedMeanSquaredError(logits, expected)
        #expect(error < limit)
        #expect(error > 0)
        let file = try GGUFFile(path: quantized.url.path)
        #expect(file.byteCount < quantized.summary.sourceBytes)
        // Norms stay; what is quantized is what the plan says.
        #expect(file.tensorIfPresent("blk.0.attn_norm.weight")?.type == .F32)
        #expect(Dictionary(grouping: file.tensors, by: \.type.name).mapValues(\.count) == quantized.summary.tensors)
    }

    @Test func `metadata is that of the source but for the file type`() throws {
        let file = try GGUFFile(path: quantize("Q4_K_M").url.path)
        let original = try GGUFFile(path: source.path)
        #expect(file.metadata.keys == original.metadata.keys + ["general.quantization_version", "general.file_type"])
        #expect(try file.metadata.int("general.file_type") == 15)
        #expect(file.quantizationName == "Q4_K_M")
        // Declared F32, or nothing: the type of most bytes.
        #expect(original.quantizationName == original.bytesByType[0].type.name)
        #expect(
            try file.metadata.byteStrings("tokenizer.ggml.tokens")
                == original.metadata.byteStrings("tokenizer.ggml.tokens"))
        #expect(file.tensors.map(\.name) == original.tensors.map(\.name))
        #expect(file.tensors.map(\.shape) == original.tensors.map(\.shape))
    }

    /// The formats of the value, down and output matrices of 32 layers, by the rules of llama.cpp.
    @Test func `mixtures follow the rules of llama cpp`() throws {
        var tiny = TinyModel()
        (tiny.width, tiny.feedForward, tiny.layers, tiny.heads, tiny.kvHeads, tiny.headWidth) = (256, 256, 32, 8, 2, 32)
        let file = try GGUFFile(path: tiny.write(in: directory, as: "deep.gguf").path)
        func types(_ mixture: String, _ part: String) throws -> [String] {
            let plan = try QuantizationPlan(
                file, #require(Mixture(named: mixture)), overrides: [], hasImportance: false)
            let named = zip(file.tensors, plan.types).filter { $0.0.name.hasSuffix(part) }
            return named.sorted { ($0.0.layer ?? 0) < ($1.0.layer ?? 0) }.map { $0.1.name }
        }
        let more = Set([0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31])
        let raised = (0..<32).map { more.contains($0) ? "Q6_K" : "Q4_K" }
        #expect(try types("Q4_K_M", "attn_v.weight") == raised)
        #expect(try types("Q4_K_M", "ffn_down.weight") == raised)
        #expect(try types("Q4_K_M", "attn_q.weight") == Array(repeating: "Q4_K", count: 32))
        #expect(try types("Q4_K_M", "token_embd.weight") == ["Q4_K"])
        // "output.weight" is also the end of other names.
        #expect(try types("Q4_K_M", "output.weight").filter { $0 == "Q6_K" }.count == 1)
        #expect(try types("Q4_K_S", "ffn_down.weight") == (0..<32).map { $0 < 4 ? "Q5_K" : "Q4_K" })
        #expect(try types("Q3_K_M", "attn_v.weight") == (0..<32).map { $0 < 2 ? "Q5_K" : "Q4_K" })
        #expect(try types("Q3_K_M", "ffn_down.weight") == (0..<32).map { $0 < 2 ? "Q5_K" : "Q4_K" })
        #expect(try types("Q3_K_M", "attn_output.weight") == Array(repeating: "Q4_K", count: 32))
        #expect(try types("Q2_K", "attn_v.weight") == Array(repeating: "Q4_K", count: 32))
        #expect(try types("Q2_K", "ffn_down.weight") == Array(repeating: "Q3_K", count: 32))
        #expect(try types("IQ4_XS", "attn_v.weight") == Array(repeating: "Q5_K", count: 32))
    }

    @Test func `overrides choose by name, and narrow rows get the next format`() throws {
        let result = try quantize("Q4_K_M", overrides: ["attn_(q|k)=Q8_0", "attn=Q5_0"])
        let file = try GGUFFile(path: result.url.path)
        #expect(file.tensorIfPresent("blk.1.attn_k.weight")?.type == .Q8_0)
        #expect(file.tensorIfPresent("blk.1.attn_v.weight")?.type == .Q5_0)
        #expect(file.tensorIfPresent("blk.1.ffn_up.weight")?.type == .Q4_K)
        #expect(result.summary.fallbacks.isEmpty)

        let narrow = try TinyModel().write(in: directory, as: "narrow.gguf")
        let summary = try Quantizer(modelAt: narrow.path, #require(Mixture(named: "Q4_K_M"))).summary
        #expect(summary.fallbacks.contains("blk.0.attn_q.weight"))
        #expect(summary.tensors["Q5_0"] ?? 0 > 0)
        #expect(summary.tensors["Q4_K"] == nil)
        #expect(TypeOverride("attn") == nil)
        #expect(TypeOverride("attn=Q9") == nil)
        #expect(TypeOverride("(=Q8_0") == nil)
    }

    @Test func `a value that is not finite, or too large, is refused by name and leaves no file`() throws {
        for (value, words) in [(Float.nan, "not a number"), (Float(1e30), "too large")] {
            var builder = tiny.builder()
            let index = try #require(builder.tensors.firstIndex { $0.name == "blk.1.ffn_up.weight" })
            withUnsafeBytes(of: value.bitPattern.littleEndian) {
                builder.tensors[index].data.replaceSubrange(400..<404, with: $0)
            }
            let broken = try directory.write(builder.bytes(), as: "broken.gguf")
            let target = directory.url.appending(path: "never.gguf").path
            let error = try #require(throws: ModelFileError.self) {
                try Quantizer(modelAt: broken, #require(Mixture(named: "Q4_0"))).write(to: target)
            }
            #expect(error.message.contains("blk.1.ffn_up.weight"))
            #expect(error.message.contains(words))
            #expect(!FileManager.default.fileExists(atPath: target))
            #expect(!FileManager.default.fileExists(atPath: target + ".part"))
        }
        #expect(throws: ModelFileError.self) {
            try Quantizer(modelAt: source.path, #require(Mixture(named: "Q4_0"))).write(to: source.path)
        }
    }

    @Test(arguments: [UInt64(Int.max), 1 << 25])
    func `a number of layers that no model has is refused by its key`(layers: UInt64) throws {
        var builder = tiny.builder()
        let index = try #require(builder.metadata.firstIndex { $0.key == "llama.block_count" })
        builder.metadata[index].value = .uint64(layers)
        let path = try directory.write(builder.bytes(), as: "deep.gguf")
        let error = #expect(throws: ModelFileError.self) {
            try Quantizer(modelAt: path, #require(Mixture(named: "Q4_K_M")))
        }
        #expect(error?.message.contains("llama.block_count") == true)
    }

    @Test(.timeLimit(.minutes(1))) func `a pattern made to be slow is matched in linear time`() throws {
        var builder = tiny.builder()
        let name = "blk.0.\(String(repeating: "a", count: 50)).weight"
        builder.tensors.append(.init(name, shape: [256, 2], [Float](repeating: 1, count: 512)))
        let path = try directory.write(builder.bytes(), as: "named.gguf")
        // Backtracking tries 2⁵⁰ ways to match the letters.
        let overrides = try ["(a|a)*!=Q8_0", "(a|a)*\\.=Q5_0"].map { try #require(TypeOverride($0)) }
        let quantizer = try Quantizer(modelAt: path, #require(Mixture(named: "Q4_0")), overrides: overrides)
        #expect(zip(quantizer.file.tensors, quantizer.plan.types).first { $0.0.name == name }?.1 == .Q5_0)
    }

    // MARK: Importance matrices

    private func legacy(_ entries: [(String, [Float])], calls: Int32 = 2, rest: [UInt8] = []) -> [UInt8] {
        var bytes = littleEndian(Int32(entries.count))
        for (name, values) in entries {
            bytes += littleEndian(Int32(name.utf8.count)) + Array(name.utf8) + littleEndian(calls)
            bytes += littleEndian(Int32(values.count)) + values.flatMap { littleEndian($0.bitPattern) }
        }
        return bytes + rest
    }

    private func littleEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    @Test func `both forms of an importance matrix say the same, and are used`() throws {
        let values = (0..<256).map { Float($0 % 7) }
        let old = try directory.write(legacy([("blk.0.ffn_up.weight", values)]), as: "old.dat")
        var builder = GGUFBuilder(["general.type": .string("imatrix"), "imatrix.chunk_count": .uint32(9)])
        builder.tensors = [
            .init("blk.0.ffn_up.weight.in_sum2", shape: [256, 1], values.map { 2 * $0 }),
            .init("blk.0.ffn_up.weight.counts", shape: [1, 1], [4]),
        ]
        let new = try directory.write(builder.bytes(), as: "new.gguf")
        let file = try GGUFFile(path: source.path)
        let tensor = try #require(file.tensorIfPresent("blk.0.ffn_up.weight"))
        let matrices = (try ImportanceMatrix(path: old), try ImportanceMatrix(path: new))
        #expect(try matrices.0.values(for: tensor) == values.map { $0 / 2 })
        #expect(try matrices.1.values(for: tensor) == values.map { $0 / 2 })
        #expect(try matrices.0.values(for: #require(file.tensorIfPresent("blk.1.ffn_up.weight"))) == nil)

        let plain = try GGUFFile(path: quantize("Q4_K_S").url.path)
        let weighted = try quantize("Q4_K_M", importance: matrices.1)
        let result = try GGUFFile(path: weighted.url.path)
        let (a, b) = (plain.tensorIfPresent("blk.0.ffn_up.weight"), result.tensorIfPresent("blk.0.ffn_up.weight"))
        #expect(try !#require(a).bytes.elementsEqual(#require(b).bytes))
        #expect(try result.metadata.int("quantize.imatrix.chunks_count") == 9)
        #expect(weighted.summary.withoutImportance.contains("blk.1.ffn_up.weight"))
    }

    /// The first matrices of a layer are multiplied by the normalized residual stream: its squares can be worked out here.
    @Test func `what a model is multiplied by becomes an importance matrix`() async throws {
        let model = try await LocalModel.load(from: source)
        let chunks: [[Int32]] = [[1, 30, 75, 200], [1, 9, 114, 60]]
        let path = directory.url.appending(path: "made.gguf").path
        try await model.writeImportance(of: chunks, dataset: "two", to: path) { _ in }
        let weights = tiny.weights()
        var expected = [Double](repeating: 0, count: tiny.width)
        for token in chunks.joined() {
            let row = weights["token_embd.weight"]![Int(token) * tiny.width..<(Int(token) + 1) * tiny.width]
            let mean = row.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(tiny.width)
            for (index, value) in row.enumerated() {
                let norm = Double(weights["blk.0.attn_norm.weight"]![index])
                expected[index] += pow(Double(value) * norm, 2) / (mean + 1e-5) / 8
            }
        }
        let file = try GGUFFile(path: source.path)
        let matrix = try ImportanceMatrix(path: path)
        #expect(matrix.chunks == 2)
        for part in ["attn_q", "attn_k", "attn_v"] {
            let tensor = try #require(file.tensorIfPresent("blk.0.\(part).weight"))
            let values = try #require(try matrix.values(for: tensor))
            #expect(normalizedMeanSquaredError(values, expected.map { Float($0) }) < 1e-6)
        }
        #expect(try matrix.values(for: #require(file.tensorIfPresent("output.weight"))) == nil)
        #expect(matrix.count == 14)
    }

    @Test func `a broken importance matrix is an error`() throws {
        let good = legacy([("a", [1, 2]), ("b", [3])])
        for count in 0..<good.count {
            let path = try directory.write(Array(good.prefix(count)), as: "cut.dat")
            #expect(throws: ModelFileError.self) { try ImportanceMatrix(path: path) }
        }
        for bytes in [
            legacy([("a", [.nan])]), legacy([("a", [-1])]), littleEndian(Int32(-1)), littleEndian(Int32.max),
            littleEndian(Int32(1)) + littleEndian(Int32(-5)), littleEndian(Int32(1)) + littleEndian(Int32.max),
        ] {
            let path = try directory.write(bytes, as: "bad.dat")
            #expect(throws: ModelFileError.self) { try ImportanceMatrix(path: path) }
        }
        let other = try directory.write(legacy([("blk.0.ffn_up.weight", [1, 2])]), as: "other.dat")
        #expect(throws: ModelFileError.self) { try quantize("Q4_K_M", importance: ImportanceMatrix(path: other)) }
    }
}
