@testable import Networks
import Foundation
import TestSupport
import Testing

@testable import LocalLLM

/// Granite Switch against networks whose weights have the adapters merged into them.
@Suite struct GraniteSwitchTests {
    private let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private static let (adapters, rank) = (2, 3)
    /// Tokens that turn the adapters on, and those that they are read as.
    private static let (switches, substitutes): ([Int32], [Int32]) = ([250, 251], [77, 78])

    private static let model: TinyModel = {
        var model = TinyModel()
        model.architecture = "graniteswitch"
        model.extra = [
            ("graniteswitch.adapters.count", .uint32(UInt32(adapters))),
            ("graniteswitch.adapters.lora_rank", .uint32(UInt32(rank))),
            ("graniteswitch.adapters.token_ids_activate", .int32s(switches)),
            ("graniteswitch.adapters.token_ids_substitute", .int32s(substitutes)),
        ]
        return model
    }()

    private static let matrices: [(name: String, from: Int, to: Int)] = [
        ("attn_q", model.width, model.heads * model.headWidth),
        ("attn_k", model.width, model.kvHeads * model.headWidth),
        ("attn_v", model.width, model.kvHeads * model.headWidth),
        ("attn_output", model.heads * model.headWidth, model.width), ("ffn_gate", model.width, model.feedForward),
        ("ffn_up", model.width, model.feedForward), ("ffn_down", model.feedForward, model.width),
    ]

    /// By the name of the matrix: A `[slots][rank][from]` and B `[slots][to][rank]`; the first slot is zero.
    private static let updates: [String: (a: [Float], b: [Float])] = {
        var generator = SeededGenerator(seed: 5)
        func random(_ count: Int) -> [Float] {
            Array(repeating: 0, count: count)
                + (0..<adapters * count).map { _ in 0.3 * Float.random(in: -1...1, using: &generator) }
        }
        var result: [String: (a: [Float], b: [Float])] = [:]
        for layer in 0..<model.layers {
            for matrix in matrices {
                result["blk.\(layer).\(matrix.name)"] = (random(rank * matrix.from), random(rank * matrix.to))
            }
        }
        return result
    }()

    private func url(_ change: (inout GGUFBuilder) -> Void = { _ in }) throws -> URL {
        var builder = Self.model.builder()
        let weights = Self.model.weights()
        for layer in 0..<Self.model.layers {
            let (name, parts) = ("blk.\(layer).", ["attn_q", "attn_k", "attn_v"])
            builder.tensors.removeAll { tensor in parts.contains { tensor.name == "\(name)\($0).weight" } }
            let fused = parts.flatMap { weights["\(name)\($0).weight"]! }
            builder.tensors.append(
                .init(name + "attn_qkv.weight", shape: [Self.model.width, fused.count / Self.model.width], fused))
            for matrix in Self.matrices {
                let update = Self.updates[name + matrix.name]!
                builder.tensors.append(
                    .init("\(name)\(matrix.name).lora_a", shape: [matrix.from, Self.rank, Self.adapters + 1], update.a))
                builder.tensors.append(
                    .init("\(name)\(matrix.name).lora_b", shape: [Self.rank, matrix.to, Self.adapters + 1], update.b))
            }
        }
        change(&builder)
        return URL(filePath: try directory.write(builder.bytes(), as: "switch.gguf"))
    }

    /// The network with an adapter's products in its matrices; 0: with none.
    private func merged(_ slot: Int) -> NaiveNetwork {
        var network = NaiveNetwork(Self.model, turnsAdjacent: true)
        for layer in 0..<Self.model.layers {
            for matrix in Self.matrices {
                let name = "blk.\(layer).\(matrix.name)"
                let update = Self.updates[name]!
                for row in 0..<matrix.to {
                    for column in 0..<matrix.from {
                        for k in 0..<Self.rank {
                            let a = update.a[(slot * Self.rank + k) * matrix.from + column]
                            let b = update.b[(slot * matrix.to + row) * Self.rank + k]
                            network.weights[name + ".weight"]![row * matrix.from + column] += Double(a) * Double(b)
                        }
                    }
                }
            }
        }
        return network
    }

    /// - Parameter slots: The adapter of each token.
    private func expected(_ tokens: [Int32], slots: [Int]) -> [Float] {
        let networks = (0...Self.adapters).map(merged)
        var history = networks[0].emptyHistory
        return zip(tokens, slots).enumerated().flatMap { position, pair in
            let network = networks[pair.1]
            let token = Self.switches.firstIndex(of: pair.0).map { Self.substitutes[$0] } ?? pair.0
            var x = network.embedding(token)
            for layer in history.indices { x = network.forward(x, layer, position, &history[layer]) }
            return network.logits(of: network.norm(x, "output_norm"))
        }
    }

    @Test(arguments: [60, 7, 1]) func `a token turns an adapter on, for itself and what follows`(
        chunk: Int
    ) async throws {
        let model = try await LocalModel.load(from: url(), configuration: .init(threads: 2))
        var tokens: [Int32] = (0..<60).map { Int32(($0 * 37 + 11) % 200) }
        for (number, token) in Self.switches.enumerated() {
            tokens[23] = token
            let slots = (0..<60).map { $0 < 23 ? 0 : number + 1 }
            let logits = try await model.logits(of: tokens, chunk: chunk)
            #expect(normalizedMeanSquaredError(logits, expected(tokens, slots: slots)) < 1e-6)
        }
    }

    @Test func `the memory estimate counts the adapters as the network holds them`() throws {
        let file = try GGUFFile(path: url().path)
        let network = try #require(try Registry.network(for: file) as? SwitchedNetwork)
        let floats = network.adapters.flatMap(\.updates.values).reduce(0) { $0 + $1.a.count + $1.b.count }
        #expect(network.bytesBesideFile == 4 * floats)
        let weights = file.tensors.reduce(0) { $0 + $1.byteCount }
        let estimate = try MemoryNeeds(file, .init()).estimate(available: 1 << 30)
        #expect(estimate.weights >= weights + network.bytesBesideFile)
    }

    @Test func `a second turn remembers which adapter is on`() async throws {
        let model = try await LocalModel.load(from: url(), configuration: .init(threads: 2))
        let fresh = try await LocalModel.load(from: url(), configuration: .init(threads: 2))
        var prompt: [Int32] = (0..<80).map { Int32(($0 * 37 + 11) % 200) }
        prompt[5] = Self.switches[1]
        func answer(_ model: LocalModel, _ prompt: [Int32]) async throws -> (tokens: [Int32], cached: Int) {
            var (tokens, cached): ([Int32], Int) = ([], 0)
            let options = SamplingOptions(temperature: 0, maximumTokens: 6)
            for try await piece in model.generate(tokens: prompt, options: options) {
                tokens += piece.tokens
                if let usage = piece.finish?.usage { cached = usage.cachedTokens }
            }
            return (tokens, cached)
        }
        _ = try await answer(model, prompt)
        let turn = prompt + [40, 41, 42]
        let second = try await answer(model, turn)
        #expect(second.cached >= 32)
        #expect(try await answer(fresh, turn).tokens == second.tokens)
    }

    @Test func `adapters that do not fit what the file says are refused by name`() async throws {
        let cases: [(key: String, GGUFBuilder.Value)] = [
            ("adapters.count", .uint32(3)), ("adapters.lora_rank", .uint32(4)), ("adapters.router_gain", .float32(1)),
            ("adapters.token_ids_substitute", .int32s([77, 259])),
        ]
        for (key, value) in cases {
            let url = try url { builder in
                builder.metadata.removeAll { $0.key == "graniteswitch.\(key)" }
                builder.metadata.append(("graniteswitch.\(key)", value))
            }
            await #expect(Comment(rawValue: key)) {
                _ = try await LocalModel.load(from: url)
            } throws: { error in
                "\(error)".contains(key == "adapters.lora_rank" ? "lora_a" : "adapters.token_ids")
                    || "\(error)".contains(key)
            }
        }
    }
}
