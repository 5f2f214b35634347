package import JSON

/// Fields that several endpoints share, besides those of `SamplingField`.
package struct GenerationFields: Decodable, Sendable {
    package var stream: Bool?
    package var streamOptions: StreamOptions?
    /// Choices for each prompt, 1...16.
    package var n: WholeNumber?

    // Output format, see `requestedFormat`: OpenAI's field, then llama.cpp's, vLLM's and that of outlines.
    package var responseFormat: ResponseFormat?
    package var grammar: String?
    package var jsonSchema: JSON?
    package var guidedJSON: JSON?
    package var guidedRegex: String?
    package var guidedChoice: [String]?
    package var guidedGrammar: String?
    package var structuredOutputs: StructuredOutputs?
    package var regex: String?
    /// Tools that the model may call, in chats and responses.
    package var tools: JSON?
    package var toolChoice: JSON?
    /// Whether one answer may contain several calls. Absent: yes.
    package var parallelToolCalls: Bool?

    /// All fields absent.
    package init() {}

    package struct StreamOptions: Decodable, Sendable {
        /// Whether the last chunk reports the usage.
        package var includeUsage: Bool?

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
package struct GenerationRequest<Fields: Decodable & Sendable>: Decodable, Sendable {
    package var fields: Fields
    package var generation: GenerationFields
    package var sampling: SamplingFields

    package init(from decoder: any Decoder) throws {
        fields = try Fields(from: decoder)
        generation = try GenerationFields(from: decoder)
        sampling = try SamplingFields(from: decoder)
    }

    package init(_ fields: Fields) {
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

    package subscript<Value>(dynamicMember path: KeyPath<Fields, Value>) -> Value { fields[keyPath: path] }
    package subscript<Value>(dynamicMember path: KeyPath<GenerationFields, Value>) -> Value {
        generation[keyPath: path]
    }
}
