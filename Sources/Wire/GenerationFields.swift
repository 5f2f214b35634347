public import JSON

/// Generation fields that several endpoints share.
///
/// Field names and ranges: OpenAI API reference; the fields from `top_k` on are common extensions of local servers.
public struct GenerationFields: Codable, Sendable {
    /// 0...2. For every sampling field, `nil` means the model's default.
    public var temperature: Double?
    /// 0...1.
    public var topP: Double?
    /// -2...2.
    public var presencePenalty: Double?
    /// -2...2.
    public var frequencyPenalty: Double?
    /// Seed of the first choice; each further choice adds 1.
    public var seed: WholeNumber?
    /// Keys are token ids in decimal or texts, values -100...100.
    public var logitBias: LogitBias?
    /// One string or up to 64. OpenAI's limit is four; editors send more.
    public var stop: OneOrMany<String>?
    public var stream: Bool?
    public var streamOptions: StreamOptions?
    /// Choices for each prompt, 1...16.
    public var n: WholeNumber?

    /// 0 and -1 keep all tokens.
    public var topK: WholeNumber?
    /// 0...1.
    public var minP: Double?
    /// 0...1.
    public var typicalP: Double?
    /// 0.01...100; 1 is off. llama.cpp's name.
    public var repeatPenalty: Double?
    /// Same as `repeatPenalty`, under the name of vLLM and others.
    public var repetitionPenalty: Double?

    // Output format, see `requestedFormat`: OpenAI's field, then llama.cpp's, vLLM's and that of outlines.
    public var responseFormat: ResponseFormat?
    public var grammar: String?
    public var jsonSchema: JSON?
    public var guidedJSON: JSON?
    public var guidedRegex: String?
    public var guidedChoice: [String]?
    public var guidedGrammar: String?
    public var structuredOutputs: StructuredOutputs?
    public var regex: String?
    /// Tools that the model may call, in chats and responses.
    public var tools: JSON?
    public var toolChoice: JSON?
    /// Whether one answer may contain several calls. Absent: yes.
    public var parallelToolCalls: Bool?

    /// All fields absent.
    public init() {}

    public struct StreamOptions: Codable, Sendable {
        /// Whether the last chunk reports the usage.
        public var includeUsage: Bool?

        enum CodingKeys: String, CodingKey { case includeUsage = "include_usage" }
    }

    enum CodingKeys: String, CodingKey {
        case temperature, seed, stop, stream, n, grammar, tools, regex
        case jsonSchema = "json_schema"
        case guidedJSON = "guided_json"
        case guidedRegex = "guided_regex"
        case guidedChoice = "guided_choice"
        case guidedGrammar = "guided_grammar"
        case structuredOutputs = "structured_outputs"
        case responseFormat = "response_format"
        case toolChoice = "tool_choice"
        case parallelToolCalls = "parallel_tool_calls"
        case topP = "top_p"
        case presencePenalty = "presence_penalty"
        case frequencyPenalty = "frequency_penalty"
        case logitBias = "logit_bias"
        case streamOptions = "stream_options"
        case topK = "top_k"
        case minP = "min_p"
        case typicalP = "typical_p"
        case repeatPenalty = "repeat_penalty"
        case repetitionPenalty = "repetition_penalty"
    }
}

/// A request body: the fields of one endpoint, and in the same object those of `GenerationFields` and `SamplerFields`.
///
/// Unknown fields are ignored, since clients send other servers' extensions. Known ones that would change the answer
/// are refused by `UnservedFields`.
@dynamicMemberLookup
public struct GenerationRequest<Fields: Codable & Sendable>: Codable, Sendable {
    public var fields: Fields
    public var generation: GenerationFields
    public var samplers: SamplerFields
    private let unserved: UnservedFields

    public init(from decoder: any Decoder) throws {
        fields = try Fields(from: decoder)
        generation = try GenerationFields(from: decoder)
        samplers = try SamplerFields(from: decoder)
        unserved = try UnservedFields(from: decoder)
    }

    public init(_ fields: Fields, _ generation: GenerationFields = .init(), _ samplers: SamplerFields = .init()) {
        self.fields = fields
        self.generation = generation
        self.samplers = samplers
        unserved = UnservedFields()
    }

    /// Checks the fields that all endpoints share.
    ///
    /// - Parameter served: Those of `UnservedFields` that this route serves.
    func validateGeneration(serving served: Set<String> = []) throws(APIError) {
        try generation.validate()
        try samplers.validate()
        try unserved.check(besides: served)
    }

    public func encode(to encoder: any Encoder) throws {
        try fields.encode(to: encoder)
        try generation.encode(to: encoder)
        try samplers.encode(to: encoder)
    }

    public subscript<Value>(dynamicMember path: KeyPath<Fields, Value>) -> Value { fields[keyPath: path] }
    public subscript<Value>(dynamicMember path: KeyPath<SamplerFields, Value>) -> Value { samplers[keyPath: path] }
    public subscript<Value>(dynamicMember path: KeyPath<GenerationFields, Value>) -> Value {
        generation[keyPath: path]
    }
}
