@testable import Engine
@testable import Compute
import Constraint
import Foundation
import KernelFormats
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// Drafts of a network: the same text in fewer steps, whatever the states of both networks are.
@Suite struct DraftTests {
    /// An engine over a toy network whose steps are slow, with another that drafts.
    private final class Toy {
        let thread: ModelThread
        let work = ToyWork()

        /// - Parameters:
        ///   - seed: Of the drafting network's weights; 14: the model's own.
        ///   - isTight: Whether several answers outgrow the memory together, so that some are preempted.
        init(_ layers: [LayerState], drafting: [LayerState]? = nil, seed: UInt64 = 14, isTight: Bool = false) {
            let network = SlowNetwork(ToyNetwork(layers, counting: work, sharpness: 8), seconds: 0.002)
            let drafter = drafting.map {
                Drafter(
                    ToyNetwork($0, seed: seed, sharpness: 8), vocabularySize: network.vocabularySize,
                    statesWidth: nil)
            }
            let bytes =
                isTight
                ? 4 * (network.stateShape.bytes(tokens: 60) + (drafter?.shape.bytes(tokens: 60) ?? 0)) : 1 << 24
            thread = ModelThread(
                network: network, compute: Compute(kernels: .best, threads: 1), tokenizer: nil, drafter: drafter,
                cacheBytes: bytes, spareBytes: { bytes }, queueLimit: 64)
        }

        deinit { thread.stop() }

        func submit(_ prompt: [Int32], _ options: SamplingOptions) -> Generation {
            thread.submit(
                ModelThread.Request(
                    tokens: prompt, chain: Sampler.Chain().overridden(by: options), options: options,
                    maximumTokens: options.maximumTokens ?? 100))
        }

        func answer(_ prompt: [Int32], _ options: SamplingOptions) async throws -> Answer {
            try await collect(submit(prompt, options))
        }

        /// The cached pages of a text, as bytes of the model's state.
        func cachedPages(of tokens: [Int32]) async throws -> [[UInt8]] {
            let thread = thread
            return try await thread.perform { network, _ in
                var prefixes = thread.prefixes
                let root = prefixes.root(.none)
                return prefixes.longestPrefix(of: tokens[...], after: root, promptOnly: false).map { node in
                    node.pages.flatMap {
                        Array(UnsafeRawBufferPointer(start: $0.base, count: network.stateShape.groups[0].pageBytes))
                    }
                }
            }
        }

        func cachedPageCount() async throws -> Int {
            let thread = thread
            return try await thread.perform { _, _ in thread.prefixes.count }
        }
    }

    private struct Answer {
        var tokens: [Int32] = []
        var logprobs: [TokenLogprob] = []
        var usage: Usage?
    }

    private static func collect(_ generation: Generation) async throws -> Answer {
        var answer = Answer()
        for try await piece in generation {
            answer.tokens += piece.tokens
            answer.logprobs += piece.logprobs
            answer.usage = piece.finish?.usage ?? answer.usage
        }
        return answer
    }

    private static func tokens(_ count: Int, seed: Int = 1) -> [Int32] {
        (0..<count).map { index in
            let token = (index * 37 + index / 7 * seed) % 61
            return Int32(token)
        }
    }

    private static let greedy = SamplingOptions(temperature: 0, maximumTokens: 100, topLogprobs: 3)
    private static let sampled = SamplingOptions(temperature: 0.7, seed: 9, maximumTokens: 100, topLogprobs: 3)
    private static let hot = SamplingOptions(temperature: 1.5, seed: 4, maximumTokens: 100, topLogprobs: 3)

    @Test(arguments: ToyLayers.all)
    func `a draft model changes neither tokens nor log probabilities`(toy: ToyLayers) async throws {
        let prompt = Self.tokens(90)
        for options in [Self.greedy, Self.sampled, Self.hot] {
            let plain = try await Toy(toy.layers).answer(prompt, options)
            // The same weights, which are right at temperature 0; and others, which are mostly wrong.
            for seed in [14, 15] as [UInt64] {
                let model = Toy(toy.layers, drafting: toy.layers, seed: seed)
                let drafted = try await model.answer(prompt, options)
                #expect(drafted.tokens == plain.tokens)
                #expect(drafted.logprobs == plain.logprobs)
                let usage = try #require(drafted.usage)
                #expect(usage.acceptedTokens <= usage.draftedTokens)
                if seed == 14, options == Self.greedy { #expect(usage.acceptedTokens > 0) }
            }
        }
    }

    @Test(arguments: ToyLayers.all)
    func `draft models with states of every kind are rolled back`(toy: ToyLayers) async throws {
        let model = Toy([ToyNetwork.keysAndValues], drafting: toy.layers, seed: 3)
        let plain = Toy([ToyNetwork.keysAndValues])
        var prompt = Self.tokens(90)
        // Further turns begin with cached pages of both networks.
        for turn in 0..<3 {
            let expected = try await plain.answer(prompt, Self.sampled)
            #expect(try await model.answer(prompt, Self.sampled).tokens == expected.tokens)
            prompt += expected.tokens + Self.tokens(20, seed: turn + 2)
        }
    }

    @Test func `answers side by side are drafted, and stay what they are alone`() async throws {
        let layers = [ToyNetwork.keysAndValues, ToyNetwork.recurrent]
        let prompts = (2..<7).map { Self.tokens(40 + $0, seed: $0) }
        let (plain, model) = (Toy(layers), Toy(layers, drafting: layers))
        let generations = prompts.map { model.submit($0, Self.greedy) }
        var accepted = 0
        for (prompt, generation) in zip(prompts, generations) {
            let answer = try await Self.collect(generation)
            #expect(answer.tokens == (try await plain.answer(prompt, Self.greedy)).tokens)
            accepted += answer.usage?.acceptedTokens ?? 0
        }
        #expect(accepted > 0)
    }

    @Test(arguments: ToyLayers.all)
    func `seeded answers that are drafted and preempted stay what they are alone`(toy: ToyLayers) async throws {
        let prompts = (2..<7).map { Self.tokens(100, seed: $0) }
        let (plain, tight) = (Toy(toy.layers), Toy(toy.layers, drafting: toy.layers, isTight: true))
        for options in [Self.greedy, Self.sampled] {
            let generations = prompts.map { tight.submit($0, options) }
            for (prompt, generation) in zip(prompts, generations) {
                let answer = try await Self.collect(generation)
                #expect(answer.tokens == (try await plain.answer(prompt, options)).tokens)
            }
        }
    }

    @Test func `rejected drafts never get into the prefix cache`() async throws {
        let layers = [ToyNetwork.keysAndValues]
        let prompt = Self.tokens(70)
        let plain = Toy(layers)
        let expected = try await plain.answer(prompt, Self.sampled)
        let text = prompt + expected.tokens
        let pages = try await plain.cachedPages(of: text)
        #expect(pages.count == (text.count - 1) / pageTokens)
        for seed in [14, 3] as [UInt64] {
            let model = Toy(layers, drafting: layers, seed: seed)
            let answer = try await model.answer(prompt, Self.sampled)
            let usage = try #require(answer.usage)
            #expect(usage.draftedTokens > usage.acceptedTokens)
            // The same pages with the same bits, and no others.
            #expect(try await model.cachedPages(of: text) == pages)
            #expect(try await model.cachedPageCount() == pages.count)
        }
        // Guesses from the text so far, and a prediction that is wrong in every ninth token.
        var options = Self.sampled
        options.expectedTokens = expected.tokens.enumerated().map { $0 % 9 == 8 ? ($1 + 1) % 61 : $1 }
        let guessing = Toy(layers)
        let guessed = try #require(try await guessing.answer(prompt, options).usage)
        #expect(guessed.acceptedTokens > 0 && guessed.acceptedTokens < guessed.draftedTokens)
        #expect(try await guessing.cachedPages(of: text) == pages)
        #expect(try await guessing.cachedPageCount() == pages.count)
    }

    // MARK: Files

    private func load(_ file: URL, draft: URL? = nil) async throws -> LocalModel {
        var configuration = LocalModel.Configuration(threads: 2)
        configuration.draftModel = draft
        return try await LocalModel.load(from: file, configuration: configuration)
    }

    @Test func `constrained text with a draft model is the same`() async throws {
        let directory = try TemporaryDirectory()
        let file = try TinyModel().write(in: directory)
        let (plain, drafted) = (try await load(file), try await load(file, draft: file))
        #expect(plain.drafter == nil && drafted.drafter == "tiny")
        let tokenizer = try plain.tokenizer
        let compute = Compute(kernels: .best, threads: 1)
        func read() throws -> any Network {
            try Registry.network(for: try GGUFFile(path: file.path), packer: compute.packer)
        }
        let network = SlowNetwork(try read(), seconds: 0.01)
        let drafter = Drafter(try read(), vocabularySize: network.vocabularySize, statesWidth: nil)
        let thread = ModelThread(
            network: network, compute: compute, tokenizer: tokenizer, drafter: drafter,
            cacheBytes: 1 << 26, spareBytes: { 1 << 26 }, queueLimit: 64)
        defer { thread.stop() }
        let prompt = "hello".utf8.map { TinyModel.token($0) }
        for temperature in [0, 0.8] {
            var options = SamplingOptions(temperature: temperature, seed: 3, maximumTokens: 90, topLogprobs: 2)
            options.constraint = GenerationConstraint(try plain.constraint(.regex("[ -~]{60,}")))
            let expected = try await Self.collect(plain.generate(tokens: prompt, options: options))
            var others = options
            others.constraint = GenerationConstraint(try drafted.constraint(.regex("[ -~]{60,}")))
            let found = try await Self.collect(drafted.generate(tokens: prompt, options: others))
            #expect(found.tokens == expected.tokens && found.logprobs == expected.logprobs)
            let slow = try await Self.collect(
                thread.submit(
                    ModelThread.Request(
                        tokens: prompt, chain: Sampler.Chain().overridden(by: options), options: options,
                        maximumTokens: 90)))
            #expect(slow.tokens == expected.tokens && slow.logprobs == expected.logprobs)
            #expect(try #require(slow.usage).draftedTokens > 0)
            #expect(expected.tokens.count >= 60)
        }
    }

    @Test func `a draft model with another vocabulary is refused by its first token that differs`() async throws {
        let directory = try TemporaryDirectory()
        let file = try TinyModel().write(in: directory)
        var builder = TinyModel().builder()
        let index = try #require(builder.metadata.firstIndex { $0.key == "tokenizer.ggml.tokens" })
        let bytes = (0..<256).map { $0 == 7 ? "seven" : String(format: "<0x%02X>", $0) }
        builder.metadata[index].value = .strings(["<unk>", "<s>", "</s>"] + bytes)
        let other = URL(filePath: try directory.write(builder.bytes(), as: "other.gguf"))
        let error = await #expect(throws: ModelFileError.self) { try await load(file, draft: other) }
        #expect(error?.message.contains("token 10 is 'seven', expected '<0x07>'") == true)
        #expect(error?.path == other.path)
    }
}
