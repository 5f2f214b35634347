import KernelFormats

extension LocalModel.Info {
    init(
        _ file: GGUFFile, _ network: any Network, _ head: PoolingHead, fallbackName: String
    ) throws(ModelFileError) {
        name = try file.metadata.displayTextIfPresent("general.name") ?? fallbackName
        architecture = try file.metadata.string("general.architecture")
        quantization = file.quantizationName
        tensorBytes = file.bytesByType.map { (type: $0.type.name, bytes: $0.bytes) }
        parameterCount = file.tensors.reduce(0) { $0 + $1.shape.reduce(1, *) }
        fileBytes = file.byteCount
        vocabularySize = network.vocabularySize
        trainedContextSize = network.trainedContext
        kind = network.kind
        embeddingSize = head.width
        pooling = head.declared
        isReranker = head.scores > 0
        (labels, scoresAreProbabilities) = (head.labels, head.hasSoftmax)
        hasChatTemplate = try file.metadata.chatTemplates()["default"] != nil
        license = try file.metadata.displayTextIfPresent("general.license")
        costs = LocalModel.Costs(file, network)
    }
}

extension LocalModel.Costs {
    /// The costs of decoding one token; of a mixture of experts, only the experts it is routed to.
    init(_ file: GGUFFile, _ network: any Network) {
        let state = network.stateShape
        cacheBytesOfToken = state.readBytesPerToken(window: nil)
        for case let window? in state.groups.map(\.window) {
            cacheBytesOfWindow[window] = state.readBytesPerToken(window: window)
        }
        recurrentBytes = state.recurrentBytes
        let outputName = file.tensorIfPresent("output.weight") == nil ? "token_embd.weight" : "output.weight"
        let architecture = file.metadata["general.architecture"]?.string ?? ""
        let experts = max(1, file.metadata["\(architecture).expert_count"]?.int ?? 1)
        let used = min(experts, file.metadata["\(architecture).expert_used_count"]?.int ?? experts)
        for tensor in file.tensors where tensor.shape.dropFirst().reduce(1, *) > 1 {
            let (part, whole) = tensor.name.contains("_exps.") ? (used, experts) : (1, 1)
            if tensor.name == outputName {
                bytesOfStep += tensor.byteCount
            } else if tensor.name != "token_embd.weight" {
                bytesOfStep += tensor.byteCount / whole * part
                parametersOfPromptToken += tensor.count / whole * part
            }
        }
    }
}
