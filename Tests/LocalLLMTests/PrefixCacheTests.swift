@testable import Engine
import Foundation
import TestSupport
import Testing

@testable import LocalLLM

@Suite struct PrefixCacheTests {
    private let shape = StateShape([.keysAndValues(heads: 1, keyWidth: 8, valueWidth: 8)])

    private let memory = StateMemory()
    /// Bytes of a page: 32 keys and values of 8 halves.
    private let page = 32 * 16 * 2

    private func pages() -> [SequenceState.Buffer] {
        let state = SequenceState(shape, in: memory)
        state.grow(by: 32)
        return state.sharedPages(0)
    }

    /// Adds pages for `tokens`; what is not whole pages is left out.
    private func insert(_ tokens: [Int32], prompt: Int, into cache: inout PrefixCache) {
        _ = cache.longestPrefix(of: tokens[...], after: cache.root(.none), promptOnly: true)
        var node = cache.root(.none)
        for start in stride(from: 0, through: tokens.count - 32, by: 32) {
            node = cache.insert(
                pages(), of: tokens[start..<start + 32], after: node, isPrompt: start + 32 <= prompt)
        }
    }

    private func count(_ tokens: [Int32], promptOnly: Bool = true, in cache: inout PrefixCache) -> Int {
        cache.longestPrefix(of: tokens[...], after: cache.root(.none), promptOnly: promptOnly).count
    }

    @Test func `the longest common beginning is found, in whole pages`() {
        var cache = PrefixCache(memory)
        let tokens = (0..<100).map { Int32($0) }
        insert(tokens, prompt: 100, into: &cache)
        #expect(cache.count == 3)
        #expect(count(tokens, in: &cache) == 3)
        #expect(count(Array(tokens.prefix(95)), in: &cache) == 2)
        #expect(count(Array(tokens.prefix(40)) + [0], in: &cache) == 1)
        #expect(count([99] + tokens.dropFirst(), in: &cache) == 0)
        #expect(count(Array(tokens.dropFirst(32)), in: &cache) == 0, "a page counts only after those before it")
        #expect(count([], in: &cache) == 0)
    }

    @Test func `pages of answers are for those who ask for them, and so is what follows them`() {
        var cache = PrefixCache(memory)
        let tokens = (0..<96).map { Int32($0) }
        insert(tokens, prompt: 40, into: &cache)
        #expect(count(tokens, in: &cache) == 1)
        #expect(count(tokens, promptOnly: false, in: &cache) == 3)
        // The same as a prompt lies beside them.
        insert(tokens, prompt: 96, into: &cache)
        #expect(cache.count == 5)
        #expect(count(tokens, in: &cache) == 3)
    }

    @Test func `what was used longest ago goes first, ends before beginnings`() {
        var cache = PrefixCache(memory)
        let old = (0..<96).map { Int32($0) }
        let new = (0..<96).map { Int32($0 + 500) }
        insert(old, prompt: 96, into: &cache)
        insert(new, prompt: 96, into: &cache)
        cache.shrink(to: 4 * page)
        #expect(cache.count == 4)
        #expect(count(old, in: &cache) == 1)
        #expect(count(new, in: &cache) == 3)
        // Asking for it made the rest of the old one the youngest.
        cache.shrink(to: page)
        #expect(count(new, in: &cache) == 1)
    }

    @Test func `what a sequence works on stays`() {
        var cache = PrefixCache(memory)
        let tokens = (0..<96).map { Int32($0) }
        insert(tokens, prompt: 96, into: &cache)
        var path = cache.longestPrefix(of: tokens[..<64], after: cache.root(.none), promptOnly: true)
        #expect(SequenceState(shape, in: memory, beginning: path.map(\.pages)).count == 64)
        cache.shrink(to: 0)
        #expect(path.count == 2 && cache.count == 2)
        path = []
        cache.shrink(to: 0)
        #expect(cache.count == 0)
    }

    @Test(.timeLimit(.minutes(1))) func `the time for a new salt does not grow with the number of salts`() {
        var cache = PrefixCache(memory)
        let tokens = [Int32](repeating: 7, count: 32)
        for salt in 0..<50_000 {
            _ = cache.insert([], of: tokens[...], after: cache.root(.none, salt: "\(salt)"), isPrompt: true)
        }
        #expect(cache.count == 50_000)
    }
}

/// The cache at work in the engine.
@Suite struct PrefixReuseTests {
    private let directory: TemporaryDirectory
    private let prompt = (0..<100).map { Int32($0 * 37 % 256 + 3) }
    init() throws { directory = try TemporaryDirectory() }

    /// Quantized, so that prompts are rounded otherwise than answers.
    private func load(cacheTokens: Int? = nil, queueLimit: Int = 128) async throws -> LocalModel {
        var description = TinyModel()
        description.isQuantized = true
        description.context = 4096
        var configuration = LocalModel.Configuration(threads: 2, queueLimit: queueLimit)
        configuration.cacheTokens = cacheTokens
        return try await LocalModel.load(from: try description.write(in: directory), configuration: configuration)
    }

    private func options(_ count: Int?, temperature: Double = 0, seed: UInt64? = nil) -> SamplingOptions {
        .init(
            temperature: temperature, logitBias: [TinyModel.endOfSequence: -1000], seed: seed, maximumTokens: count)
    }

    private func collect(_ generation: Generation) async throws -> (tokens: [Int32], usage: Usage) {
        var tokens: [Int32] = []
        var usage: Usage?
        for try await piece in generation {
            tokens += piece.tokens
            usage = piece.finish?.usage
        }
        return (tokens, try #require(usage))
    }

    @Test func `a prompt asked again is not computed again, and has the same answer`() async throws {
        let model = try await load()
        let first = try await collect(model.generate(tokens: prompt, options: options(30)))
        let again = try await collect(model.generate(tokens: prompt, options: options(30)))
        #expect(first.usage.cachedTokens == 0)
        #expect(again.usage.cachedTokens == 96)
        #expect(again.usage.promptTokens == 100)
        #expect(first.tokens == again.tokens)
        let exact = try await collect(model.generate(tokens: Array(prompt.prefix(96)), options: options(1)))
        #expect(exact.usage.cachedTokens == 64, "the last token's logits are wanted")
    }

    @Test func `the next turn's text does not depend on who computed the turns before`() async throws {
        let model = try await load()
        let first = try await collect(model.generate(tokens: prompt, options: options(100)))
        let turn = prompt + first.tokens + Array(prompt.prefix(20))
        for options in [options(30), options(30, temperature: 1, seed: 7)] {
            let fresh = try await load()
            let expected = try await collect(fresh.generate(tokens: turn, options: options))
            let answer = try await collect(model.generate(tokens: turn, options: options))
            #expect(answer.usage.cachedTokens >= 96)
            #expect(answer.tokens == expected.tokens)
        }
    }

    @Test func `where no two texts are the same, answers are remembered too`() async throws {
        let model = try await load()
        let first = try await collect(model.generate(tokens: prompt, options: options(101)))
        let turn = prompt + first.tokens
        let sampled = try await collect(model.generate(tokens: turn, options: options(1, temperature: 1)))
        // All of the answer but its last token was computed.
        #expect(sampled.usage.cachedTokens == 192)
        let greedy = try await collect(model.generate(tokens: turn, options: options(1)))
        #expect(greedy.usage.cachedTokens == 96)
    }

    @Test func `requests that come together compute their common beginning once`() async throws {
        let (model, other) = (try await load(), try await load())
        let alone = try await collect(other.generate(tokens: prompt, options: options(20)))
        let generations = (0..<6).map { _ in model.generate(tokens: prompt, options: options(20)) }
        var cached: [Int] = []
        for generation in generations {
            let answer = try await collect(generation)
            #expect(answer.tokens == alone.tokens)
            cached.append(answer.usage.cachedTokens)
        }
        #expect(cached == [0, 96, 96, 96, 96, 96])
    }

    @Test func `what is remembered stays within its limit`() async throws {
        let model = try await load(cacheTokens: 512)
        for number in 0..<12 {
            let prompt = prompt.map { ($0 + Int32(number)) % 256 + 3 }
            _ = try await collect(model.generate(tokens: prompt, options: options(10)))
            #expect(model.activity.cachedTokens <= 256)
        }
        // The last is there still, the first is not.
        let last = try await collect(
            model.generate(tokens: prompt.map { ($0 + 11) % 256 + 3 }, options: options(1)))
        #expect(last.usage.cachedTokens == 96)
        let first = try await collect(model.generate(tokens: prompt.map { $0 % 256 + 3 }, options: options(1)))
        #expect(first.usage.cachedTokens == 0)
    }

    @Test func `sequences that outgrow the memory together still give the same text`() async throws {
        let prompts = (0..<5).map { number in prompt.map { ($0 * Int32(number + 2)) % 256 + 3 } }
        let roomy = try await load()
        let tight = try await load(cacheTokens: 600)
        let generations = prompts.map { tight.generate(tokens: $0, options: options(150)) }
        for (prompt, generation) in zip(prompts, generations) {
            let expected = try await collect(roomy.generate(tokens: prompt, options: options(150)))
            #expect(try await collect(generation).tokens == expected.tokens)
        }
    }

    @Test func `more requests than may wait are refused, and places come free`() async throws {
        let model = try await load(queueLimit: 3)
        let accepted = (0..<67).map { _ in model.generate(tokens: prompt, options: options(nil)) }
        await #expect(throws: LocalModelError.queueFull(limit: 3)) {
            _ = try await collect(model.generate(tokens: prompt))
        }
        #expect(model.activity.isFull)
        for generation in accepted.dropFirst() { generation.cancel() }
        _ = try await collect(model.generate(tokens: prompt, options: options(1)))
        #expect(!model.activity.isFull)
        accepted[0].cancel()
    }
}
