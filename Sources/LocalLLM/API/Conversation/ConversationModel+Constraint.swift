import Constraint
import Dialects

extension ConversationModel {
    /// Compiles a format of a text into a constraint.
    ///
    /// - Parameter warn: Gets what is not enforced.
    /// - Throws: `ContentFormatError`, which names the keyword with its path in the schema.
    func constraint(_ format: ContentFormat?, warn: (String) -> Void) throws -> GenerationConstraint? {
        try format.map { format in
            var constraint = GenerationConstraint(try compiled(format, markup(of: nil), warn))
            constraint.name = format.name
            return constraint
        }
    }

    /// Compiles the format of an answer and the schemas of its calls, which have one `TimeAllowance` together.
    package func constraint(
        for request: ConversationRequest, after prompt: ConversationPrompt, warn: (String) -> Void
    ) throws -> GenerationConstraint? {
        try TimeAllowance().run { try answerConstraint(for: request, after: prompt, warn) }
    }

    private func answerConstraint(
        for request: ConversationRequest, after prompt: ConversationPrompt, _ warn: (String) -> Void
    ) throws -> GenerationConstraint? {
        let (format, tools, markup) = (request.format, request.tools, prompt.markup)
        var answer = AnswerShape(markup.dialect)
        answer.content = try format.map { try compiled($0, markup, warn) }
        if tools.areCallable {
            answer.tools = tools.callable
            answer.allowsSeveralCalls = tools.allowsSeveralCalls
        }
        do {
            let (shape, unenforced) = try answer.shape(after: prompt.text, beginning: prompt.beginning) {
                try constraint($0, in: markup)
            }
            for error in unenforced { warn("\(tools.fields[error.tool] ?? "tools"): \(error.reason)") }
            return try shape.map {
                var constraint = GenerationConstraint(try constraint($0, in: markup))
                constraint.name = format?.name ?? "tools"
                return constraint
            }
        } catch let error as ToolSchemaError {
            throw ContentFormatError(field: tools.fields[error.tool] ?? "tools", reason: error.reason)
        }
    }

    private func compiled(
        _ format: ContentFormat, _ markup: ChatMarkup, _ warn: (String) -> Void
    ) throws -> Constraint {
        do {
            let constraint = try constraint(format.source, in: markup)
            for reason in constraint.unenforced { warn("\(format.name): \(reason)") }
            guard constraint.isSatisfiable else {
                throw ContentFormatError(field: format.name, reason: "no text satisfies it")
            }
            return constraint
        } catch let error as ConstraintError {
            throw ContentFormatError(field: format.name, reason: error.description)
        }
    }
}
