extension LocalModel {
    /// The log probability of each token after the first, given the tokens before it.
    ///
    /// - Parameter top: Number of most likely alternatives to report for each.
    /// - Throws: `LocalModelError`, or `CancellationError` between two chunks.
    public func logprobs(of tokens: [Int32], top: Int) async throws -> [TokenLogprob] {
        guard (0...TokenLogprob.maximumTop).contains(top) else {
            throw LocalModelError.invalidOption("top: expected 0...\(TokenLogprob.maximumTop), found \(top)")
        }
        return try await mapLogits(of: tokens) { position, logits in
            position + 1 < tokens.count ? TokenLogprob(of: tokens[position + 1], in: logits, top: top) : nil
        }.compactMap { $0 }
    }

    /// Applies `body` to the logits after each of `tokens` from `first` on, without storing the logits.
    ///
    /// - Parameters:
    ///   - asAnswer: Whether tokens are computed one by one, as in decoding.
    ///   - body: Called on the model's thread, with a position and the logits after it.
    package func mapLogits<Result: Sendable>(
        of tokens: [Int32], from first: Int = 0, asAnswer: Bool = false,
        _ body: @escaping @Sendable (_ position: Int, _ logits: UnsafeBufferPointer<Float>) -> Result
    ) async throws -> [Result] {
        try await read(tokens, from: first, asAnswer: asAnswer, output: .logits, body)
    }

    /// Computes a text in chunks between the steps of running requests; calls `body` with outputs from `first` on.
    private func read<Result: Sendable>(
        _ tokens: [Int32], from first: Int, asAnswer: Bool = false, output: Step.Output,
        _ body: @escaping @Sendable (_ position: Int, _ output: UnsafeBufferPointer<Float>) -> Result
    ) async throws -> [Result] {
        try check(tokens)
        try checkDecoderOnly()
        guard tokens.count <= contextSize else {
            throw LocalModelError.contextSizeExceeded(contextSize: contextSize, tokenCount: tokens.count)
        }
        let adapters = try selection(nil, prompt: tokens)
        let sequence = ReadSequence()
        var results: [Result] = []
        var start = 0
        while start < tokens.count {
            try Task.checkCancellation()
            // For a vocabulary of 150 000, the logits of 128 rows take 75 MB.
            let rows = asAnswer ? 1 : start < first ? StateShape.stepRows : 128
            let range = start..<min(start + rows, start < first ? first : tokens.count)
            let chunk: [Result]? = try await thread.perform { network, compute in
                let state = sequence.state ?? network.makeState()
                sequence.state = range.upperBound < tokens.count ? state : nil
                var step = Step()
                step.append(
                    tokens[range], to: state, output: range.lowerBound < first ? .none : .all, isAnswer: asAnswer,
                    adapters: adapters)
                step.output = output
                let outputs = network.forward(step, on: compute)
                guard range.lowerBound >= first else { return [] }
                guard (0..<outputs.rows).allSatisfy({ outputs.isFinite($0) }) else { return nil }
                return range.map { position in
                    body(
                        position,
                        UnsafeBufferPointer(start: outputs[position - range.lowerBound], count: outputs.columns))
                }
            }
            guard let chunk else { throw LocalModelError.resultNotFinite(model: info.name, input: nil) }
            results += chunk
            start = range.upperBound
        }
        return results
    }
}

/// The sequence state of a text being read.
///
/// `@unchecked Sendable`: used on the engine's thread only.
private final class ReadSequence: @unchecked Sendable {
    var state: SequenceState?
}
