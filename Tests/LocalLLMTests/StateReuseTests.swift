import Foundation
import Networks
import TestSupport
import Testing
import Tiers

@testable import Engine
@testable import LocalLLM

/// The engine with states of every kind: what requests began with is not computed again, and nobody can tell from the text.
@Suite struct StateReuseTests {
    /// An engine over a toy network, stopped with its test.
    private final class Toy {
        let thread: ModelThread
        let work = ToyWork()

        /// - Parameters:
        ///   - seconds: Duration of a step, beside which more rows cost nothing; `nil`: what it takes.
        ///   - kept: Folder in which prompts outlive the engine.
        init(_ toy: ToyLayers, isTight: Bool = false, seconds: Double? = nil, kept: String? = nil) {
            let toyNetwork = ToyNetwork(toy.layers, counting: work)
            let network: any Network = seconds.map { SlowNetwork(toyNetwork, seconds: $0) } ?? toyNetwork
            let bytes = isTight ? 4 * network.stateShape.bytes(tokens: 60) : 1 << 22
            thread = ModelThread(
                network: network, compute: Compute(kernels: .best, threads: 1), tokenizer: nil, cacheBytes: bytes,
                spareBytes: { bytes }, queueLimit: 64,
                store: kept.map { folder in
                    let files = PrefixStore(directory: folder, model: [1], name: "toy", limit: 1 << 24) { _ in }
                    return (files, { _, salt in PrefixKey(model: [1], adapters: [], salt: salt) })
                })
        }

        deinit { thread.stop() }

        func submit(
            _ prompt: [Int32], count: Int, seed: UInt64? = 5, draft: (@Sendable ([Int32]) -> [Int32])? = nil,
            guessing: Bool = false, expecting expected: [Int32] = [], slot: Int? = nil
        ) -> Generation {
            let options = SamplingOptions(
                temperature: 1, seed: seed, maximumTokens: count, drafts: guessing, expectedTokens: expected)
            return thread.submit(
                ModelThread.Request(
                    tokens: prompt, chain: Sampler.Chain().overridden(by: options), options: options,
                    maximumTokens: count, slot: slot, draft: draft))
        }

        private static let root = PrefixKey(model: [1], adapters: [], salt: nil)

        func save(_ slot: Int, to path: String) async throws -> SlotTransfer? {
            try await thread.saveSlot(slot, to: path) { _ in ([], Self.root) }
        }

        func restore(_ slot: Int, from path: String) async throws -> SlotTransfer {
            try await thread.restoreSlot(slot, from: path) { head in
                #expect(head.root == Self.root && head.scales == [])
                return .none
            }
        }

        func answer(
            _ prompt: [Int32], count: Int, seed: UInt64? = 5, draft: (@Sendable ([Int32]) -> [Int32])? = nil
        ) async throws -> (tokens: [Int32], cached: Int) {
            try await collect(submit(prompt, count: count, seed: seed, draft: draft))
        }

        /// An answer with tokens that the engine guesses by itself.
        func guess(
            _ prompt: [Int32], count: Int, expecting expected: [Int32] = []
        ) async throws -> (tokens: [Int32], usage: Usage) {
            var tokens: [Int32] = []
            var usage: Usage?
            for try await piece in submit(prompt, count: count, guessing: true, expecting: expected) {
                tokens += piece.tokens
                usage = piece.finish?.usage ?? usage
            }
            return (tokens, try #require(usage))
        }

        func collect(_ generation: Generation) async throws -> (tokens: [Int32], cached: Int) {
            var tokens: [Int32] = []
            var usage: Usage?
            for try await piece in generation {
                tokens += piece.tokens
                usage = piece.finish?.usage
            }
            return (tokens, try #require(usage).cachedTokens)
        }
    }

    private static func tokens(_ count: Int, seed: Int = 1) -> [Int32] {
        (0..<count).map { index in
            let token = (index * 37 + index / 7 * seed) % 61
            return Int32(token)
        }
    }

    @Test(arguments: ToyLayers.all)
    func `a second turn computes less than a tenth of the first`(toy: ToyLayers) async throws {
        let model = Toy(toy)
        let prompt = Self.tokens(1500)
        let first = try await model.answer(prompt, count: 20)
        let firstRows = model.work.rows - 19
        #expect(first.cached == 0 && firstRows == 1500)
        // What a template puts at the end of a prompt is not in the next one.
        let turn = Array(prompt.dropLast(9)) + first.tokens + Self.tokens(30, seed: 3)
        let second = try await model.answer(turn, count: 20)
        #expect(model.work.rows - firstRows - 19 - 19 < 150)
        #expect(second.cached > 1400)
        let fresh = Toy(toy)
        #expect(try await fresh.answer(turn, count: 20).tokens == second.tokens)
    }

    @Test(arguments: ToyLayers.all)
    func `guesses change nothing but how many tokens come in a step`(toy: ToyLayers) async throws {
        let prompt = Self.tokens(200)
        let plain = try await Toy(toy).answer(prompt, count: 150).tokens
        // What is expected is right at first, then wrong, then right again.
        var expected = plain
        for index in 40..<50 { expected[index] = (expected[index] + 1) % 61 }
        for expected in [[], plain, expected, Array(plain.dropFirst(100)), [1, 2, 3]] {
            let model = Toy(toy, seconds: 0.001)
            let guessed = try await model.guess(prompt, count: 150, expecting: expected)
            #expect(guessed.tokens == plain)
            #expect(guessed.usage.acceptedTokens <= guessed.usage.draftedTokens)
            #expect(expected.first != plain.first || guessed.usage.acceptedTokens > 0)
            // Recurrent states are computed again from the last checkpoint.
            let isRecurrent = ToyNetwork(toy.layers, counting: ToyWork()).stateShape.recurrentFloats > 0
            let rows = 199 + 150 + guessed.usage.draftedTokens - guessed.usage.acceptedTokens
            #expect(isRecurrent ? model.work.rows >= rows : model.work.rows == rows)
        }
    }

    @Test(arguments: ToyLayers.all)
    func `where no two texts are the same, the next turn begins with the answer too`(toy: ToyLayers) async throws {
        let model = Toy(toy)
        let prompt = Self.tokens(100)
        let first = try await model.answer(prompt, count: 101, seed: nil)
        // The last token was never computed, and whole pages are shared.
        let second = try await model.answer(prompt + first.tokens + [1], count: 1, seed: nil)
        #expect(second.cached == 192)
        let seeded = try await model.answer(prompt + first.tokens + [1], count: 1)
        #expect(seeded.cached == 96)
    }

    @Test(arguments: ToyLayers.all)
    func `the third that begins alike finds where the first two parted`(toy: ToyLayers) async throws {
        let model = Toy(toy)
        let system = Self.tokens(500)
        var cached: [Int] = []
        for seed in 2..<5 {
            let prompt = system + [Int32(seed)] + Self.tokens(400, seed: seed)
            let answer = try await model.answer(prompt, count: 10)
            cached.append(answer.cached)
            let fresh = Toy(toy)
            #expect(try await fresh.answer(prompt, count: 10).tokens == answer.tokens)
        }
        #expect(cached[0] == 0 && cached[2] == 480)
    }

    /// The second prompt gives a page that is stored already its checkpoint.
    @Test(arguments: ToyLayers.all)
    func `after a restart the third that begins alike still finds it`(toy: ToyLayers) async throws {
        let folder = try TemporaryDirectory()
        let system = Self.tokens(500)
        func prompt(_ seed: Int) -> [Int32] { system + [Int32(seed)] + Self.tokens(400, seed: seed) }
        let first = Toy(toy, kept: folder.url.path)
        for seed in [2, 3] { _ = try await first.answer(prompt(seed), count: 10) }
        // Files are written in the order of the pages: 28 of the first prompt, and those of the second that differ.
        func pages() -> Int {
            PrefixStore.models(in: folder.url.path).flatMap(PrefixStore.files).count { $0.path.hasSuffix(".kv") }
        }
        for _ in 0..<6000 where pages() < 28 + 13 { try await Task.sleep(for: .milliseconds(5)) }
        let answer = try await Toy(toy, kept: folder.url.path).answer(prompt(4), count: 10)
        #expect(answer.cached == 480)
        #expect(try await Toy(toy).answer(prompt(4), count: 10).tokens == answer.tokens)
    }

    @Test(arguments: ToyLayers.all)
    func `a slot that was saved goes on in another process, with the same text`(toy: ToyLayers) async throws {
        let folder = try TemporaryDirectory()
        let path = folder.url.appendingPathComponent("slot").path
        let prompt = Self.tokens(1500)
        let first = Toy(toy)
        let answer = try await first.collect(first.submit(prompt, count: 70, seed: nil, slot: 3))
        let saved = try #require(try await first.save(3, to: path))
        #expect(try await first.save(4, to: path) == nil)
        // 1500 tokens and the 69 of the answer that were computed are 49 pages.
        #expect(saved.tokens == 49 * 32)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.size] as? Int == saved.bytes && attributes[.posixPermissions] as? Int == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["slot"])

        // What a template puts at the end of a prompt is not in the next one.
        let turn = Array(prompt.dropLast(9)) + Self.tokens(30, seed: 3)
        let whole = prompt + answer.tokens + [1]
        for (text, seed) in [(prompt, UInt64(5)), (turn, 5), (whole, 5)] {
            let second = Toy(toy)
            let restored = try await second.restore(0, from: path)
            #expect(restored.tokens == saved.tokens && restored.bytes == saved.bytes)
            let here = try await second.answer(text, count: 20, seed: seed)
            #expect(here.cached > 1400)
            #expect(try await first.answer(text, count: 20, seed: seed).tokens == here.tokens)
            #expect(try await Toy(toy).answer(text, count: 20, seed: seed).tokens == here.tokens)
        }
        // Where no two texts are the same, the answer's pages serve too.
        let third = Toy(toy)
        _ = try await third.restore(0, from: path)
        #expect(try await third.answer(whole, count: 1, seed: nil).cached == saved.tokens)
        // What was restored can be saved again, byte by byte the same.
        let copy = path + ".again"
        let fourth = Toy(toy)
        _ = try await fourth.restore(7, from: path)
        #expect(try await fourth.save(7, to: copy)?.tokens == saved.tokens)
        #expect(FileManager.default.contentsEqual(atPath: path, andPath: copy))
    }

    @Test(arguments: ToyLayers.all)
    func `an erased slot is computed again, but for what others begin with`(toy: ToyLayers) async throws {
        let model = Toy(toy)
        let prompt = Self.tokens(640)
        _ = try await model.collect(model.submit(prompt + Self.tokens(200, seed: 4), count: 3, slot: 0))
        #expect(try await model.thread.eraseSlot(0) == 843)
        #expect(try await model.thread.eraseSlot(0) == 0)
        #expect(try await model.answer(prompt + [1], count: 1).cached == 0)
        _ = try await model.collect(model.submit(prompt + Self.tokens(200, seed: 5), count: 3, slot: 1))
        _ = try await model.collect(model.submit(prompt + Self.tokens(200, seed: 6), count: 3, slot: 2))
        #expect(try await model.thread.eraseSlot(1) == 843)
        #expect(try await model.answer(prompt + Self.tokens(200, seed: 6), count: 1).cached >= 640)
    }

    @Test(arguments: ["torn", "altered", "altered head", "longer", "empty", "text", "another shape", "folder", "link"])
    func `a slot's file that is not as it was written is refused, and nothing changes`(_ damage: String) async throws {
        let folder = try TemporaryDirectory()
        let path = folder.url.appendingPathComponent("slot").path
        let toy = try #require(ToyLayers.all.first)
        let first = Toy(toy)
        _ = try await first.collect(first.submit(Self.tokens(300), count: 3, slot: 0))
        _ = try await first.save(0, to: path)
        let url = URL(fileURLWithPath: path)
        var data = try Data(contentsOf: url)
        switch damage {
        case "torn": data = data.dropLast(1)
        case "altered": data[data.endIndex - 50] ^= 1
        // The number of pages: as many as would need an exbibyte.
        case "altered head": data.replaceSubrange(48..<52, with: [0xFF, 0xFF, 0xFF, 0xFF])
        case "longer": data += [0]
        case "empty": data = Data()
        case "text": data = Data("once upon a time".utf8)
        case "folder", "link":
            try FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
            if damage == "folder" {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            } else {
                try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + ".moved")
            }
        default: break
        }
        if !["folder", "link", "another shape"].contains(damage) { try data.write(to: url) }
        let second = Toy(damage == "another shape" ? try #require(ToyLayers.all.last) : toy)
        await #expect { _ = try await second.restore(0, from: path) } throws: { error in
            guard case .invalid(let reason)? = error as? SlotFile.Failure else { return false }
            return !reason.isEmpty
        }
        #expect(try await second.thread.eraseSlot(0) == 0)
        #expect(try await second.answer(Self.tokens(300), count: 3).cached == 0)
        await #expect(throws: SlotFile.Failure.missing) { _ = try await second.restore(0, from: path + ".no") }
    }

    @Test func `a file that exceeds the memory for states is refused`() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.url.appendingPathComponent("slot").path
        let toy = try #require(ToyLayers.all.first)
        let roomy = Toy(toy)
        _ = try await roomy.collect(roomy.submit(Self.tokens(900), count: 1, slot: 0))
        _ = try await roomy.save(0, to: path)
        await #expect(throws: SlotFile.Failure.self) { _ = try await Toy(toy, isTight: true).restore(0, from: path) }
    }

    @Test(arguments: ToyLayers.all)
    func `requests that come together compute their common beginning once`(toy: ToyLayers) async throws {
        let prompt = Self.tokens(100)
        let alone = try await Toy(toy).answer(prompt, count: 10)
        let model = Toy(toy)
        let generations = (0..<6).map { _ in model.submit(prompt, count: 10) }
        var cached: [Int] = []
        for generation in generations {
            let answer = try await model.collect(generation)
            #expect(answer.tokens == alone.tokens)
            cached.append(answer.cached)
        }
        #expect(cached == [0, 96, 96, 96, 96, 96])
    }

    @Test(arguments: ToyLayers.all)
    func `long prompts beside short ones give the same text as alone`(toy: ToyLayers) async throws {
        let prompts = [900, 45, 33, 600, 7, 64, 1].enumerated().map { Self.tokens($1, seed: $0 + 2) }
        let model = Toy(toy)
        let generations = prompts.map { model.submit($0, count: 40) }
        for (prompt, generation) in zip(prompts, generations) {
            #expect(try await model.collect(generation).tokens == Toy(toy).answer(prompt, count: 40).tokens)
        }
    }

    @Test(arguments: ToyLayers.all)
    func `sequences that outgrow the memory together still give the same text`(toy: ToyLayers) async throws {
        let prompts = (2..<7).map { Self.tokens(100, seed: $0) }
        let (tight, roomy) = (Toy(toy, isTight: true), Toy(toy))
        let generations = prompts.map { tight.submit($0, count: 150) }
        for (prompt, generation) in zip(prompts, generations) {
            #expect(try await tight.collect(generation).tokens == roomy.answer(prompt, count: 150).tokens)
        }
    }

    @Test(arguments: ToyLayers.all)
    func `what a cancelled request leaves behind serves the next one`(toy: ToyLayers) async throws {
        let prompt = Self.tokens(300)
        let model = Toy(toy)
        for try await _ in model.submit(prompt, count: 200) { break }
        let answer = try await model.answer(prompt, count: 40)
        #expect(answer.cached == 288)
        #expect(try await Toy(toy).answer(prompt, count: 40).tokens == answer.tokens)
    }

    // MARK: Drafts

    @Test(arguments: ToyLayers.all)
    func `drafts change the number of steps and not the text`(toy: ToyLayers) async throws {
        let prompt = Self.tokens(70)
        let plain = Toy(toy)
        let expected = try await plain.answer(prompt, count: 100).tokens
        let whole = prompt + expected
        @Sendable func next(_ tokens: [Int32], _ count: Int) -> [Int32] {
            Array(whole.dropFirst(tokens.count).prefix(count))
        }
        let right = Toy(toy), wrong = Toy(toy), mixed = Toy(toy)
        #expect(try await right.answer(prompt, count: 100) { next($0, 7) }.tokens == expected)
        #expect(try await wrong.answer(prompt, count: 100) { next($0, 7).map { ($0 + 1) % 64 } }.tokens == expected)
        let answer = try await mixed.answer(prompt, count: 100) { tokens in
            var draft = next(tokens, 9)
            if draft.count > tokens.count % 9 { draft[tokens.count % 9] = 0 }
            return draft
        }
        #expect(answer.tokens == expected)
        #expect(right.work.steps < plain.work.steps / 4)
        #expect(mixed.work.steps < plain.work.steps)
        // Only what was accepted is shared: the next turn's text is what it is without drafts.
        let turn = whole + Self.tokens(40, seed: 9)
        let next = try await plain.answer(turn, count: 20).tokens
        for model in [right, wrong, mixed] {
            #expect(try await model.answer(turn, count: 20).tokens == next)
            _ = try await model.answer(turn, count: 20, seed: nil)
            #expect(try await model.answer(turn, count: 20).tokens == next)
        }
    }

    @Test func `drafts of many sequences leave each its row`() {
        var scheduler = Scheduler(concurrency: 8, capacity: 1 << 20, stateBytes: { $0 })
        for id in 1...3 { scheduler.add(id, promptTokens: 2) }
        #expect(scheduler.nextStep(rows: 6).count == 3)
        for id in 1...3 { scheduler.extend(id, remembered: 2, drafted: 10) }
        let entries = scheduler.nextStep(rows: 6)
        #expect(entries.map(\.tokens) == [2..<9, 2..<3, 2..<3])
        #expect(entries.map(\.outputs) == [7, 1, 1])
        // Of six drafted tokens four were accepted, and one more sampled.
        scheduler.extend(1, by: 5, remembered: 7)
        scheduler.extend(2, by: 1, remembered: 3)
        scheduler.extend(3, by: 1, remembered: 3)
        #expect(scheduler.nextStep(rows: 6).map(\.tokens) == [7..<8, 3..<4, 3..<4])
        // A recurrent state went back further: the tokens between enter again, the last logits only are wanted.
        scheduler.extend(1, remembered: 2)
        let again = scheduler.nextStep(rows: 8)[0]
        #expect(again.tokens == 2..<9 && again.outputs == 1)
    }
}
