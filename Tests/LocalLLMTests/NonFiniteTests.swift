import Foundation
import KernelFormats
import KernelsPortable
import TestSupport
import Testing

@testable import Engine
@testable import LocalLLM

@Suite struct NonFiniteTests {
    private let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private func load(_ builder: GGUFBuilder) async throws -> LocalModel {
        try await LocalModel.load(
            from: URL(filePath: try directory.write(builder.bytes(), as: "model.gguf")),
            configuration: .init(threads: 2))
    }

    @Test(arguments: [([0x00, 0x7c] as [UInt8]), [0x00, 0xfc], [0x01, 0x7e]])
    func `a scale that is infinite or not a number is refused with its tensor and block`(half: [UInt8]) async throws {
        var model = TinyModel()
        model.isQuantized = true
        var builder = model.builder()
        let index = builder.tensors.firstIndex { $0.name == "blk.1.ffn_up.weight" }!
        builder.tensors[index].data.replaceSubrange(18 * 7..<18 * 7 + 2, with: half)
        let error = await #expect(throws: ModelFileError.self) { try await load(builder) }
        #expect(error?.reason == .badTensor)
        #expect(error?.message.hasPrefix("Tensor 'blk.1.ffn_up.weight' (Q4_0): the scale of block 7 of ") == true)
    }

    @Test(arguments: ["blk.0.attn_norm.weight", "token_embd.weight", "blk.1.attn_q.weight"])
    func `a weight that is no number is refused with its tensor`(name: String) async throws {
        var builder = TinyModel().builder()
        let index = builder.tensors.firstIndex { $0.name == name }!
        builder.tensors[index].data.replaceSubrange(12..<16, with: [0, 0, 0xc0, 0x7f])
        let error = await #expect(throws: ModelFileError.self) { try await load(builder) }
        #expect(error?.message.hasPrefix("Tensor '\(name)' (F32): value 3 is infinite or not a number") == true)
    }

    /// A model whose weights are finite but whose logits are not.
    private func overflowing() async throws -> LocalModel {
        var builder = TinyModel().builder()
        let index = builder.tensors.firstIndex { $0.name == "output.weight" }!
        builder.tensors[index] = .init(
            "output.weight", shape: [64, TinyModel.vocabularySize],
            Array(repeating: 3e38, count: 64 * TinyModel.vocabularySize))
        return try await load(builder)
    }

    private let prompt: [Int32] = "hello".utf8.map { TinyModel.token($0) }

    @Test(arguments: [0, 0.8])
    func `logits that overflow end that generation, naming the model`(temperature: Double) async throws {
        let model = try await overflowing()
        for _ in 0..<2 {
            await #expect(throws: LocalModelError.resultNotFinite(model: "tiny", input: nil)) {
                let options = SamplingOptions(temperature: temperature, topP: 0.5, minP: 0.1, topLogprobs: 2)
                for try await _ in model.generate(tokens: prompt, options: options) {}
            }
        }
        await #expect(throws: LocalModelError.resultNotFinite(model: "tiny", input: nil)) {
            try await model.logprobs(of: prompt, top: 1)
        }
    }

    @Test func `bias and penalties of huge logits stay finite`() {
        var sampler = Sampler(
            chain: .init(temperature: 1, topP: 0.9, minP: 1, typicalP: 0.9, repetitionPenalty: 0.01),
            options: .init(frequencyPenalty: 100, logitBias: [1: 1e6], seed: 7), prompt: [0, 1, 2, 3])
        let logits: [Float] = [3e38, 3e38, -3e38, 0]
        for _ in 0..<20 { #expect((0..<4).contains(logits.withUnsafeBufferPointer { sampler.next($0) })) }
    }

    @Test(arguments: TensorType.allCases)
    func `the first block with a scale that is not finite is found`(type: TensorType) throws {
        let count = 70
        let block = type.blockBytes
        var bytes = [UInt8](repeating: 0, count: count * block)
        let find = { (bytes: [UInt8]) in
            bytes.withUnsafeBytes { firstNonFiniteBlock(type, $0.baseAddress!, count: count) }
        }
        #expect(find(bytes) == nil)
        // What the bytes of a block of ones mean: a value that is not finite, where the format has such.
        for index in 33 * block..<34 * block { bytes[index] = 0xff }
        var values = [Float](repeating: 0, count: count * type.blockValues)
        guard dequantizes(type) else { return }
        bytes.withUnsafeBytes { bytes in
            values.withUnsafeMutableBufferPointer {
                dequantize(type, bytes.baseAddress!, into: $0.baseAddress!, count: $0.count)
            }
        }
        let first = values.firstIndex { !$0.isFinite }.map { $0 / type.blockValues }
        #expect(find(bytes) == first)
    }

    private func dequantizes(_ type: TensorType) -> Bool {
        ![.I8, .I16, .I32, .I64, .F64, .Q8_1, .Q8_K].contains(type)
    }
}
