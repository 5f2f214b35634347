import CommandLineParsing
import Dialects
import Foundation
import LocalLLM
import Template

/// Parses answers in the dialect of a chat template.
struct ToolsCommand: Command {
    static let name = "tools"
    static let summary = "parse model output into content, reasoning and tool calls"
    static let synopsis = "--template FILE < LINES"
    static let details = """
        Reads a JSON object per line: "input", the model's output; "messages" and "tools" of the request; optionally
        "tool_choice", "generation_prompt" (text before the output; default: from the template), "enable_thinking",
        "chat_template_kwargs" and "json_schema" (for the content). Prints {"content", "reasoning_content", "tool_calls":
        [{"name", "arguments", "id"}]} for each, or {"error": "…"} for an invalid line, which makes it exit with 1 at the
        end. Each input is parsed as a whole and character by character; different results are an error.
        """
    static let options: [Option] = [
        Option("--template", value: "FILE", help: "Jinja source or a GGUF file with a template")
    ]

    let path: String

    init(_ arguments: Arguments) throws(UsageError) {
        path = try arguments.required("--template")
    }

    private struct Output: Encodable {
        struct Call: Encodable {
            var name: String
            var arguments: String
            var id: String?
        }

        var content: String
        var reasoning: String
        var calls: [Call]

        private enum CodingKeys: String, CodingKey {
            case content
            case reasoning = "reasoning_content"
            case calls = "tool_calls"
        }

        init(_ message: AnswerMessage) {
            content = message.content
            reasoning = message.reasoning
            calls = message.calls.map { Call(name: $0.name, arguments: $0.arguments, id: $0.id) }
        }
    }

    func run() async throws -> Bool {
        let source = try source()
        let template = try ChatTemplate(source)
        let dialect = Dialect(template: template)
        return try JSONLines.map { line in
            guard case .object(let object) = try TemplateValue(json: line) else {
                throw BenchError("expected a JSON object")
            }
            guard case .string(let input) = object["input"] else { throw BenchError("'input': expected a string") }
            let hasTools = object["tool_choice"] != .string("none")
            let parser = AnswerParser(
                dialect, tools: hasTools ? DeclaredTool.list(object["tools"]) : [],
                after: try Self.prompt(object, template),
                unwrapsFence: object["json_schema"].map { $0 != .none } ?? false)
            let whole = Self.read([input], parser)
            guard Self.read(input.unicodeScalars.map { String($0) }, parser) == whole else {
                throw BenchError("'input' gives a different result character by character")
            }
            return Output(whole)
        }
    }

    private static func read(_ pieces: [String], _ parser: AnswerParser) -> AnswerMessage {
        var parser = parser
        var message = AnswerMessage()
        for piece in pieces { parser.read(piece).forEach { message.add($0) } }
        parser.finish().forEach { message.add($0) }
        return message
    }

    /// The prompt before the answer.
    private static func prompt(_ object: TemplateObject, _ template: ChatTemplate) throws -> String {
        if case .string(let prompt) = object["generation_prompt"] { return prompt }
        var variables: TemplateObject = ["bos_token": .string(""), "eos_token": .string("")]
        for key in ["messages", "tools", "enable_thinking", "add_generation_prompt"] { variables[key] = object[key] }
        variables["add_generation_prompt"] = variables["add_generation_prompt"] ?? .bool(true)
        if case .object(let more) = object["chat_template_kwargs"] {
            for (key, value) in more.entries { variables[key] = value }
        }
        do {
            return try template.render(variables)
        } catch {
            throw BenchError("'messages': \(error)")
        }
    }

    private func source() throws -> String {
        let url = URL(fileURLWithPath: path)
        guard let content = try? Data(contentsOf: url, options: .alwaysMapped) else {
            throw BenchError("--template: cannot read '\(path)'")
        }
        if content.starts(with: Data("GGUF".utf8)) { return try LocalModel.chatTemplateSource(of: url) }
        guard let source = String(data: content, encoding: .utf8) else { throw BenchError("\(path) is not UTF-8") }
        return source
    }
}
