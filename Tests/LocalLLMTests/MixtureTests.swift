@testable import Networks
import Foundation
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// Mixtures of experts against the plain network in double precision.
@Suite struct MixtureTests {
    private let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private let tokens: [Int32] = (0..<75).map { Int32(($0 * 37 + 11) % 259) }
    private static let tolerance = 1e-6

    private func load(_ builder: GGUFBuilder, tier: KernelTier? = nil) async throws -> LocalModel {
        let url = URL(filePath: try directory.write(builder.bytes(), as: "mixture.gguf"))
        return try await LocalModel.load(from: url, configuration: .init(threads: 2, tier: tier))
    }

    private static func mixture(_ architecture: String = "llama", used: Int = 2) -> TinyModel {
        var model = TinyModel()
        model.architecture = architecture
        model.experts = 16
        model.usedExperts = used
        return model
    }

    private func expectEqual(
        _ model: TinyModel, _ naive: NaiveNetwork, chunk: Int, tier: KernelTier? = nil,
        within tolerance: Double = tolerance, location: SourceLocation = #_sourceLocation
    ) async throws {
        let logits = try await load(model.builder(), tier: tier).logits(of: tokens, chunk: chunk)
        let error = normalizedMeanSquaredError(logits, naive.logits(tokens))
        #expect(error < tolerance, sourceLocation: location)
    }

    @Test(arguments: KernelTier.available, [75, 31, 3, 1])
    func `Mixtral, whatever the step's size`(tier: KernelTier, chunk: Int) async throws {
        let model = Self.mixture()
        try await expectEqual(model, NaiveNetwork(model, turnsAdjacent: true), chunk: chunk, tier: tier)
    }

    @Test(arguments: [75, 1])
    func `more rows of experts than are computed at once`(chunk: Int) async throws {
        let model = Self.mixture(used: 12)
        try await expectEqual(model, NaiveNetwork(model, turnsAdjacent: true), chunk: chunk)
    }

    @Test(arguments: [75, 5, 1])
    func `Qwen2's shared expert with a gate, and weights that do not sum to 1`(chunk: Int) async throws {
        var model = Self.mixture("qwen2moe", used: 4)
        model.hasBias = true
        model.sharedFeedForward = 48
        var naive = NaiveNetwork(model, turnsAdjacent: false)
        naive.expertWeightsSumToOne = false
        try await expectEqual(model, naive, chunk: chunk)
    }

    @Test(arguments: [75, 1])
    func `Qwen3 with head norms, OLMoE with norms of all heads`(chunk: Int) async throws {
        var qwen3 = Self.mixture("qwen3moe", used: 4)
        qwen3.hasHeadNorm = true
        qwen3.isTied = true
        try await expectEqual(qwen3, NaiveNetwork(qwen3, turnsAdjacent: false), chunk: chunk)
        var olmoe = Self.mixture("olmoe", used: 4)
        olmoe.hasAllHeadsNorm = true
        var naive = NaiveNetwork(olmoe, turnsAdjacent: false)
        naive.expertWeightsSumToOne = false
        try await expectEqual(olmoe, naive, chunk: chunk)
    }

    @Test(arguments: [75, 5, 1])
    func `the text part of DeepSeek-OCR: weights that sum to 1 where the file says so, and no window`(
        chunk: Int
    ) async throws {
        for sums in [false, true] {
            var model = Self.mixture("deepseek2-ocr", used: 4)
            var naive = NaiveNetwork(model, turnsAdjacent: false)
            naive.expertWeightsSumToOne = sums
            model.slidingWindow = 16
            model.extra = [("deepseek2-ocr.expert_weights_norm", .bool(sums))]
            try await expectEqual(model, naive, chunk: chunk)
        }
    }

    @Test func `a scale of the experts' weights is read from the file`() async throws {
        var model = Self.mixture()
        model.extra = [("llama.expert_weights_scale", .float32(0.5))]
        var naive = NaiveNetwork(model, turnsAdjacent: true)
        naive.expertScale = 0.5
        try await expectEqual(model, naive, chunk: 75)
    }

    /// Answers are rounded to 14 bits or more, prompts to 8 in the MLP; a token that is sent elsewhere would cost far more.
    @Test(arguments: [(1, 1e-6), (75, 1e-3)])
    func `quantized experts, repacked where there are kernels for it`(chunk: Int, tolerance: Double) async throws {
        var model = Self.mixture("qwen2moe", used: 4)
        model.sharedFeedForward = 32
        model.isQuantized = true
        var naive = NaiveNetwork(model, turnsAdjacent: false)
        naive.expertWeightsSumToOne = false
        try await expectEqual(model, naive, chunk: chunk, within: tolerance)
    }

    @Test func `experts in tensors of their own, as files once had them`() async throws {
        let model = Self.mixture()
        var builder = model.builder()
        builder.tensors = builder.tensors.flatMap { tensor -> [GGUFBuilder.Tensor] in
            guard tensor.name.contains("_exps") else { return [tensor] }
            let bytes = tensor.data.count / model.experts
            return (0..<model.experts).map { expert in
                .init(
                    tensor.name.replacing("_exps", with: ".\(expert)"), type: tensor.type,
                    shape: Array(tensor.shape.prefix(2)),
                    data: Array(tensor.data[expert * bytes..<(expert + 1) * bytes]))
            }
        }
        let logits = try await load(builder).logits(of: tokens)
        let expected = NaiveNetwork(model, turnsAdjacent: true).logits(tokens)
        #expect(normalizedMeanSquaredError(logits, expected) < Self.tolerance)
    }

    @Test(arguments: [false, true])
    func `a sequence's logits do not depend on what else is in the step`(quantized: Bool) async throws {
        var model = Self.mixture(used: 3)
        model.isQuantized = quantized
        let loaded = try await load(model.builder())
        let (answer, prompt) = (Array(tokens[0..<21]), Array(tokens[30..<75]))
        let together = try await loaded.thread.perform { network, compute -> [[Float]] in
            // All but the last token first, so that the step has the last one of an answer and a whole prompt.
            let state = network.makeState()
            var step = Step()
            step.append(answer.dropLast(), to: state, output: .none)
            _ = network.forward(step, on: compute)
            step = Step()
            step.append(answer.suffix(1), to: state, output: .last, isAnswer: true)
            step.append(prompt[...], to: network.makeState(), output: .last)
            let logits = network.forward(step, on: compute)
            return (0..<2).map { Array(UnsafeBufferPointer(start: logits[$0], count: logits.columns)) }
        }
        let alone = try await loaded.thread.perform { network, compute -> [[Float]] in
            let state = network.makeState()
            func run(_ tokens: ArraySlice<Int32>, _ state: SequenceState, isAnswer: Bool) -> [Float] {
                var step = Step()
                step.append(tokens, to: state, output: .last, isAnswer: isAnswer)
                let logits = network.forward(step, on: compute)
                return Array(UnsafeBufferPointer(start: logits[0], count: logits.columns))
            }
            _ = run(answer.dropLast(), state, isAnswer: false)
            return [
                run(answer.suffix(1), state, isAnswer: true),
                run(prompt[...], network.makeState(), isAnswer: false),
            ]
        }
        // The order of sums and, without kernels for the format, the rounding differ between few rows and many.
        for (a, b) in zip(together, alone) { #expect(normalizedMeanSquaredError(a, b) < 1e-7) }
    }

    // MARK: Files that do not fit

    private func error(_ change: (inout GGUFBuilder) -> Void) async throws -> ModelFileError? {
        var builder = Self.mixture().builder()
        change(&builder)
        return await #expect(throws: ModelFileError.self) { try await load(builder) }
    }

    @Test func `what does not fit is named with what was expected and found`() async throws {
        func replacing(_ key: String, _ value: GGUFBuilder.Value) -> (inout GGUFBuilder) -> Void {
            { builder in
                builder.metadata.removeAll { $0.key == key }
                builder.metadata.append((key, value))
            }
        }
        var error = try await error(replacing("llama.expert_used_count", .uint32(17)))
        #expect(error?.reason == .badMetadata)
        #expect(
            error?.message
                == "The metadata key 'llama.expert_used_count' must be 1...16 (expert_count), but is 17."
        )
        error = try await self.error(replacing("llama.expert_used_count", .uint32(0)))
        #expect(
            error?.message
                == "The metadata key 'llama.expert_used_count' must be 1...16 (expert_count), but is 0.")
        error = try await self.error { $0.metadata.removeAll { $0.key == "llama.expert_used_count" } }
        #expect(error?.reason == .missingMetadata)
        error = try await self.error(replacing("llama.expert_count", .uint32(12)))
        #expect(
            error?.message
                == "Tensor 'blk.0.ffn_gate_inp.weight' must have the shape [64, 12], but has [64, 16].")
        error = try await self.error { $0.tensors.removeAll { $0.name == "blk.1.ffn_up_exps.weight" } }
        #expect(error?.reason == .missingTensor)
        #expect(error?.message == "Tensor 'blk.1.ffn_up_exps.weight' of shape [64, 96, 16] is missing.")
        error = try await self.error(replacing("llama.expert_feed_forward_length", .uint32(32)))
        #expect(
            error?.message
                == "Tensor 'blk.0.ffn_gate_exps.weight' must have the shape [64, 32, 16], but has [64, 96, 16].")
        error = try await self.error(replacing("llama.expert_weights_scale", .float32(.nan)))
        #expect(error?.reason == .badMetadata)
    }

    @Test func `hyperparameters of any value are refused or work, and never trap`() async throws {
        let values: [GGUFBuilder.Value] = [
            .uint32(0), .uint32(1), .uint32(3), .uint32(16), .uint32(1 << 28), .uint64(.max), .int32(-1),
            .float32(.infinity), .string("x"),
        ]
        let base = Self.mixture().builder()
        let keys = base.metadata.map(\.key).filter { $0.contains("expert") } + ["llama.expert_weights_scale"]
        for key in keys {
            for value in values {
                var builder = base
                builder.metadata.removeAll { $0.key == key }
                builder.metadata.append((key, value))
                guard let model = try? await load(builder) else { continue }
                _ = try await model.logits(of: [5, 6, 7])
            }
        }
    }
}

/// Which expert gets which row.
@Suite struct RoutingTests {
    /// Routes rows, and how much of each expert each row then gets.
    private func route(
        _ rows: [[Float]], used: Int, normalizes: Bool = true
    ) -> (routing: Routing, weights: [[Float]]) {
        let (compute, work) = (Compute(kernels: .portable, threads: 1), Workspace())
        let (count, experts) = (rows.count, rows[0].count)
        let routing = Routing(count: experts, used: used, normalizes: normalizes, scale: 1)
        return withExtendedLifetime(work) {
            let logits = work[.routerLogits, count, experts]
            let result = work[.residual, count, experts]
            for row in 0..<count {
                logits[row].update(from: rows[row], count: experts)
                result[row].update(repeating: 0, count: experts)
            }
            routing.route(logits, on: compute)
            routing.forEachPass(limit: 1) { pass in
                // Expert e's output is 1 in column e.
                let outputs = work[.gathered, pass.places.count, experts]
                outputs.base.update(repeating: 0, count: pass.places.count * experts)
                for expert in routing.experts(of: pass) {
                    for place in routing.places(of: expert) { outputs[place - pass.places.lowerBound][expert] = 1 }
                }
                routing.add(outputs, of: pass, to: result, on: compute)
            }
            return (routing, (0..<count).map { Array(UnsafeBufferPointer(start: result[$0], count: experts)) })
        }
    }

    private func expect(
        _ found: [Float], _ expected: [Float], location: SourceLocation = #_sourceLocation
    ) {
        #expect(zip(found, expected).allSatisfy { abs($0 - $1) < 1e-6 }, "\(found)", sourceLocation: location)
    }

    @Test func `the largest logits win, of equals the first`() {
        expect(route([[0, 0, 0, 0]], used: 2).weights[0], [0.5, 0.5, 0, 0])
        expect(route([[0, 3, 5, 3]], used: 2).weights[0], [0, 1 / (1 + exp(2)), 1 / (1 + exp(-2)), 0])
        expect(route([[1, 1, 2, 2]], used: 2).weights[0], [0, 0, 0.5, 0.5])
        expect(
            route([[1, 2, 3, 4]], used: 4, normalizes: false).weights[0], route([[1, 2, 3, 4]], used: 4).weights[0])
    }

    @Test func `without normalization, weights are the softmax of all`() {
        let sum = exp(Float(1)) + exp(2) + exp(3) + exp(4)
        expect(
            route([[1, 2, 3, 4]], used: 2, normalizes: false).weights[0], [0, 0, exp(Float(3)) / sum, exp(4) / sum])
    }

    @Test func `an expert's rows are ascending, and those before a row can be counted`() {
        let (routing, _) = route([[1, 0], [0, 1], [1, 0], [1, 0]], used: 1)
        #expect(routing.places(of: 0).map(routing.row) == [0, 2, 3])
        #expect(routing.places(of: 1).map(routing.row) == [1])
        #expect(routing.rows(of: 0, before: 3) == 2)
        #expect(routing.rows(of: 1, before: 1) == 0)
        #expect(routing.rows(of: 0, before: .max) == 3)
    }

    @Test func `passes have each expert with rows once, and no more places than asked for`() {
        let rows = (0..<40).map { row in (0..<8).map { Float(($0 * 5 + row * 3) % 7) } }
        let (routing, _) = route(rows, used: 3)
        var passes: [(places: Range<Int>, experts: [Int])] = []
        routing.forEachPass(limit: 50) { passes.append(($0.places, Array(routing.experts(of: $0)))) }
        #expect(passes.flatMap(\.experts) == (0..<8).filter { !routing.places(of: $0).isEmpty })
        #expect(passes.allSatisfy { $0.places.count <= 50 || $0.experts.count == 1 })
        #expect(passes.reduce(0) { $0 + $1.places.count } == 120)
        #expect(passes.count < 8)
    }

    @Test func `an expert without rows is in no pass, and one with more than the limit alone in its own`() {
        // All rows go to expert 2; the others have none.
        let (routing, _) = route(Array(repeating: [0, 0, 1, 0], count: 9), used: 1)
        var passes: [(places: Range<Int>, experts: [Int])] = []
        routing.forEachPass(limit: 4) { passes.append(($0.places, Array(routing.experts(of: $0)))) }
        #expect(passes.map(\.places) == [0..<9])
        #expect(passes.map(\.experts) == [[2]])
    }

    @Test func `logits that are no numbers still choose different experts`() {
        for value in [Float.nan, .infinity, -.infinity] {
            let (routing, _) = route([[0, value, 1, value], [value, value, value, value]], used: 3)
            #expect((0..<4).reduce(0) { $0 + routing.places(of: $1).count } == 6)
            for expert in 0..<4 {
                #expect(Set(routing.places(of: expert).map(routing.row)).count == routing.places(of: expert).count)
            }
        }
    }
}
