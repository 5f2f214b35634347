extension GenerationFields {
    /// Maximum of `n`.
    static let maximumChoices: Int64 = 16
    /// Maximum number of stop strings.
    static let maximumStops = 64

    /// `n` of a validated request.
    public var choices: Int { Int(n?.value ?? 1) }

    /// `logit_bias` of a validated request, by token id.
    public var logitBiasByToken: [Int32: Double] {
        (logitBias?.byToken ?? [:]).reduce(into: [:]) { result, entry in
            if let id = Int32(entry.key) { result[id] = entry.value }
        }
    }

    /// `logit_bias` of a validated request, by text: for all tokens of the text.
    public var logitBiasByText: [String: Double] { (logitBias?.byToken ?? [:]).filter { !LogitBias.isID($0.key) } }

    /// Checks what `Decodable` cannot. Errors name fields as the client spelled them.
    func validate() throws(APIError) {
        try checkRange("temperature", temperature, 0...2)
        try checkRange("top_p", topP, 0...1)
        try checkRange("presence_penalty", presencePenalty, -2...2)
        try checkRange("frequency_penalty", frequencyPenalty, -2...2)
        try checkRange("min_p", minP, 0...1)
        try checkRange("typical_p", typicalP, 0...1)
        try checkRange("repeat_penalty", repeatPenalty, 0.01...100)
        try checkRange("repetition_penalty", repetitionPenalty, 0.01...100)
        if let topK, topK.value < -1 { throw .invalid("top_k", "must be -1 or more, got \(topK.value)") }
        try checkRange("n", n, 1...Self.maximumChoices)
        for (key, bias) in logitBias?.byToken ?? [:] {
            let isValid = LogitBias.isID(key) ? (Int32(key) ?? -1) >= 0 : !key.isEmpty
            guard isValid else {
                throw .invalid("logit_bias", "expected token ids or texts as keys, found \"\(key)\"")
            }
            try checkRange("logit_bias.\(key)", bias, -100...100)
        }
        if let stop {
            guard stop.elements.count <= Self.maximumStops else {
                throw .invalid(
                    "stop", "at most \(Self.maximumStops) strings are allowed, got \(stop.elements.count)")
            }
            guard !stop.elements.contains("") else { throw .invalid("stop", "a stop string must not be empty") }
        }
        if streamOptions != nil, stream != true {
            throw .invalid("stream_options", "allowed only when stream is true")
        }
        _ = try requestedFormat()
    }
}

func checkRange(_ name: String, _ value: Double?, _ range: ClosedRange<Double>) throws(APIError) {
    guard let value, !range.contains(value) else { return }
    throw .invalid(
        name, "must be between \(short(range.lowerBound)) and \(short(range.upperBound)), got \(short(value))")
}

func checkRange(_ name: String, _ number: WholeNumber?, _ range: ClosedRange<Int64>) throws(APIError) {
    guard let value = number?.value, !range.contains(value) else { return }
    guard range.upperBound == .max else {
        throw .invalid(name, "must be between \(range.lowerBound) and \(range.upperBound), got \(value)")
    }
    throw .invalid(name, "must be at least \(range.lowerBound), got \(value)")
}

/// Formats whole numbers as `2` instead of `2.0`.
private func short(_ value: Double) -> String { Int(exactly: value).map { "\($0)" } ?? "\(value)" }
