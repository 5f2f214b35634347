package import GGUF

extension Sampler.Chain {
    /// The sampling options that a file recommends for its model (`general.sampling.*`).
    package init(recommendedBy file: GGUFFile) throws(ModelFileError) {
        self.init()
        func value(_ key: String, _ range: ClosedRange<Double>) throws(ModelFileError) -> Double? {
            guard let value = try file.metadata.numberIfPresent("general.sampling.\(key)") else { return nil }
            guard range.contains(value) else {
                throw ModelFileError(
                    .badMetadata, "The metadata key 'general.sampling.\(key)' must be in \(range), but is \(value).",
                    path: file.path)
            }
            return value
        }
        temperature = try value("temp", 0...100) ?? temperature
        topK = try value("top_k", 0...1e9).map { Int($0) } ?? topK
        topP = try value("top_p", 0...1) ?? topP
        minP = try value("min_p", 0...1) ?? minP
        typicalP = try value("typical_p", 0...1) ?? typicalP  // a key of this package
        repetitionPenalty = try value("penalty_repeat", 0.01...100) ?? repetitionPenalty
        suppressed = Set(try file.metadata.int32sIfPresent("tokenizer.ggml.suppress_tokens") ?? [])
    }

    package func overridden(by options: SamplingOptions) -> Self {
        Self(
            temperature: options.temperature ?? temperature, topK: options.topK ?? topK, topP: options.topP ?? topP,
            minP: options.minP ?? minP, typicalP: options.typicalP ?? typicalP,
            repetitionPenalty: options.repetitionPenalty ?? repetitionPenalty, suppressed: suppressed)
    }
}

extension SamplingOptions {
    /// - Throws: `invalidOption` with the first option that is out of range.
    package func validate(vocabularySize: Int) throws(LocalModelError) {
        func check(_ name: String, _ value: Double?, _ range: ClosedRange<Double>) throws(LocalModelError) {
            guard let value, !range.contains(value) else { return }
            throw .invalidOption(
                "\(name): expected \(range), found \(value)")
        }
        try check("temperature", temperature, 0...100)
        try check("topP", topP, 0...1)
        try check("minP", minP, 0...1)
        try check("typicalP", typicalP, 0...1)
        try check("repetitionPenalty", repetitionPenalty, 0.01...100)
        try check("presencePenalty", presencePenalty, -100...100)
        try check("frequencyPenalty", frequencyPenalty, -100...100)
        try check("topK", topK.map(Double.init), 0...Double(Int32.max))
        try check("penaltyWindow", Double(penaltyWindow), 0...Double(Int32.max))
        try check("maximumTokens", maximumTokens.map(Double.init), 1...Double(Int32.max))
        try check("topNSigma", topNSigma, 0...Double(Float.greatestFiniteMagnitude))
        try check("minimumTokens", Double(minimumTokens), 0...Double(Int32.max))
        try check("xtc.probability", xtc?.probability, 0...1)
        try check("xtc.threshold", xtc?.threshold, 0...1)
        try check("dynamicTemperature.range", dynamicTemperature?.range, 0...100)
        try check("dynamicTemperature.exponent", dynamicTemperature?.exponent, 0...100)
        try check("mirostat.tau", mirostat?.tau, 0...100)
        try check("mirostat.eta", mirostat?.eta, 0...1)
        try check("dry.multiplier", dry?.multiplier, 0...1e6)
        try check("dry.base", dry?.base, 1...1e6)
        try check("dry.allowedLength", dry.map { Double($0.allowedLength) }, 1...Double(Int32.max))
        try check("dry.window", dry.map { Double($0.window) }, -1...Double(Int32.max))
        for token in stopTokens { try check("stopTokens", Double(token), 0...Double(vocabularySize - 1)) }
        try check("topLogprobs", topLogprobs.map(Double.init), 0...Double(TokenLogprob.maximumTop))
        let longest = stop.map(\.utf8.count).max() ?? 0
        try check("stop: bytes", Double(longest), 0...Double(Self.maximumStopBytes))
        for (id, bias) in logitBias {
            try check("logitBias: token id", Double(id), 0...Double(vocabularySize - 1))
            try check("logitBias of token \(id)", bias, -1e6...1e6)
        }
    }
}
