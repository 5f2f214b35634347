extension LocalModel {
    /// Times from `measure`, in seconds, without tokenizing and sampling.
    public struct Measurement: Sendable {
        /// From the first `prompt` token (the first `generate` token, without a prompt) to the last token.
        public var seconds: Double
        /// Time to the logits from which each sequence's first answer token would be sampled.
        public var secondsToFirstToken: Double
        /// Bytes of weights that greedy answers did not need; see `BestOutputs`.
        package var unreadBytes = 0
    }

    /// Times the model on random tokens, the same in each run. Steps compute the logits that greedy answers depend on.
    ///
    /// - Parameters:
    ///   - prompt: Number of tokens to prefill.
    ///   - generate: Number of tokens to decode one by one after the prompt.
    ///     With a draft model and without a prompt, greedy answers with drafts are generated instead, with sampling.
    ///   - depth: Number of tokens in the sequence before the clock starts.
    ///   - batch: Number of parallel sequences, each with that many tokens; a decode step computes one token of each.
    ///   - repetitions: Number of timed runs. The depth is computed once.
    ///   - progress: Called with the number of the repetition that begins; with 0 before the depth is computed.
    /// - Throws: `LocalModelError`.
    public func measure(
        prompt: Int, generate: Int, depth: Int = 0, batch: Int = 1, repetitions: Int = 1,
        progress: @escaping @Sendable (_ repetition: Int) -> Void = { _ in }
    ) async throws -> [Measurement] {
        let (tokens, adapters) = try measuredTokens(prompt: prompt, generate: generate, depth: depth, batch: batch)
        guard repetitions > 0 else {
            throw LocalModelError.invalidOption("repetitions: expected at least 1, found \(repetitions)")
        }
        if prompt == 0, drafter != nil {
            return try await measureDrafts(
                after: Array(tokens.prefix(max(1, depth))), generate, batch, repetitions, progress)
        }
        return try await thread.perform { network, compute in
            let run = MeasuredRun(
                network: network, compute: compute, tokens: tokens, adapters: adapters, batch: batch)
            progress(0)
            run.prefill(0..<depth, output: .none)
            for state in run.states { state.checkpoint() }
            return (1...repetitions).map { repetition in
                progress(repetition)
                for state in run.states { state.rollBack(to: depth) }
                return run.time(prompt: depth..<depth + prompt, answer: depth + prompt..<tokens.count)
            }
        }
    }

    /// Times the parts of the steps that `measure` takes as a whole.
    ///
    /// - Returns: The parts, and the seconds of the whole steps. What is left of them was spent between the parts.
    /// - Throws: `LocalModelError`.
    package func profile(
        prompt: Int, generate: Int, depth: Int = 0, batch: Int = 1
    ) async throws -> (parts: [ProfiledPart], seconds: Double) {
        let (tokens, adapters) = try measuredTokens(prompt: prompt, generate: generate, depth: depth, batch: batch)
        return try await thread.perform { network, compute in
            let run = MeasuredRun(
                network: network, compute: compute, tokens: tokens, adapters: adapters, batch: batch)
            run.prefill(0..<depth, output: .none)
            for state in run.states { state.checkpoint() }
            let ranges = (prompt: depth..<depth + prompt, answer: depth + prompt..<tokens.count)
            _ = run.time(prompt: ranges.prompt, answer: ranges.answer)
            for state in run.states { state.rollBack(to: depth) }
            let profile = StepProfile()
            compute.profile = profile
            defer { compute.profile = nil }
            let seconds = run.time(prompt: ranges.prompt, answer: ranges.answer).seconds
            return (profile.parts, seconds)
        }
    }

    /// Checks a measurement's sizes, and makes its tokens.
    private func measuredTokens(
        prompt: Int, generate: Int, depth: Int, batch: Int
    ) throws -> (tokens: [Int32], adapters: AdapterSelection) {
        guard depth >= 0, prompt >= 0, generate >= 0, prompt > 0 || generate > 0 else {
            throw LocalModelError.invalidOption("prompt, generate: expected at least one token to time")
        }
        guard depth <= contextSize, prompt <= contextSize - depth, generate <= contextSize - depth - prompt else {
            throw LocalModelError.invalidOption(
                "depth, prompt, generate: expected at most \(contextSize) in all, found \(depth), \(prompt), \(generate)"
            )
        }
        guard (1...StateShape.stepRows).contains(batch) else {
            throw LocalModelError.invalidOption("batch: expected 1...\(StateShape.stepRows), found \(batch)")
        }
        if depth > 0 || generate > 0 || info.kind == .encoderDecoder { try checkDecoderOnly() }
        let tokens = (0..<depth + prompt + generate).map { Int32(((7 * $0) % 997 + 3) % info.vocabularySize) }
        return (tokens, try selection(nil, prompt: tokens))
    }
}

extension LocalModel {
    private func measureDrafts(
        after prompt: [Int32], _ count: Int, _ batch: Int, _ repetitions: Int, _ progress: @Sendable (Int) -> Void
    ) async throws -> [Measurement] {
        // The first token ends prefill; the clock starts with it.
        var options = SamplingOptions(temperature: 0, maximumTokens: count + 1)
        options.ignoresEndOfSequence = true
        var measurements: [Measurement] = []
        for repetition in 1...repetitions {
            progress(repetition)
            let generations = (0..<batch).map { _ in generate(tokens: prompt, options: options) }
            var measurement = Measurement(seconds: 0, secondsToFirstToken: 0)
            for generation in generations {
                for try await piece in generation {
                    measurement.seconds = max(measurement.seconds, piece.finish?.usage.decodeSeconds ?? 0)
                }
            }
            measurement.secondsToFirstToken = measurement.seconds / Double(count)
            measurements.append(measurement)
        }
        return measurements
    }
}

/// Parallel sequences of the same tokens.
private struct MeasuredRun {
    let network: any Network
    let compute: Compute
    let tokens: [Int32]
    let adapters: AdapterSelection
    let states: [SequenceState]

    init(network: any Network, compute: Compute, tokens: [Int32], adapters: AdapterSelection, batch: Int) {
        self.adapters = adapters
        self.network = network
        self.compute = compute
        self.tokens = tokens
        states = (0..<batch).map { _ in network.makeState() }
    }

    func time(prompt: Range<Int>, answer: Range<Int>) -> LocalModel.Measurement {
        let clock = ContinuousClock()
        let (started, unread) = (clock.now, compute.unreadBytes)
        var firstToken: ContinuousClock.Instant?
        prefill(prompt, output: .last)
        if !prompt.isEmpty { firstToken = clock.now }
        for position in answer {
            var step = Step()
            for state in states {
                step.append(tokens[position...position], to: state, output: .last, isAnswer: true, adapters: adapters)
            }
            step.wanted = states.map { _ in BestOutputs(count: 1) }
            _ = network.forward(step, on: compute)
            if firstToken == nil { firstToken = clock.now }
        }
        let ended = clock.now
        return .init(
            seconds: (ended - started) / .seconds(1),
            secondsToFirstToken: ((firstToken ?? ended) - started) / .seconds(1),
            unreadBytes: compute.unreadBytes - unread)
    }

    /// Prefills one sequence after another, in steps of the engine's size. An encoder reads an input in one step.
    func prefill(_ range: Range<Int>, output: Step.Rows) {
        let rowBudget = network.kind == .encoder ? max(StateShape.stepRows, range.count) : StateShape.stepRows
        var step = Step()
        for state in states {
            var start = range.lowerBound
            while start < range.upperBound {
                let end = min(range.upperBound, start + rowBudget - step.tokens.count)
                step.append(
                    tokens[start..<end], to: state, output: end == range.upperBound ? output : .none,
                    adapters: adapters)
                start = end
                if step.tokens.count == rowBudget {
                    _ = network.forward(step, on: compute)
                    step = Step()
                }
            }
        }
        if !step.tokens.isEmpty { _ = network.forward(step, on: compute) }
    }
}
