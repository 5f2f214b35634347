import Foundation
import KernelFormats
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// The same text has the same probabilities, to the bit: alone, in a crowd, and whatever the cache holds.
@Suite struct InvarianceTests {
    private let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private static let formats = TensorType.allCases.filter {
        ![.I8, .I16, .I32, .I64, .F64, .Q8_1, .Q8_K].contains($0)
    }

    /// A model whose matrices are random weights of one format, but for embeddings and routers, which files leave as they are.
    ///
    /// - Parameter rank: Rank of an adapter of the matrices; 0: none.
    private func load(
        _ type: TensorType, experts: Int = 0, rank: Int = 0, tier: KernelTier? = nil
    ) async throws -> LocalModel {
        var model = TinyModel()
        (model.width, model.feedForward, model.layers, model.headWidth, model.context) = (256, 256, 1, 64, 128)
        (model.experts, model.usedExperts) = (experts, experts > 0 ? 2 : 0)
        var builder = model.builder()
        var adapter = GGUFBuilder([
            "general.architecture": .string("llama"), "general.type": .string("adapter"),
            "adapter.type": .string("lora"),
        ])
        for index in builder.tensors.indices {
            let tensor = builder.tensors[index]
            guard tensor.shape.count > 1, !tensor.name.contains("gate_inp"), !tensor.name.hasPrefix("token_embd") else {
                continue
            }
            let count = Int(tensor.shape.reduce(1, *))
            builder.tensors[index] = .init(
                tensor.name, type: type.rawValue, shape: tensor.shape, data: Self.weights(type, count, seed: index))
            for (place, name) in ["lora_a", "lora_b"].enumerated() {
                var shape = tensor.shape
                shape[1 - place] = UInt64(rank)
                adapter.tensors.append(
                    .init(
                        "\(tensor.name).\(name)", type: TensorType.F32.rawValue, shape: shape,
                        data: Self.weights(.F32, Int(shape.reduce(1, *)), seed: 2 * index + place)))
            }
        }
        let url = URL(filePath: try directory.write(builder.bytes(), as: "\(UUID()).gguf"))
        var configuration = LocalModel.Configuration(threads: 2, tier: tier)
        if rank > 0 {
            configuration.adapters = [
                .init(url: URL(filePath: try directory.write(adapter.bytes(), as: "\(UUID()).gguf")))
            ]
        }
        return try await LocalModel.load(from: url, configuration: configuration)
    }

    /// Random bits, with scales that are finite and small.
    private static func weights(_ type: TensorType, _ count: Int, seed: Int) -> [UInt8] {
        var generator = SeededGenerator(seed: UInt64(seed))
        func halves(at offsets: [Int]) -> [UInt8] {
            var bytes = SeededGenerator.bytes(count / type.blockValues * type.blockBytes, seed: UInt64(seed))
            for block in stride(from: 0, to: bytes.count, by: type.blockBytes) {
                // The high byte of a half between 0.004 and 0.008.
                for offset in offsets { bytes[block + offset + 1] = 0x1c }
            }
            return bytes
        }
        switch type {
        case .F32:
            return (0..<count).flatMap { _ in
                let bits = Float.random(in: -0.1...0.1, using: &generator).bitPattern
                return (0..<4).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) }
            }
        case .F16, .BF16:
            return (0..<count).flatMap { _ in
                let value = Float.random(in: -0.1...0.1, using: &generator)
                let bits = type == .F16 ? Float16(value).bitPattern : UInt16(value.bitPattern >> 16)
                return [UInt8(truncatingIfNeeded: bits), UInt8(bits >> 8)]
            }
        case .Q4_1, .Q5_1, .Q4_K, .Q5_K: return halves(at: [0, 2])
        case .Q2_K: return halves(at: [80, 82])
        case .Q3_K: return halves(at: [108])
        case .Q6_K: return halves(at: [208])
        case .TQ1_0: return halves(at: [52])
        case .TQ2_0: return halves(at: [64])
        case .IQ1_M:
            var bytes = halves(at: [])
            // The half's four nibbles are the high ones of four words.
            for block in stride(from: 0, to: bytes.count, by: type.blockBytes) {
                for (word, nibble) in [0x0, 0x0, 0xc, 0x1].enumerated() {
                    bytes[block + 49 + 2 * word] = bytes[block + 49 + 2 * word] & 15 | UInt8(nibble) << 4
                }
            }
            return bytes
        case .MXFP4:
            var bytes = halves(at: [])
            for block in stride(from: 0, to: bytes.count, by: type.blockBytes) { bytes[block] = 120 }
            return bytes
        case .NVFP4:
            var bytes = halves(at: [])
            for block in stride(from: 0, to: bytes.count, by: type.blockBytes) {
                for offset in 0..<4 { bytes[block + offset] = 0x10 | bytes[block + offset] & 7 }
            }
            return bytes
        default: return halves(at: [0])
        }
    }

    private static let prompts: [[Int32]] = (0..<16).map { number in
        (0..<24 + 4 * number).map { index -> Int32 in
            let mixed: Int = index * 31 + index * index * 7 + number * 53
            return Int32(mixed % 256 + 3)
        }
    }

    private func answer(_ model: LocalModel, to prompt: [Int32]) async throws -> [TokenLogprob] {
        let options = SamplingOptions(
            temperature: 0, logitBias: [TinyModel.endOfSequence: -1e6], maximumTokens: 6, topLogprobs: 5)
        var logprobs: [TokenLogprob] = []
        for try await piece in model.generate(tokens: prompt, options: options) { logprobs += piece.logprobs }
        return logprobs
    }

    private func expectInvariance(
        _ type: TensorType, experts: Int = 0, rank: Int = 0, tier: KernelTier? = nil
    ) async throws {
        let first = try await load(type, experts: experts, rank: rank, tier: tier)
        let second = try await load(type, experts: experts, rank: rank, tier: tier)
        var alone: [[TokenLogprob]] = []
        for prompt in Self.prompts { alone.append(try await answer(first, to: prompt)) }
        #expect(alone.allSatisfy { $0.count == 6 })

        let crowd = try await withThrowingTaskGroup(of: (Int, [TokenLogprob]).self) { group in
            for (index, prompt) in Self.prompts.enumerated() {
                group.addTask { (index, try await answer(second, to: prompt)) }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for index in Self.prompts.indices { #expect(crowd[index] == alone[index], "\(type), prompt \(index)") }

        for index in [3, 9, 15] {
            let again = try await answer(first, to: Self.prompts[index])
            #expect(again == alone[index], "\(type), prompt \(index) from the cache")
        }

        let tokens = Self.prompts[15]
        let whole = try await first.logits(of: tokens)
        for chunk in [2, 3, 8, 31] {
            #expect(try await first.logits(of: tokens, chunk: chunk) == whole, "\(type), steps of \(chunk)")
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: formats)
    func `a text's probabilities do not depend on who else asks, or what was asked`(type: TensorType) async throws {
        try await expectInvariance(type)
    }

    @Test(.timeLimit(.minutes(5)), arguments: [TensorType.F16, .Q4_0, .Q4_K, .IQ3_S])
    func `nor do they in a mixture of experts`(type: TensorType) async throws {
        try await expectInvariance(type, experts: 8)
    }

    /// A rank that is no multiple of what kernels compute at once.
    @Test(.timeLimit(.minutes(5)), arguments: [TensorType.F32, .F16, .Q4_0, .Q4_K], [0, 4])
    func `nor with an adapter`(type: TensorType, experts: Int) async throws {
        try await expectInvariance(type, experts: experts, rank: 7)
    }

    @Test(.timeLimit(.minutes(5)), arguments: KernelTier.available)
    func `nor on any tier`(tier: KernelTier) async throws {
        try await expectInvariance(.BF16, tier: tier)
    }
}
