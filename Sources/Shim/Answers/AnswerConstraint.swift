import Constraint
import Dialects
import LocalLLM
import Tokenizer
import Wire

extension LanguageModel {
    /// Compiles the requested format of a text into a constraint.
    ///
    /// - Throws: `APIError` that names the field, and the keyword with its path in the schema.
    func constraint(_ requested: RequestedFormat?, _ trace: RequestTrace) throws -> GenerationConstraint? {
        try requested.map { requested in
            var constraint = GenerationConstraint(try compiled(requested, trace))
            constraint.name = requested.field
            return constraint
        }
    }

    /// Compiles the requested format of an answer, and the schemas of its tool calls. `trace` gets warnings of what is not
    /// enforced.
    func constraint(
        on prompt: ChatPrompt, _ requested: RequestedFormat?, _ tools: OfferedTools?, _ trace: RequestTrace
    ) throws -> GenerationConstraint? {
        var answer = AnswerShape(dialect)
        answer.content = try requested.map { try compiled($0, trace) }
        if let tools, tools.areCallable {
            answer.tools = tools.callable
            answer.allowsSeveralCalls = tools.allowsParallel
        }
        do {
            let shape = try answer.shape(after: prompt.text, beginning: prompt.beginning) { try constraint($0) }
            for error in answer.unenforced { trace.warn("\(tools?.fields[error.tool] ?? "tools"): \(error.reason)") }
            return try shape.map {
                var constraint = GenerationConstraint(try constraint($0))
                constraint.name = requested?.field ?? "tools"
                return constraint
            }
        } catch let error as ToolSchemaError {
            throw APIError(invalidSchema: tools?.fields[error.tool] ?? "tools", error.reason)
        }
    }

    /// - Parameter tokens: Maximum reasoning tokens; `nil`: no limit.
    func thoughtLimit(_ tokens: Int64?, _ prompt: ChatPrompt) -> SamplingOptions.ThoughtLimit? {
        tokens.flatMap {
            SamplingOptions.ThoughtLimit(tokens: Int($0), dialect, after: prompt.text + prompt.beginning)
        }
    }

    private func compiled(_ requested: RequestedFormat, _ trace: RequestTrace) throws -> Constraint {
        do {
            let constraint = try constraint(requested.format.source)
            for reason in constraint.unenforced { trace.warn("\(requested.field): \(reason)") }
            guard constraint.isSatisfiable else {
                throw APIError(invalidSchema: requested.field, "no text satisfies it")
            }
            return constraint
        } catch let error as ConstraintError {
            throw APIError(invalidSchema: requested.field, error.description)
        }
    }
}

extension AnswerFormat {
    fileprivate var source: Constraint.Source {
        switch self {
        case .jsonObject: .jsonObject()
        case .jsonSchema(let text): .jsonSchema(text)
        case .regex(let pattern): .regex(pattern)
        // Only GBNF defines rules in this way.
        case .grammar(let text): text.contains("::=") ? .grammar(text) : .lark(text)
        case .choice(let texts): .choice(texts)
        }
    }
}

extension APIError {
    /// The schema, expression or grammar cannot be compiled.
    fileprivate init(invalidSchema field: String, _ reason: String) {
        self.init(
            status: 400, kind: .invalidRequest, message: "\(field): \(reason)", param: field, code: "invalid_schema")
    }
}
