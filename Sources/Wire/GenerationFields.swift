public import JSON

/// Fields that several endpoints share, besides those of `SamplingField`.
public struct GenerationFields: Decodable, Sendable {
    public var stream: Bool?
    public var streamOptions: StreamOptions?
    /// Choices for each prompt, 1...16.
    public var n: WholeNumber?

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

    public struct StreamOptions: Decodable, Sendable {
        /// Whether the last chunk reports the usage.
        public var includeUsage: Bool?

        enum CodingKeys: String, CodingKey { case includeUsage = "include_usage" }
    }

    enum CodingKeys: String, CodingKey {
        case stream, n, grammar, tools, regex
        case jsonSchema = "json_schema"
        case guidedJSON = "guided_json"
        case guidedRegex = "guided_regex"
        case guidedChoice = "guided_choice"
        case guidedGrammar = "guided_grammar"
        case structuredOutputs = "structured_outputs"
        case responseFormat = "response_format"
        case toolChoice = "tool_choice"
        case parallelToolCalls = "parallel_tool_calls"
        case streamOptions = "stream_options"
    }
}

/// A request body: the fields of one endpoint, and in the same object those of `GenerationFields` and `SamplingField`.
///
/// Unknown fields are ignored, since clients send other servers' extensions.
@dynamicMemberLookup
public struct GenerationRequest<Fields: Decodable & Sendable>: Decodable, Sendable {
    public var fields: Fields
    public var generation: GenerationFields
    public var sampling: SamplingFields

    public init(from decoder: any Decoder) throws {
        fields = try Fields(from: decoder)
        generation = try GenerationFields(from: decoder)
        sampling = try SamplingFields(from: decoder)
    }

    public init(_ fields: Fields) {
        self.fields = fields
        generation = .init()
        sampling = .init()
    }

    /// Checks the fields that all endpoints share.
    ///
    /// - Parameter served: Unsupported sampling fields that this route serves.
    func validateGeneration(serving served: Set<String> = []) throws(APIError) {
        try generation.validate()
        try sampling.validate(serving: served)
    }

    public subscript<Value>(dynamicMember path: KeyPath<Fields, Value>) -> Value { fields[keyPath: path] }
    public subscript<Value>(dynamicMember path: KeyPath<GenerationFields, Value>) -> Value {
        generation[keyPath: path]
    }
}
