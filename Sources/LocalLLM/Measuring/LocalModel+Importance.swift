extension LocalModel {
    /// Writes an importance matrix for `Quantizer`: the importance of each column of the model's matrices for a text.
    ///
    /// - Parameters:
    ///   - chunks: Token chunks of equal length, computed independently.
    ///   - dataset: Name of the text, recorded in the file.
    ///   - progress: Called with the number of finished chunks.
    /// - Throws: `LocalModelError`; `ModelFileError` if the file cannot be written.
    package func writeImportance(
        of chunks: [[Int32]], dataset: String, to path: String, progress: (Int) -> Void
    ) async throws {
        try checkDecoderOnly()
        let collector = ImportanceCollector()
        for (index, tokens) in chunks.enumerated() {
            try check(tokens)
            try Task.checkCancellation()
            let isFinite = try await thread.perform { network, compute in
                compute.observer = { collector.add($0, $1) }
                defer { compute.observer = nil }
                let state = network.makeState()
                var isFinite = true
                for start in stride(from: 0, to: tokens.count, by: StateShape.stepRows) {
                    var step = Step()
                    let end = min(start + StateShape.stepRows, tokens.count)
                    step.append(tokens[start..<end], to: state, output: .last)
                    isFinite = network.forward(step, on: compute).isFinite(0) && isFinite
                }
                return isFinite
            }
            guard isFinite else { throw LocalModelError.resultNotFinite(model: info.name, input: nil) }
            progress(index + 1)
        }
        try collector.write(
            to: path, chunks: chunks.count, chunkSize: chunks.first?.count ?? 0, dataset: dataset)
    }
}
