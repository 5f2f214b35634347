import KernelFormats

extension GGUFFile {
    /// Reads the network of a model that drafts tokens for another one.
    ///
    /// - Parameters:
    ///   - model: The other model's file.
    ///   - packer: Repacks the weights; `nil`: they stay as in the file.
    func draftNetwork(
        for model: GGUFFile, packer: WeightPacker? = nil, _ configuration: LocalModel.Configuration
    ) throws(ModelFileError) -> any Network {
        try checkVocabulary(equals: model)
        let network = try Registry.network(for: self, packer: packer, context: configuration.contextSize)
        guard network.kind == .decoder else {
            throw ModelFileError(
                .unsupported, "A draft model must be a decoder, but this is an \(network.kind).", path: path)
        }
        network.stateShape.format = configuration.cacheFormat
        return network
    }

    /// Checks that token IDs mean the same in both files. One may have further tokens at the end, such as padding.
    private func checkVocabulary(equals model: GGUFFile) throws(ModelFileError) {
        let key = "tokenizer.ggml.tokens"
        let (own, others) = (try metadata.strings(key), try model.metadata.strings(key))
        let common = min(own.count, others.count)
        guard let token = (0..<common).first(where: { own[$0] != others[$0] }) else {
            guard common > 0 else {
                throw ModelFileError(.badMetadata, "The metadata key '\(key)' is empty.", path: path)
            }
            return
        }
        throw ModelFileError(
            .unsupported,
            "A draft model needs the vocabulary of the model '\(model.path)': token \(token) is '\(own[token])', expected '\(others[token])'.",
            path: path)
    }
}
