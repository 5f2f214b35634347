package import Template

package import Constraint
package import Dialects

/// A function that an answer may call.
package struct CallableTool: Sendable {
    package var name: String
    /// JSON Schema of the arguments, an object.
    package var parameters: TemplateValue
    /// The language of the only argument, a text, if the parameters do not tell it.
    package var input: InputFormat?
    /// Whether a keyword of `parameters` that cannot be enforced is an error. If not, the keyword is dropped.
    package var isStrict: Bool

    package struct InputFormat: Sendable {
        package enum Syntax: Sendable { case regex, lark }

        /// Name of the argument.
        package var argument: String
        package var syntax: Syntax
        package var definition: String

        package init(_ argument: String, _ syntax: Syntax, _ definition: String) {
            self.argument = argument
            self.syntax = syntax
            self.definition = definition
        }
    }

    package init(name: String, parameters: TemplateValue, input: InputFormat? = nil, isStrict: Bool = true) {
        self.name = name
        self.parameters = parameters
        self.input = input
        self.isStrict = isStrict
    }
}

/// Why the arguments of a tool are not constrained to its schema, or not to one of its keywords.
package struct ToolSchemaError: Error, CustomStringConvertible {
    package let tool: String
    package let reason: String
    package var description: String { "the parameters of \(tool): \(reason)" }
}

/// The constraint on an answer: reasoning is free, content has a constraint, calls are of declared tools.
package struct AnswerShape {
    package typealias Compile = (Constraint.Source) throws -> Constraint

    package let dialect: Dialect
    /// Constraint on the content; `nil`: free.
    package var content: Constraint?
    /// Empty: no tool may be called.
    package var tools: [CallableTool] = []
    package var allowsSeveralCalls = true

    package init(_ dialect: Dialect) { self.dialect = dialect }

    /// - Parameters:
    ///   - prompt: The text before the answer, without `beginning`.
    ///   - beginning: Start of a call with which the answer has to begin; empty: the model decides.
    /// - Returns: The shape, `nil` if nothing is constrained, and what it does not enforce of the tools' schemas.
    /// - Throws: `ToolSchemaError`, or the errors of `compile`.
    package func shape(
        after prompt: String, beginning: String, compile: @escaping Compile
    ) throws -> (shape: ConstraintGraph.Shape?, unenforced: [ToolSchemaError]) {
        var calls: CallShape?
        if let syntax = dialect.callSyntax, !tools.isEmpty {
            calls = try CallShape(
                syntax, tools, allowsSeveral: allowsSeveralCalls, hasFreeHeader: dialect.isHarmony, compile)
        }
        return (shape(calls, after: prompt, beginning), calls?.unenforced ?? [])
    }

    private func shape(
        _ calls: CallShape?, after prompt: String, _ beginning: String
    ) -> ConstraintGraph.Shape? {
        if let calls, !beginning.isEmpty {
            let text = beginning.dropFirst(dialect.isHarmony ? 0 : dialect.closing(after: prompt).count)
            return calls.rest(after: String(text))
        }
        if dialect.isHarmony { return harmony(calls) }
        if let content { return afterThoughts(answer(content, calls), prompt) }
        return calls.map { afterThoughts(.search($0.triggers, mayEnd: true), prompt) }
    }

    // MARK: Parts

    /// Content under a constraint, or calls instead of it.
    private func answer(_ content: Constraint, _ calls: CallShape?) -> ConstraintGraph.Shape {
        var parts: [ConstraintGraph.Shape] = [.constraint(content)]
        if !dialect.contentOpen.isEmpty { parts.insert(.optional(.literal(dialect.contentOpen)), at: 0) }
        if !dialect.contentClose.isEmpty { parts.append(.optional(.literal(dialect.contentClose))) }
        guard let calls else { return .sequence(parts) }
        return .anyOf([.sequence(parts), calls.whole])
    }

    private func afterThoughts(_ answer: ConstraintGraph.Shape, _ prompt: String) -> ConstraintGraph.Shape {
        let thoughts = dialect.thoughts
        guard !thoughts.open.isEmpty, !thoughts.close.isEmpty else { return answer }
        var after: [ConstraintGraph.Shape] = [.until(thoughts.close, mayEnd: content == nil)]
        // Templates trim the whitespace here, and models write one of these.
        let gaps = Set([thoughts.afterClose, "\n", "\n\n"]).filter { !$0.isEmpty }.sorted()
        after.append(.optional(.anyOf(gaps.map { .literal($0) })))
        after.append(answer)
        if !dialect.closing(after: prompt).isEmpty { return .sequence(after) }
        let end = prompt.reversed().drop { $0.isWhitespace }
        guard !end.starts(with: thoughts.close.reversed()) else { return answer }
        // Reasoning may come first.
        if case .search(let markers, let mayEnd) = answer {
            let thinks = (
                marker: ConstraintGraph.Marker(thoughts.open, isFirst: true),
                then: ConstraintGraph.Shape.sequence(after)
            )
            return .search([thinks] + markers, mayEnd: mayEnd)
        }
        return .anyOf([.sequence([.literal(thoughts.open)] + after), answer])
    }

    /// Messages in channels: `analysis` is free, `final` is content.
    private func harmony(_ calls: CallShape?) -> ConstraintGraph.Shape? {
        guard let content else { return calls.map { .search($0.triggers, mayEnd: true) } }
        // Every message is written out: text in no channel, or in that of comments, would be content without its shape.
        let thoughts: ConstraintGraph.Shape = .sequence([
            .literal("<|channel|>analysis<|message|>"), .until("<|end|>"), .optional(.literal("<|start|>assistant")),
        ])
        let final: ConstraintGraph.Shape = .sequence([
            .literal("<|channel|>final"), .optional(.literal(" <|constrain|>json")), .literal("<|message|>"),
            .constraint(content),
        ])
        let channels = ["<|channel|>commentary", "<|channel|>analysis", ""]
        let calling = (calls?.triggers ?? []).map { _, call in
            ConstraintGraph.Shape.sequence([.anyOf(channels.map { .literal($0 + " to=functions.") }), call])
        }
        return .sequence([.optional(.repeated(thoughts)), .anyOf([final] + calling)])
    }
}
