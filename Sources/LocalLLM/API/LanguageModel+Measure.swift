extension LanguageModel {
    /// What `measure` took, in seconds. Tokenizing and sampling are not in it.
    public struct Measurement: Sendable {
        /// From the first of the `prompt` tokens (of the `generate` ones, without a prompt) to the last token.
        public var seconds: Double
        /// To the logits that the first answered token would be chosen from.
        public var secondsToFirstToken: Double
    }

    /// Times the model on made-up tokens, the same in each run.
    ///
    /// - Parameters:
    ///   - prompt: Tokens that enter in steps as large as a prompt's.
    ///   - generate: Tokens that enter one by one after the prompt, each for the logits after it.
    ///   - depth: Tokens that the sequence has before the clock starts.
    /// - Throws: `LanguageModelError`
    public func measure(prompt: Int, generate: Int, depth: Int = 0) async throws -> Measurement {
        guard depth >= 0, prompt >= 0, generate >= 0, prompt > 0 || generate > 0 else {
            throw LanguageModelError.invalidOption("prompt, generate: expected at least one token to time")
        }
        guard depth <= contextSize, prompt <= contextSize - depth, generate <= contextSize - depth - prompt else {
            throw LanguageModelError.invalidOption(
                "depth, prompt, generate: expected at most \(contextSize) in all, found \(depth), \(prompt), \(generate)"
            )
        }
        let total = depth + prompt + generate
        let tokens = (0..<total).map { Int32(((7 * $0) % 997 + 3) % info.vocabularySize) }
        return try await engine.perform { network, compute in
            let cache = KVCache(network.cacheShape)
            func run(_ range: Range<Int>, logits: Step.Logits, isAnswer: Bool = false) {
                var step = Step()
                step.append(tokens[range], to: cache, logits: logits, isAnswer: isAnswer)
                _ = network.forward(step, on: compute)
            }
            func prefill(_ range: Range<Int>, logits: Step.Logits) {
                for start in stride(from: range.lowerBound, to: range.upperBound, by: Engine.rowBudget) {
                    let end = min(start + Engine.rowBudget, range.upperBound)
                    run(start..<end, logits: end == range.upperBound ? logits : .none)
                }
            }
            prefill(0..<depth, logits: .none)
            let clock = ContinuousClock()
            let started = clock.now
            var firstToken: ContinuousClock.Instant?
            prefill(depth..<depth + prompt, logits: .last)
            if prompt > 0 { firstToken = clock.now }
            for position in depth + prompt..<total {
                run(position..<position + 1, logits: .last, isAnswer: true)
                if firstToken == nil { firstToken = clock.now }
            }
            let ended = clock.now
            return Measurement(
                seconds: (ended - started) / .seconds(1),
                secondsToFirstToken: ((firstToken ?? ended) - started) / .seconds(1))
        }
    }
}
