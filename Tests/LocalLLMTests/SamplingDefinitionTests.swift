@testable import Engine
import Foundation
import TestSupport
import Testing
import Tokenizer

@testable import LocalLLM

/// Each sampler against its published definition, computed in the plainest way, on random distributions.
@Suite struct SamplingDefinitionTests {
    private func randomLogits(_ count: Int, seed: UInt64) -> [Float] {
        var generator = SplitMix64(seed: seed)
        return (0..<count).map { _ in Float.random(in: -6...6, using: &generator) }
    }

    private func candidates(_ logits: [Float]) -> Candidates {
        var candidates = Candidates()
        logits.withUnsafeBufferPointer { candidates.reset(to: $0) }
        return candidates
    }

    /// A token for each byte, after three special ones.
    private func byteTokenizer() throws -> TextTokenizer {
        let bytes = (0..<256).map { String(format: "<0x%02X>", $0) }
        var description = TokenizerDescription(
            model: "llama", tokens: (["<unk>", "<s>", "</s>"] + bytes).map { Array($0.utf8) })
        description.types = [2, 3, 3] + bytes.map { _ in 6 }
        description.scores = description.types?.map { _ in 0 }
        description.endOfSequence = TinyModel.endOfSequence
        description.addBeginningOfSequence = false
        description.addSpacePrefix = false
        return try TextTokenizer(description)
    }

    private func softmax(_ logits: [Float]) -> [Double] {
        let weights = logits.map { exp(Double($0)) }
        let sum = weights.reduce(0, +)
        return weights.map { $0 / sum }
    }

    @Test(arguments: [0.5, 1, 2, 0]) func `top-nσ keeps what is within n deviations of the maximum`(_ n: Double) {
        for seed in 0..<20 as Range<UInt64> {
            let logits = randomLogits(100, seed: seed)
            var kept = candidates(logits)
            kept.filterTopNSigma(n)
            let mean = logits.map(Double.init).reduce(0, +) / 100
            let deviation = (logits.map { pow(Double($0) - mean, 2) }.reduce(0, +) / 100).squareRoot()
            let threshold = Double(logits.max() ?? 0) - n * deviation
            let expected = logits.indices.filter { n == 0 || Double(logits[$0]) >= threshold - 1e-5 }
            #expect(Set(kept.ids) == Set(expected.map(Int32.init)))
        }
    }

    @Test func `XTC leaves the least likely of those above the threshold, as often as its probability says`() {
        var scratch: [Double] = []
        var acted = 0
        for seed in 0..<400 as Range<UInt64> {
            let logits = randomLogits(20, seed: seed)
            var random = SplitMix64(seed: seed &* 77 &+ 5)
            var kept = candidates(logits)
            kept.filterXTC(.init(probability: 0.5, threshold: 0.1), using: &random, scratch: &scratch)
            let probabilities = softmax(logits)
            let top = probabilities.indices.filter { probabilities[$0] >= 0.1 }
            let least = top.min { probabilities[$0] < probabilities[$1] }
            let all = Set(logits.indices.map(Int32.init))
            guard Set(kept.ids) != all else { continue }
            acted += 1
            #expect(Set(kept.ids) == all.subtracting(top.filter { $0 != least }.map(Int32.init)))
        }
        // Half of those that have two such tokens; fewer than that have.
        let able = (0..<400 as Range<UInt64>).count { seed in
            softmax(randomLogits(20, seed: seed)).count { $0 >= 0.1 } > 1
        }
        #expect(able > 300)
        #expect(abs(Double(acted) - Double(able) / 2) < 5 * (Double(able) / 4).squareRoot())
    }

    @Test(arguments: [(1.0, 0.5, 1.0), (0.8, 1.5, 2.0), (1.0, 0, 1)])
    func `dynamic temperature follows the normalized entropy`(_ middle: Double, _ range: Double, _ exponent: Double) {
        for seed in 0..<20 as Range<UInt64> {
            let probabilities = softmax(randomLogits(50, seed: seed))
            let entropy = -probabilities.map { $0 * log2($0) }.reduce(0, +) / log2(50)
            let (low, high) = (max(0, middle - range), middle + range)
            let expected = low + (high - low) * pow(entropy, exponent)
            let found = SamplingOptions.DynamicTemperature(range: range, exponent: exponent)
                .temperature(around: middle, probabilities)
            #expect(abs(found - (range == 0 ? middle : expected)) < 1e-9)
        }
        let certain = SamplingOptions.DynamicTemperature(range: 2).temperature(around: 1, [1, 0, 0])
        #expect(certain == 0)
    }

    @Test func `Mirostat 2 draws among tokens within its bound, and moves that by the error`() {
        var scratch: [Double] = []
        for seed in 0..<50 as Range<UInt64> {
            let logits = randomLogits(60, seed: seed)
            var random = SplitMix64(seed: seed)
            var mirostat = MirostatSampler(.init(.two, tau: 1.5, eta: 0.2))
            #expect(mirostat.bound == 3)
            var choice = candidates(logits)
            let token = mirostat.choose(from: &choice, using: &random, scratch: &scratch)
            let probabilities = softmax(logits)
            let most = probabilities.max() ?? 0
            let kept = probabilities.indices.filter { -log2(probabilities[$0]) <= 3 || probabilities[$0] == most }
            #expect(kept.contains(Int(token)))
            let share = probabilities[Int(token)] / kept.map { probabilities[$0] }.reduce(0, +)
            #expect(abs(mirostat.bound - (3 - 0.2 * (-log2(share) - 1.5))) < 1e-6)
        }
    }

    @Test func `Mirostat 1 estimates Zipf's exponent and keeps as many tokens as it says`() {
        // Probabilities that follow the law exactly: the estimate is the exponent itself.
        for (exponent, surprise) in [(1.2, 4.0), (1.5, 6.0), (2.0, 3.0)] {
            let weights = (1...1000).map { pow(Double($0), -exponent) }
            let sum = weights.reduce(0, +)
            let epsilon = exponent - 1
            let expected = pow(
                epsilon * pow(2, surprise) / (1 - pow(1000, -epsilon)), 1 / exponent)
            let count = MirostatSampler.count(for: surprise, weights.map { $0 / sum }, vocabulary: 1000)
            #expect(abs(count - Int(expected)) <= 1)
        }
        #expect(MirostatSampler.count(for: 3, [0.25, 0.25, 0.25, 0.25], vocabulary: 4) == 4)
        #expect(MirostatSampler.count(for: 3, [1], vocabulary: 1) == 1)
    }

    @Test func `Mirostat holds the surprise of what is drawn near its target`() {
        for version in [SamplingOptions.Mirostat.Version.one, .two] {
            var sampler = Sampler(
                chain: .init(temperature: 1), options: .init(seed: 1, mirostat: .init(version, tau: 3)), prompt: [])
            var (sum, count) = (0.0, 0)
            for step in 0..<600 as Range<UInt64> {
                let logits = randomLogits(200, seed: step).map { $0 / 2 }
                let token = logits.withUnsafeBufferPointer { sampler.next($0) }
                guard step >= 100 else { continue }
                sum -= log2(softmax(logits)[Int(token)])
                count += 1
            }
            // The target holds for the distribution that was cut; the whole one makes tokens more surprising.
            #expect((2.5...6).contains(sum / Double(count)), "\(version): \(sum / Double(count))")
        }
    }

    /// OpenAI's penalties are of the text that was generated; llama.cpp's, of the last tokens, prompt included.
    @Test(arguments: [false, true], [0, 3, 64])
    func `presence and frequency penalties count what their definition says`(_ countsPrompt: Bool, _ window: Int) {
        for seed in 0..<10 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let prompt = (0..<20).map { _ in Int32.random(in: 0..<12, using: &random) }
            var options = SamplingOptions(
                temperature: 0, presencePenalty: 0.7, frequencyPenalty: 0.4, penaltyWindow: window)
            options.penaltiesCountPrompt = countsPrompt
            var sampler = Sampler(chain: .init(temperature: 0), options: options, prompt: prompt)
            var generated: [Int32] = []
            for step in 0..<12 as Range<UInt64> {
                let logits = randomLogits(12, seed: seed &* 100 &+ step).map { $0 / 4 }
                let counted = countsPrompt ? Array((prompt + generated).suffix(window)) : generated
                let expected = logits.enumerated().map { id, logit in
                    let count = counted.count { $0 == Int32(id) }
                    return Double(logit) - (count > 0 ? 0.7 : 0) - Double(count) * 0.4
                }
                let token = logits.withUnsafeBufferPointer { sampler.next($0) }
                #expect(expected[Int(token)] >= (expected.max() ?? 0) - 1e-5)
                generated.append(token)
            }
        }
    }

    /// The definition read as it stands: for each token, the longest sequence before an earlier occurrence that the text
    /// ends with.
    private func dryPenalties(
        _ text: [Int32], _ options: SamplingOptions.DRY, isBreaker: (Int32) -> Bool
    ) -> [Int32: Double] {
        let window = Array(options.window < 0 ? text[...] : text.suffix(options.window))
        let limit = window.reversed().prefix { !isBreaker($0) }.count
        var penalties: [Int32: Double] = [:]
        for position in 1..<max(1, window.count) where !isBreaker(window[position]) {
            var length = 0
            while length < position, window[position - 1 - length] == window[window.count - 1 - length] { length += 1 }
            length = min(length, limit)
            guard length >= options.allowedLength else { continue }
            let penalty = options.multiplier * pow(options.base, Double(length - options.allowedLength))
            penalties[window[position]] = max(penalties[window[position]] ?? 0, penalty)
        }
        return penalties
    }

    @Test(arguments: [(-1, 2), (12, 1), (40, 3), (0, 2)])
    func `DRY penalizes what would go on with a repetition, by its length`(_ window: Int, _ allowed: Int) throws {
        let tokenizer = try byteTokenizer()
        let breaker = try #require(tokenizer.encode("\n", addSpecial: false, parseSpecial: false).last)
        let letters = (0..<3).map { breaker + 1 + Int32($0) }
        let options = SamplingOptions.DRY(
            multiplier: 0.8, base: 1.5, allowedLength: allowed, window: window, breakers: ["\n"])
        var generator = SplitMix64(seed: 3)
        for _ in 0..<60 {
            let text = (0..<50).map { _ in
                Int.random(in: 0..<12, using: &generator) == 0 ? breaker : letters.randomElement(using: &generator)!
            }
            // Half of it as the prompt, half as it is generated.
            var dry = DRYSampler(options, prompt: Array(text.prefix(25)), tokenizer: tokenizer)
            for token in text.dropFirst(25) { dry.accept(token) }
            var found = candidates([Float](repeating: 0, count: Int(letters[2]) + 1))
            dry.penalize(&found)
            let expected = dryPenalties(text, options) { $0 == breaker }
            for (index, id) in found.ids.enumerated() {
                #expect(abs(Double(found.logits[index]) + (expected[id] ?? 0)) < 1e-3)
            }
        }
    }

    @Test func `a breaker counts also where it is spread over tokens, and huge penalties stay finite`() throws {
        let tokenizer = try byteTokenizer()
        func ids(_ text: String) -> [Int32] { tokenizer.encode(text, addSpecial: false, parseSpecial: false) }
        func penalty(_ text: String, breakers: [String]) -> Float {
            let options = SamplingOptions.DRY(multiplier: 1, base: 2, allowedLength: 2, window: -1, breakers: breakers)
            var dry = DRYSampler(options, prompt: ids(text), tokenizer: tokenizer)
            var found = candidates([Float](repeating: 0, count: 300))
            dry.penalize(&found)
            return -(found.logits.min() ?? 0)
        }
        // "abcd" has come before, and "e" after it.
        #expect(penalty("abcdeXabcd", breakers: []) == 4)
        #expect(penalty("abcdeXabcd", breakers: ["ab"]) == 1)
        #expect(penalty("abcdeXabcd", breakers: ["cd"]) == 0)
        #expect(penalty(String(repeating: "a", count: 400), breakers: []).isFinite)
    }

    @Test func `the Z-function counts how much agrees with the beginning`() {
        var generator = SplitMix64(seed: 9)
        for _ in 0..<50 {
            let sequence = (0..<40).map { _ in Int32.random(in: 0..<2, using: &generator) }
            let expected = sequence.indices.map { start in
                start == 0 ? 0 : zip(sequence, sequence[start...]).prefix { $0 == $1 }.count
            }
            #expect(DRYSampler.matches(in: sequence) == expected)
        }
    }

    @Test func `no token ends a generation before its minimum, or at all where that is asked for`() throws {
        let tokenizer = try byteTokenizer()
        let end = try #require(tokenizer.endOfGeneration.first)
        var logits = [Float](repeating: 0, count: 300)
        logits[Int(end)] = 9
        logits[7] = 5
        logits[8] = 4
        func draws(_ options: SamplingOptions) -> [Int32] {
            var sampler = Sampler(chain: .init(temperature: 0), options: options, prompt: [], tokenizer: tokenizer)
            return (0..<3).map { _ in logits.withUnsafeBufferPointer { sampler.next($0) } }
        }
        #expect(draws(.init()) == [end, end, end])
        #expect(draws(.init(minimumTokens: 2)) == [7, 7, end])
        #expect(draws(.init(stopTokens: [7], minimumTokens: 1)) == [8, end, end])
        #expect(draws(.init(ignoresEndOfSequence: true)) == [7, 7, 7])
    }
}
