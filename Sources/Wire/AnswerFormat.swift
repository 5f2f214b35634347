package import JSON

/// A format that constrains the text of an answer.
package enum AnswerFormat: Sendable, Equatable {
    case jsonObject
    /// JSON Schema, as text of the request: the order of properties matters.
    case jsonSchema(String)
    case regex(String)
    /// A grammar in GBNF or Lark.
    case grammar(String)
    case choice([String])
}

/// An `AnswerFormat` and the request field that sets it.
package struct RequestedFormat: Sendable, Equatable {
    package var field: String
    package var format: AnswerFormat
}

/// OpenAI's `response_format` and `text.format`; `schema` is llama.cpp's extension.
package struct ResponseFormat: Codable, Sendable {
    package var type: String
    package var jsonSchema: NamedSchema?
    package var name: String?
    package var schema: JSON?
    package var strict: Bool?

    package struct NamedSchema: Codable, Sendable {
        package var name: String?
        package var description: String?
        package var schema: JSON?
        /// Schemas are always enforced, whatever the value.
        package var strict: Bool?
    }

    enum CodingKeys: String, CodingKey {
        case type, name, schema, strict
        case jsonSchema = "json_schema"
    }

    /// The value to repeat in the response.
    var json: JSON {
        get throws { try JSON(encoding: self) }
    }

    /// - Parameter field: Name of the field in the request, for errors.
    func requested(_ field: String) throws(APIError) -> RequestedFormat? {
        switch type {
        case "text": return nil
        case "json_object":
            guard let schema, !schema.isEmpty else { return RequestedFormat(field: field, format: .jsonObject) }
            return RequestedFormat(field: "\(field).schema", format: .jsonSchema(schema.schemaText))
        case "json_schema":
            if let schema = jsonSchema?.schema {
                return RequestedFormat(
                    field: "\(field).json_schema.schema", format: .jsonSchema(schema.schemaText))
            }
            guard let schema else {
                throw .init(missing: field == "response_format" ? "\(field).json_schema.schema" : "\(field).schema")
            }
            return RequestedFormat(field: "\(field).schema", format: .jsonSchema(schema.schemaText))
        default: throw .unsupported(field, "the type \"\(type)\" is")
        }
    }
}

/// vLLM's `structured_outputs`; exactly one field may be set.
package struct StructuredOutputs: Codable, Sendable {
    package var json: JSON?
    package var regex: String?
    package var choice: [String]?
    package var grammar: String?
    package var jsonObject: Bool?
    package var structuralTag: JSON?

    enum CodingKeys: String, CodingKey {
        case json, regex, choice, grammar
        case jsonObject = "json_object"
        case structuralTag = "structural_tag"
    }
}

extension GenerationFields {
    /// The format that the fields request; `nil` if none does.
    ///
    /// - Throws: `APIError` for fields that exclude each other or are not supported.
    package func requestedFormat() throws(APIError) -> RequestedFormat? {
        var found: [RequestedFormat] = []
        func add(_ field: String, _ format: AnswerFormat?) {
            if let format { found.append(RequestedFormat(field: field, format: format)) }
        }
        func text(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }
        func schema(_ schema: JSON?) -> AnswerFormat? {
            guard let schema, !schema.isNull else { return nil }
            return .jsonSchema(schema.schemaText)
        }
        if let format = try responseFormat?.requested("response_format") { found.append(format) }
        add("grammar", text(grammar).map { .grammar($0) })
        add("json_schema", schema(jsonSchema))
        add("guided_json", schema(guidedJSON))
        add("guided_regex", text(guidedRegex).map { .regex($0) })
        add("regex", text(regex).map { .regex($0) })
        add("guided_choice", guidedChoice.map { .choice($0) })
        add("guided_grammar", text(guidedGrammar).map { .grammar($0) })
        if let outputs = structuredOutputs {
            if let tag = outputs.structuralTag, !tag.isEmpty {
                throw .unsupported("structured_outputs.structural_tag")
            }
            add("structured_outputs.json", schema(outputs.json))
            add("structured_outputs.regex", text(outputs.regex).map { .regex($0) })
            add("structured_outputs.choice", outputs.choice.map { .choice($0) })
            add("structured_outputs.grammar", text(outputs.grammar).map { .grammar($0) })
            add("structured_outputs.json_object", outputs.jsonObject == true ? .jsonObject : nil)
        }
        guard found.count < 2 else { throw .invalid(found[1].field, "allowed only without \(found[0].field)") }
        return found.first
    }
}

extension JSON {
    /// The text of a schema. Some clients send it as a JSON string.
    fileprivate var schemaText: String { string ?? text }
}
