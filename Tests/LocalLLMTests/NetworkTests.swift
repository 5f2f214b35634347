import Foundation
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// The engine's logits against a plain network in double precision. Keys and values are halves in the engine, which is
/// where most of the remaining error comes from.
@Suite struct NetworkTests {
    private let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private let tokens: [Int32] = (0..<75).map { Int32(($0 * 37 + 11) % 259) }

    private func error(
        of model: TinyModel, turnsAdjacent: Bool, frequencyFactor: Double = 1, chunk: Int, tier: KernelTier? = nil
    ) async throws -> Double {
        let loaded = try await LocalModel.load(
            from: try model.write(in: directory), configuration: .init(threads: 2, tier: tier))
        let naive = NaiveNetwork(model, turnsAdjacent: turnsAdjacent, frequencyFactor: frequencyFactor)
        return normalizedMeanSquaredError(
            try await loaded.logits(of: tokens, chunk: chunk), naive.logits(tokens))
    }

    private static let tolerance = 1e-6

    @Test(arguments: KernelTier.available, [75, 31, 8, 3, 1])
    func `Llama, whatever the step's size`(tier: KernelTier, chunk: Int) async throws {
        #expect(try await error(of: TinyModel(), turnsAdjacent: true, chunk: chunk, tier: tier) < Self.tolerance)
    }

    @Test(arguments: [75, 1])
    func `Qwen2 with biases, Qwen3 with head norms, both turning halves`(chunk: Int) async throws {
        var qwen2 = TinyModel()
        qwen2.architecture = "qwen2"
        qwen2.hasBias = true
        #expect(try await error(of: qwen2, turnsAdjacent: false, chunk: chunk) < Self.tolerance)
        var qwen3 = TinyModel()
        qwen3.architecture = "qwen3"
        qwen3.hasHeadNorm = true
        qwen3.isTied = true
        #expect(try await error(of: qwen3, turnsAdjacent: false, chunk: chunk) < Self.tolerance)
    }

    @Test(arguments: [75, 20, 1])
    func `a sliding window hides what is older`(chunk: Int) async throws {
        var model = TinyModel()
        model.slidingWindow = 33
        #expect(try await error(of: model, turnsAdjacent: true, chunk: chunk) < Self.tolerance)
    }

    @Test func `widths that are no multiple of a register`() async throws {
        var model = TinyModel()
        model.width = 52
        model.feedForward = 77
        model.heads = 3
        model.kvHeads = 1
        model.headWidth = 10
        for chunk in [75, 7, 1] {
            #expect(try await error(of: model, turnsAdjacent: true, chunk: chunk) < Self.tolerance)
        }
    }

    @Test func `linear scaling of positions is read from the file`() async throws {
        var model = TinyModel()
        model.extra = [("llama.rope.scaling.type", .string("linear")), ("llama.rope.scaling.factor", .float32(4))]
        #expect(try await error(of: model, turnsAdjacent: true, frequencyFactor: 0.25, chunk: 75) < Self.tolerance)
    }

    @Test(arguments: [75, 20, 1])
    func `StarCoder 2 with LayerNorm, GELU and biases everywhere`(chunk: Int) async throws {
        var model = TinyModel()
        model.architecture = "starcoder2"
        (model.hasBias, model.isStarCoder) = (true, true)
        #expect(try await error(of: model, turnsAdjacent: false, chunk: chunk) < Self.tolerance)
    }
}
