extension LanguageModel {
    /// What `body` makes of the logits after each of `tokens` from `first` on, without keeping them.
    ///
    /// - Parameter body: Called on the model's thread, with the position and the logits that it leads to.
    package func mapLogits<Result: Sendable>(
        of tokens: [Int32], from first: Int = 0,
        _ body: @escaping @Sendable (_ position: Int, _ logits: UnsafeBufferPointer<Float>) -> Result
    ) async throws -> [Result] {
        try check(tokens)
        return try await engine.perform { network, compute in
            let cache = KVCache(network.cacheShape)
            func step(_ range: Range<Int>, _ logits: Step.Logits) -> Matrix {
                var step = Step()
                step.append(tokens[range], to: cache, logits: logits)
                return network.forward(step, on: compute)
            }
            for start in stride(from: 0, to: first, by: Engine.rowBudget) {
                _ = step(start..<min(start + Engine.rowBudget, first), .none)
            }
            var results: [Result] = []
            // Of a vocabulary of 150 000, the logits of so many rows are 75 MB.
            for start in stride(from: first, to: tokens.count, by: 128) {
                let range = start..<min(start + 128, tokens.count)
                let logits = step(range, .all)
                results += range.map { position in
                    body(position, UnsafeBufferPointer(start: logits[position - start], count: logits.columns))
                }
            }
            return results
        }
    }
}
