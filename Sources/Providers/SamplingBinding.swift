package import JSON
package import LocalLLM
package import Wire

/// What a field of the table sets in the engine's options, and its value in them.
package struct SamplingBinding: Sendable {
    package let field: SamplingField
    /// Sets the value of a validated request.
    let set: @Sendable (SamplingFields.Value, inout SamplingOptions) -> Void
    /// `nil`: not set.
    package let get: @Sendable (SamplingOptions) -> JSON?

    /// Fields of the table that are not options of the sampler: `ConversationRequest` has the limit on reasoning, and the
    /// chat endpoint reports times.
    package static let unbound = ["reasoning_budget", "timings_per_token"]

    /// One for each field that is served. They are applied in this order: those of a sampler that is off change nothing.
    package static let all: [SamplingBinding] = sampling + length

    private static let sampling = [
        Self(.number, "temperature", \.temperature),
        Self(.number, "top_p", \.topP),
        Self(.count, "top_k", get: \.topK) { $0.topK = max(0, $1) },
        Self(.number, "min_p", \.minP),
        Self(.number, "typical_p", \.typicalP),
        Self(.number, "top_n_sigma", get: \.topNSigma) { $0.topNSigma = max(0, $1) },
        Self(.number, "presence_penalty", \.presencePenalty),
        Self(.number, "frequency_penalty", \.frequencyPenalty),
        Self(.number, "repetition_penalty", \.repetitionPenalty),
        Self(.count, "repeat_last_n", get: { $0.penaltyWindow == 64 ? nil : $0.penaltyWindow }) {
            $0.penaltyWindow = $1 < 0 ? Int(Int32.max) : $1
        },
        Self(.biases, "logit_bias", get: { $0.logitBias.isEmpty ? nil : $0.logitBias }) { $0.logitBias = $1 },
        Self(.int64, "seed", get: { $0.seed.map { Int64(bitPattern: $0) } }) { $0.seed = UInt64(bitPattern: $1) },
        Self(.number, "xtc_probability", get: \.xtc?.probability) { $0.xtc = $1 > 0 ? .init(probability: $1) : nil },
        Self(.number, "xtc_threshold", get: \.xtc?.threshold) { $0.xtc?.threshold = $1 },
        Self(.number, "dry_multiplier", get: \.dry?.multiplier) { $0.dry = $1 > 0 ? .init(multiplier: $1) : nil },
        Self(.number, "dry_base", get: \.dry?.base) { $0.dry?.base = $1 },
        Self(.count, "dry_allowed_length", get: \.dry?.allowedLength) { $0.dry?.allowedLength = $1 },
        Self(.count, "dry_penalty_last_n", get: \.dry?.window) { $0.dry?.window = $1 },
        Self(.texts, "dry_sequence_breakers", get: \.dry?.breakers) { $0.dry?.breakers = $1 },
        Self(.number, "dynatemp_range", get: \.dynamicTemperature?.range) {
            $0.dynamicTemperature = $1 > 0 ? .init(range: $1) : nil
        },
        Self(.number, "dynatemp_exponent", get: \.dynamicTemperature?.exponent) {
            $0.dynamicTemperature?.exponent = $1
        },
        Self(.count, "mirostat", get: \.mirostat?.version.rawValue) {
            $0.mirostat = SamplingOptions.Mirostat.Version(rawValue: $1).map { .init($0) }
        },
        Self(.number, "mirostat_tau", get: \.mirostat?.tau) { $0.mirostat?.tau = $1 },
        Self(.number, "mirostat_eta", get: \.mirostat?.eta) { $0.mirostat?.eta = $1 },
        Self(.scales, "lora", \.adapterScales),
    ]

    private static let length = [
        Self(.count, "max_tokens", get: \.maximumTokens) { $0.maximumTokens = $1 < 0 ? nil : min($1, 1 << 30) },
        Self(.count, "min_tokens", \.minimumTokens),
        Self(.flag, "ignore_eos", \.ignoresEndOfSequence),
        Self(.texts, "stop", \.stop),
        Self(.tokens, "stop_token_ids", \.stopTokens),
        Self(.flag, "return_progress", \.reportsProgress),
        Self(.count, "id_slot", get: \.slot) { $0.slot = max(0, $1) },
        // With the client, so that guessing another client's salt reveals nothing.
        Self(.text, "cache_salt", get: \.cacheSalt) { $0.cacheSalt = "\(FairShare.client ?? "") \($1)" },
    ]

    /// An option that always has a value.
    private init<Value: Equatable & Sendable>(
        _ form: Form<Value>, _ name: String, _ path: any WritableKeyPath<SamplingOptions, Value> & Sendable
    ) {
        let standard = SamplingOptions()[keyPath: path]
        self.init(
            form, name,
            get: { options in
                let value = options[keyPath: path]
                return value == standard ? nil : value
            }, set: { $0[keyPath: path] = $1 })
    }

    private init<Value: Sendable>(
        _ form: Form<Value>, _ name: String, _ path: any WritableKeyPath<SamplingOptions, Value?> & Sendable
    ) {
        self.init(form, name, get: { $0[keyPath: path] }, set: { $0[keyPath: path] = $1 })
    }

    private init<Value: Sendable>(
        _ form: Form<Value>, _ name: String, get: @escaping @Sendable (SamplingOptions) -> Value?,
        set: @escaping @Sendable (inout SamplingOptions, Value) -> Void
    ) {
        guard let field = SamplingField.named(name) else { preconditionFailure("the table has no field \(name)") }
        self.field = field
        self.get = { get($0).map(form.json) }
        self.set = { value, options in if let value = form.read(value) { set(&options, value) } }
    }
}

extension SamplingOptions {
    /// Sets what a validated request says.
    package mutating func apply(_ fields: SamplingFields) {
        for binding in SamplingBinding.all {
            if let value = fields[binding.field] { binding.set(value, &self) }
        }
    }
}

/// Converts values of requests to the engine's types, and those to JSON.
private struct Form<Value: Sendable>: Sendable {
    let read: @Sendable (SamplingFields.Value) -> Value?
    let json: @Sendable (Value) -> JSON
}

extension Form<Double> { static var number: Self { Self(read: \.number) { JSON($0) } } }
extension Form<Int64> { static var int64: Self { Self(read: \.count) { JSON($0) } } }
extension Form<Int> { static var count: Self { Self(read: { $0.count.map { Int(clamping: $0) } }) { JSON($0) } } }
extension Form<Bool> { static var flag: Self { Self(read: \.flag) { .bool($0) } } }
extension Form<String> { static var text: Self { Self(read: \.text) { .string($0) } } }
extension Form<[String]> { static var texts: Self { Self(read: \.texts) { .array($0.map { .string($0) }) } } }

extension Form<Set<Int32>> {
    static var tokens: Self {
        Self(read: { $0.tokens.map { Set($0.map { Int32(clamping: $0) }) } }) { .array($0.sorted().map { JSON($0) }) }
    }
}

extension Form<[Int32: Double]> {
    /// Without the biases of texts.
    static var biases: Self {
        Self(read: { $0.biases?.byID }) { biases in
            .array(biases.sorted { $0.key < $1.key }.map { [JSON($0.key), JSON($0.value)] })
        }
    }
}

extension Form<[Int: Double]> {
    static var scales: Self {
        Self(read: { $0.scales?.byID }) { scales in
            .array(scales.sorted { $0.key < $1.key }.map { ["id": JSON($0.key), "scale": JSON($0.value)] })
        }
    }
}
