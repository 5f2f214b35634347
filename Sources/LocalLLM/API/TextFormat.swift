import Dialects
import Foundation
import JSON
import Template
package import Tokenizer

/// A model's tokenizer and chat template.
///
/// A model whose tokenizer or template is unusable can still compute on tokens: the error is thrown when text is
/// needed. It does not name the file: clients of a server see it.
struct TextFormat: Sendable {
    let tokenizer: Result<TextTokenizer, LocalModelError>
    let template: Result<ChatTemplate, LocalModelError>
    /// Whether an encoder reads the prompt: it then ends with the tokenizer's end token, `</s>` for T5.
    private let isEncoderDecoder: Bool
    /// For instruction-tuned models without roles.
    private static let plainTemplate =
        "{% for m in messages %}{{ m.content }}{% if not loop.last %}{{ '\n' }}{% endif %}{% endfor %}"
    /// A reranker's template for a query and a document, with the placeholders `{query}` and `{document}`.
    let rerankTemplate: String?
    /// Source text of the chat template.
    let templateSource: String
    /// The template for conversations with tools, if the file has one of its own.
    private let toolTemplateIfAny: Result<ChatTemplate, LocalModelError>?

    init(_ file: GGUFFile) throws(ModelFileError) {
        if let description = try file.metadata.tokenizerDescription() {
            do {
                tokenizer = .success(try TextTokenizer(description))
            } catch {
                tokenizer = .failure(.noTokenizer("The file's tokenizer cannot be used: \(error)"))
            }
        } else {
            tokenizer = .failure(.noTokenizer("The file has no tokenizer."))
        }
        let templates = try file.metadata.chatTemplates()
        rerankTemplate = templates["rerank"]
        isEncoderDecoder = try file.metadata.stringIfPresent("general.architecture") == "t5"
        templateSource = templates["default"] ?? (isEncoderDecoder ? Self.plainTemplate : ChatTemplate.fallbackSource)
        template = Self.compiled(templateSource, "tokenizer.chat_template")
        toolTemplateIfAny = templates["tool_use"].map { Self.compiled($0, "tokenizer.chat_template.tool_use") }
    }

    var toolTemplate: ChatTemplate? { get throws(LocalModelError) { try toolTemplateIfAny?.get() } }

    private static func compiled(_ source: String, _ key: String) -> Result<ChatTemplate, LocalModelError> {
        do { return .success(try ChatTemplate(source)) } catch { return .failure(.templateFailed("\(key): \(error)")) }
    }

    /// How answers to prompts of a template are written; `nil`: of the model's own.
    func markup(of other: ChatTemplate? = nil) -> ChatMarkup {
        guard let template = try? other ?? template.get() else { return ChatMarkup(Dialect()) }
        let dialect = Dialect(template: template, variables: tokenTexts)
        return ChatMarkup(dialect, markerTokens: (try? tokenizer.get())?.controlTokens(in: dialect.markers) ?? [])
    }

    /// Texts of the tokens that templates refer to by name.
    private var tokenTexts: TemplateObject {
        let tokenizer = try? tokenizer.get()
        func text(of token: Int32?) -> TemplateValue {
            guard let token, let tokenizer else { return .string("") }
            return .string(String(decoding: tokenizer.bytes(of: token, includingControl: true), as: UTF8.self))
        }
        return [
            "bos_token": text(of: tokenizer?.beginningOfSequence), "eos_token": text(of: tokenizer?.endOfSequence),
        ]
    }

    /// Renders the conversation with the template.
    func render(
        _ messages: [ChatMessage], _ extra: TemplateObject, _ history: Dialect.History, _ ending: PromptEnding,
        _ other: ChatTemplate?
    ) throws(LocalModelError) -> String {
        var variables = extra
        variables["messages"] = .array(messages.map { .object($0.fields(history)) })
        variables["add_generation_prompt"] = .bool(ending == .answer)
        for (key, text) in tokenTexts.entries { variables[key] = text }
        // Llama 3's templates take another day for today without it.
        variables["date_string"] = variables["date_string"] ?? Date().text("%d %b %Y").map { .string($0) }
        do {
            let text = try rendered(try other ?? template.get(), variables)
            return ending == .continuation ? try cutting(text, after: messages.last?.content ?? "") : text
        } catch let error as LocalModelError {
            throw error
        } catch let error as TemplateError where error.kind == .limit {
            throw .templateStopped("\(error)")
        } catch {
            throw .templateFailed("\(error)")
        }
    }

    /// Renders the template; if it fails, once more with the variables of old templates.
    private func rendered(_ template: ChatTemplate, _ variables: TemplateObject) throws(TemplateError) -> String {
        let first = Result { () throws(TemplateError) in try template.render(variables) }
        guard case .failure(let error) = first, error.kind == .runtime else { return try first.get() }
        var more = variables
        let old = Dialect.oldVariables(tools: variables["tools"], date: Date().text("%b %d %Y") ?? "")
        for (key, value) in old.entries where more[key] == nil { more[key] = value }
        if let text = try? template.render(more) { return text }
        throw error
    }

    /// The text up to the end of the last message, so that the model continues it. Whitespace that the template trims
    /// at the ends of the message is ignored.
    private func cutting(_ text: String, after content: String) throws(LocalModelError) -> String {
        let wanted = content.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !wanted.isEmpty, let found = text.lastRanges(ofScalars: wanted, limit: 1).first else {
            throw .templateFailed("The last message cannot be continued: the template does not write its text.")
        }
        // A space at the end is part of the message to be continued, if the template has kept it.
        let rest = text[found.upperBound...]
        let blank = content[(content.lastIndex { !$0.isWhitespace }.map(content.index(after:)) ?? content.endIndex)...]
        return String(text[..<found.upperBound]) + (rest.hasPrefix(blank) ? blank : "")
    }

    /// A rendered conversation as tokens. The template writes the special tokens; a beginning-of-sequence token is
    /// added if the model needs one and the template left it out.
    ///
    /// - Parameter isQuoted: Whether the messages were `quoted(for:)`.
    func tokens(of rendered: String, isQuoted: Bool) throws(LocalModelError) -> [Int32] {
        let tokenizer = try tokenizer.get()
        var tokens =
            isQuoted
            ? tokenizer.encode(quoted: rendered) : tokenizer.encode(rendered, addSpecial: false, parseSpecial: true)
        if isEncoderDecoder, tokenizer.addsEndOfSequence, let last = tokenizer.endOfSequence, tokens.last != last {
            tokens.append(last)
        }
        guard tokenizer.addsBeginningOfSequence, let first = tokenizer.beginningOfSequence, tokens.first != first else {
            return tokens
        }
        return [first] + tokens
    }
}

extension ChatMessage {
    /// The message with its texts quoted, so that no control token is found in them after rendering.
    package func quoted(for tokenizer: TextTokenizer) -> Self {
        var message = self
        message.content = tokenizer.quote(content)
        message.name = name.map(tokenizer.quote)
        message.reasoning = reasoning.map(tokenizer.quote)
        message.toolCallID = toolCallID.map(tokenizer.quote)
        message.toolCalls = toolCalls?.map { call in
            ToolCall(
                id: tokenizer.quote(call.id), name: tokenizer.quote(call.name),
                arguments: tokenizer.quote(Self.withoutEscapes(call.arguments)))
        }
        return message
    }

    /// JSON whose strings contain only necessary escapes, so that escaped control tokens are found too.
    private static func withoutEscapes(_ json: String) -> String {
        guard json.utf8.contains(UInt8(ascii: "\\")) else { return json }
        let bytes = Array(json.utf8)
        var result: [UInt8] = []
        var place = 0
        while let start = bytes[place...].firstIndex(of: UInt8(ascii: "\"")) {
            var (end, isEscaped) = (start + 1, false)
            while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
                isEscaped = isEscaped || bytes[end] == UInt8(ascii: "\\")
                end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
            }
            // Not JSON: the string does not end.
            guard end < bytes.count else { break }
            let written = bytes[start...end]
            result += bytes[place..<start]
            result += isEscaped ? withFewerEscapes(written) ?? Array(written) : Array(written)
            place = end + 1
        }
        return String(decoding: result + bytes[place...], as: UTF8.self)
    }

    /// A JSON string; `nil` if it is invalid.
    private static func withFewerEscapes(_ string: ArraySlice<UInt8>) -> [UInt8]? {
        try? JSON(parsing: string, .init(depth: 0)).bytes
    }

    /// The content with a marker in place of each image.
    var markedContent: String {
        guard images?.isEmpty == false else { return content }
        return content.split(separator: Self.imagePlaceholder, omittingEmptySubsequences: false)
            .joined(separator: Self.imageMarker)
    }

    /// The message as a template object.
    fileprivate func fields(_ history: Dialect.History) -> TemplateObject {
        let content = markedContent
        var fields: TemplateObject = ["role": .string(role.rawValue), "content": .string(content)]
        fields["name"] = name.map { .string($0) }
        if let reasoning {
            for key in ["reasoning_content", history.reasoningKey].compactMap(\.self) {
                fields[key] = .string(reasoning)
            }
        }
        fields["tool_call_id"] = toolCallID.map { .string(Self.id($0, history)) }
        guard let toolCalls, !toolCalls.isEmpty else { return fields }
        fields["tool_calls"] = .array(
            toolCalls.map { call in
                .object([
                    "id": .string(Self.id(call.id, history)), "type": .string("function"),
                    "function": .object(["name": .string(call.name), "arguments": Self.arguments(call, history)]),
                ])
            })
        // Templates with this key for reasoning reject a call with both reasoning and content.
        if history.reasoningKey == "thinking", let reasoning, !content.isEmpty {
            fields["thinking"] = .string("\(reasoning)\n\n\(content)")
            fields["content"] = .string("")
        }
        return fields
    }

    private static func arguments(_ call: ToolCall, _ history: Dialect.History) -> TemplateValue {
        if history.argumentsAsText { return .string(call.arguments) }
        guard let value = try? TemplateValue(json: Data(call.arguments.utf8)), case .object = value else {
            // Invalid arguments are shown to the model as they are, as the only argument.
            return .object(["arguments": .string(call.arguments)])
        }
        return value
    }

    /// A call's ID in the template's form, equal for the call and its result.
    private static func id(_ id: String, _ history: Dialect.History) -> String {
        let isShort =
            id.utf8.count == 9
            && id.utf8.allSatisfy { ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7a || $0 >= 0x30 && $0 <= 0x39 }
        guard history.needsShortIDs, !isShort else { return id }
        let hash = id.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
        let digits = String(hash % 101_559_956_668_416, radix: 36)  // 36⁹
        return String(repeating: "0", count: 9 - digits.count) + digits
    }
}

/// How a rendered conversation ends.
public enum PromptEnding: Sendable {
    /// With the beginning of an answer, as the template writes it.
    case answer
    /// After the last message.
    case message
    /// Within the last message, before the template's end marker: the model continues the message.
    case continuation
}
