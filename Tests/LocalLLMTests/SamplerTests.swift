import Constraint
import Foundation
import TestSupport
import Testing

@testable import Engine
@testable import LocalLLM

@Suite struct SamplerTests {
    /// Temperature 1 and no filter, unless given.
    private func chain(
        temperature: Double = 1, topK: Int = 0, topP: Double = 1, minP: Double = 0, typicalP: Double = 1,
        repetitionPenalty: Double = 1
    ) -> Sampler.Chain {
        .init(
            temperature: temperature, topK: topK, topP: topP, minP: minP, typicalP: typicalP,
            repetitionPenalty: repetitionPenalty)
    }

    /// How often each token is drawn in `count` draws of its own sampler with its own seed.
    private func histogram(
        _ logits: [Float], _ chain: Sampler.Chain, options: SamplingOptions = .init(), count: Int = 4_000
    ) -> [Int32: Double] {
        var result: [Int32: Double] = [:]
        for seed in 0..<count {
            var options = options
            options.seed = UInt64(seed)
            var sampler = Sampler(chain: chain, options: options, prompt: [])
            result[logits.withUnsafeBufferPointer { sampler.next($0) }, default: 0] += 1 / Double(count)
        }
        return result
    }

    private let probabilities = [0.5, 0.25, 0.15, 0.07, 0.03]
    private var logits: [Float] { probabilities.map { Float(log($0)) } }

    @Test func `temperature 0 is the most likely token whatever the filters, the first of equals`() {
        var sampler = Sampler(chain: chain(temperature: 0, topK: 3, minP: 1), options: .init(), prompt: [])
        #expect([1, 5, 2, 5].withUnsafeBufferPointer { sampler.next($0) } == 1)
    }

    /// A choice from the logits that a sampler wants, with all others missing, is that from all logits.
    @Test func `a sampler chooses the same from the logits that it wants`() throws {
        let chains: [(chain: Sampler.Chain, isLimited: Bool)] = [
            (chain(temperature: 0), true), (chain(temperature: 0, topK: 5, topP: 0.5), true),
            (chain(topK: 40), true), (chain(topK: 7, topP: 0.8, minP: 0.1, typicalP: 0.9), true),
            (chain(minP: 0.05), true), (chain(temperature: 3, minP: 0.3), true), (chain(topK: 1_000), false),
            (chain(topP: 0.9, minP: 0.05), false), (chain(minP: 0.05, typicalP: 0.9), false), (chain(), false),
            (chain(minP: 0.05, repetitionPenalty: 1.1), false),
        ]
        var generator = SeededGenerator(seed: 1)
        for (chain, isLimited) in chains {
            for seed in 0..<20 {
                var options = SamplingOptions(seed: UInt64(seed))
                if seed % 4 == 1 { options.xtc = .init(probability: 0.5, threshold: 0.1) }
                if seed % 4 == 2 { options.dynamicTemperature = .init(range: 0.5) }
                if seed % 4 == 3 { (options.minimumTokens, options.stopTokens) = (3, [1, 2, 3]) }
                var whole = Sampler(chain: chain, options: options, prompt: [])
                var limited = whole
                for _ in 0..<8 {
                    let logits = (0..<3_000).map { _ in Float.random(in: -6...6, using: &generator) }
                    #expect((limited.wanted != nil) == isLimited)
                    var left = logits
                    if let wanted = limited.wanted {
                        let least = logits.sorted(by: >)[wanted.count - 1] - wanted.margin
                        left = logits.map { $0 >= least ? $0 : -Float.greatestFiniteMagnitude }
                    }
                    let tokens = (
                        logits.withUnsafeBufferPointer { whole.next($0) },
                        left.withUnsafeBufferPointer { limited.next($0) }
                    )
                    #expect(tokens.0 == tokens.1)
                    #expect(whole.logprob(of: tokens.0, top: 5) == limited.logprob(of: tokens.1, top: 5))
                }
            }
        }
        // Whatever changes logits, or depends on all of them.
        for options in [
            SamplingOptions(logitBias: [5: 1]), SamplingOptions(presencePenalty: 1),
            SamplingOptions(mirostat: .init(.two)), SamplingOptions(topNSigma: 1),
            SamplingOptions(dry: .init(multiplier: 1)),
        ] {
            #expect(Sampler(chain: chain(minP: 0.05), options: options, prompt: []).wanted == nil)
        }
    }

    @Test func `the probabilities after sampling are those of the candidates that the filters leave`() {
        func last(_ chain: Sampler.Chain, _ options: SamplingOptions = .init(seed: 3)) -> TokenLogprob {
            var sampler = Sampler(chain: chain, options: options, prompt: [])
            let token = logits.withUnsafeBufferPointer { sampler.next($0) }
            return sampler.logprob(of: token, top: 4)
        }
        let filtered = last(chain(topK: 2))
        #expect(filtered.top.map(\.token) == [0, 1])
        #expect(zip(filtered.top, [0.5 / 0.75, 0.25 / 0.75]).allSatisfy { abs(exp($0.logprob) - $1) < 1e-6 })
        #expect(filtered.top.contains { $0.token == filtered.token && $0.logprob == filtered.logprob })
        // With a temperature, without a filter: not more than asked for.
        let warm = last(chain(temperature: 2))
        let sum = probabilities.reduce(0) { $0 + $1.squareRoot() }
        #expect(warm.top.count == 4 && abs(exp(warm.top[0].logprob) - 0.5.squareRoot() / sum) < 1e-6)
        // Without a choice.
        #expect(last(chain(temperature: 0)) == TokenLogprob(of: 0, drawnFrom: [0], [1], top: 4))
        #expect(last(chain(temperature: 0)).top == [.init(token: 0, logprob: 0)])
        let steered = last(chain(), .init(seed: 1, mirostat: .init(.two, tau: 0.1)))
        #expect(steered.top == [.init(token: 0, logprob: 0)])
    }

    @Test func `draws follow the softmax of the logits`() {
        let drawn = histogram(logits, chain())
        for (id, probability) in probabilities.enumerated() {
            // Five standard deviations of a binomial of 4,000 draws.
            let tolerance = 5 * (probability * (1 - probability) / 4_000).squareRoot()
            #expect(abs(drawn[Int32(id), default: 0] - probability) < tolerance)
        }
    }

    @Test func `a higher temperature flattens the distribution`() {
        let drawn = histogram(logits, chain(temperature: 2))
        let weights = probabilities.map { $0.squareRoot() }
        let expected = weights[0] / weights.reduce(0, +)
        #expect(abs(drawn[0, default: 0] - expected) < 5 * (0.25 / 4_000).squareRoot())
    }

    @Test func `each filter keeps the tokens that its definition says`() {
        #expect(Set(histogram(logits, chain(topK: 2), count: 500).keys) == [0, 1])
        #expect(Set(histogram(logits, chain(topP: 0.7), count: 500).keys) == [0, 1])
        #expect(Set(histogram(logits, chain(topP: 0.76), count: 500).keys) == [0, 1, 2])
        #expect(Set(histogram(logits, chain(minP: 0.29), count: 500).keys) == [0, 1, 2])
        #expect(Set(histogram(logits, chain(topP: 0), count: 100).keys) == [0])
        // Entropy 1.28 nats: the second token, with a surprise of 1.39, is the most typical one.
        #expect(Set(histogram(logits, chain(typicalP: 0.2), count: 100).keys) == [1])
    }

    @Test func `top-p keeps what sorting all candidates would keep`() {
        var random = SeededGenerator(seed: 5)
        var scratch: [Double] = []
        for p in [0, 0.01, 0.5, 0.9, 0.95, 0.999_999] {
            for width in [0, 0.001, 1, 8] as [Float] {
                let logits = (0..<1000).map { _ in Float.random(in: -1...1, using: &random) * width }
                var candidates = Candidates()
                logits.withUnsafeBufferPointer { candidates.reset(to: $0) }
                candidates.filterTopP(p, scratch: &scratch)
                let sorted = logits.indices.sorted { (-logits[$0], $0) < (-logits[$1], $1) }
                let weights = sorted.map { exp(Double(logits[$0] - logits[sorted[0]])) }
                let sum = weights.reduce(0, +)
                var reached = 0.0
                let count =
                    1
                    + (weights.firstIndex {
                        reached += $0 / sum; return reached >= p
                    } ?? 999)
                // The sums are rounded otherwise.
                #expect(abs(candidates.count - count) <= 1)
                #expect(candidates.ids == sorted.prefix(candidates.count).map(Int32.init))
            }
        }
    }

    @Test func `top-k keeps what sorting all candidates would keep`() {
        var random = SeededGenerator(seed: 6)
        for width in [0, 1e-6, 1, 300, 1e30] as [Float] {
            // Equal logits and zeros of both signs are among them.
            var logits = (0..<700).map { _ in Float.random(in: -1...1, using: &random) * width }
            for index in 0..<100 { logits[index * 7] = [logits[index], 0, -0.0][index % 3] }
            let sorted = logits.indices.sorted { (-logits[$0], $0) < (-logits[$1], $1) }.map(Int32.init)
            for k in [1, 2, 40, 350, 699] {
                var candidates = Candidates()
                logits.withUnsafeBufferPointer { candidates.reset(to: $0) }
                candidates.filterTopK(k)
                #expect(candidates.ids == Array(sorted.prefix(k)))
                #expect(candidates.logits == sorted.prefix(k).map { logits[Int($0)] })
            }
        }
    }

    @Test func `the most likely token of a mask is the first of the largest logits in it`() {
        var random = SeededGenerator(seed: 7)
        for count in [1, 63, 64, 65, 200, 1000] {
            for share in [0, 0.01, 0.5, 1] {
                let logits = (0..<count).map { _ in Float(Int.random(in: -9...9, using: &random)) }
                var mask = TokenMask(count: count)
                for id in 0..<count where Double.random(in: 0..<1, using: &random) < share || share == 1 {
                    mask.insert(Int32(id))
                }
                let allowed = logits.indices.filter { mask.contains(Int32($0)) }
                var candidates = Candidates()
                logits.withUnsafeBufferPointer { candidates.reset(to: $0, in: mask) }
                #expect(candidates.ids.map { Int($0) } == (allowed.isEmpty ? Array(logits.indices) : allowed))
                #expect(candidates.logits == candidates.ids.map { logits[Int($0)] })
                let best = allowed.min { (-logits[$0], $0) < (-logits[$1], $1) }
                #expect(logits.withUnsafeBufferPointer { Candidates.mostLikely(in: $0, mask) } == best.map(Int32.init))
                let all = logits.indices.min { (-logits[$0], $0) < (-logits[$1], $1) }
                #expect(logits.withUnsafeBufferPointer { Candidates.mostLikely(in: $0, nil) } == all.map(Int32.init))
            }
        }
    }

    @Test func `dropped tokens are gone, unless none would be left`() {
        let logits = (0..<100).map { Float($0) }
        var candidates = Candidates()
        logits.withUnsafeBufferPointer { candidates.reset(to: $0) }
        candidates.drop([99, 0, 50, 100, -1])
        #expect(candidates.ids == Array(1..<50) + Array(51..<99))
        #expect(candidates.logits == candidates.ids.map { Float($0) })
        var mask = TokenMask(count: 100)
        for id in [3, 50, 77] as [Int32] { mask.insert(id) }
        candidates.keep(mask)
        #expect(candidates.ids == [3, 77] && candidates.logits == [3, 77])
        candidates.drop([77])
        candidates.drop([3])
        #expect(candidates.ids == [3])
    }

    @Test func `the same seed draws the same tokens, another seed others`() {
        func draws(_ seed: UInt64) -> [Int32] {
            var sampler = Sampler(chain: chain(), options: .init(seed: seed), prompt: [])
            return (0..<64).map { _ in logits.withUnsafeBufferPointer { sampler.next($0) } }
        }
        #expect(draws(7) == draws(7))
        #expect(draws(7) != draws(8))
    }

    @Test func `presence and frequency penalties count what was generated, not the prompt`() {
        let options = SamplingOptions(frequencyPenalty: 1)
        var sampler = Sampler(chain: chain(temperature: 0), options: options, prompt: [0, 0, 0, 0])
        let logits: [Float] = [2.5, 1, 0]
        // 2.5, then 1.5, then 0.5 is below 1, then 1 − 1 = 0 is below 0.5.
        let drawn = (0..<4).map { _ in logits.withUnsafeBufferPointer { sampler.next($0) } }
        #expect(drawn == [0, 0, 1, 0])
    }

    @Test func `the repetition penalty looks at the prompt too, within its window`() {
        let logits: [Float] = [2, 1.5, -1]
        func first(prompt: [Int32], window: Int) -> Int32 {
            var sampler = Sampler(
                chain: chain(temperature: 0, repetitionPenalty: 2), options: .init(penaltyWindow: window),
                prompt: prompt)
            return logits.withUnsafeBufferPointer { sampler.next($0) }
        }
        #expect(first(prompt: [0], window: 8) == 1)
        #expect(first(prompt: [0, 2, 2], window: 2) == 0)
    }

    @Test func `a bias can force or forbid a token, and ids that do not exist do nothing`() {
        let options = SamplingOptions(logitBias: [2: 100, 0: -100, 99: 100, -1: 100])
        var sampler = Sampler(chain: chain(temperature: 0), options: options, prompt: [])
        #expect([1, 2, 3].withUnsafeBufferPointer { sampler.next($0) } == 2)
    }

    @Test func `options out of range are refused by name`() {
        #expect(throws: LocalModelError.self) { try SamplingOptions(temperature: -1).validate(vocabularySize: 10) }
        #expect(throws: LocalModelError.self) {
            try SamplingOptions(temperature: .nan).validate(vocabularySize: 10)
        }
        #expect(throws: LocalModelError.self) { try SamplingOptions(topP: 1.5).validate(vocabularySize: 10) }
        #expect(throws: LocalModelError.self) {
            try SamplingOptions(maximumTokens: 0).validate(vocabularySize: 10)
        }
        #expect(throws: LocalModelError.self) {
            try SamplingOptions(logitBias: [10: 1]).validate(vocabularySize: 10)
        }
        #expect(throws: Never.self) {
            try SamplingOptions(temperature: 0, topK: 40, logitBias: [9: -100]).validate(vocabularySize: 10)
        }
    }
}
