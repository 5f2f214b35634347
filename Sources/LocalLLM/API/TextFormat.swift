import Foundation
package import Tokenizer

/// How a model's text becomes tokens, and a conversation text.
///
/// A file whose tokenizer or template cannot be used still computes: what is wrong is said when text is asked for.
struct TextFormat: Sendable {
    let tokenizer: Result<TextTokenizer, LocalModelError>
    let template: Result<ChatTemplate, LocalModelError>
    /// Whether an encoder reads the prompt: it then ends as the tokenizer says, with `</s>` for T5.
    private let isEncoderDecoder: Bool
    /// For models that know instructions but no roles.
    private static let plainTemplate =
        "{% for m in messages %}{{ m.content }}{% if not loop.last %}{{ '\n' }}{% endif %}{% endfor %}"
    /// How a reranker's file puts a query and a document together: text with `{query}` and `{document}` in it.
    let rerankTemplate: String?
    /// Templates of models that reason take their thoughts, up to this tag, out of earlier answers.
    let marksReasoning: Bool

    init(_ file: GGUFFile) throws(ModelFileError) {
        if let description = try file.metadata.tokenizerDescription() {
            do {
                tokenizer = .success(try TextTokenizer(description))
            } catch {
                tokenizer = .failure(.noTokenizer("\(file.path): \(error)"))
            }
        } else {
            tokenizer = .failure(.noTokenizer("\(file.path): There is no tokenizer in the file."))
        }
        let templates = try file.metadata.chatTemplates()
        rerankTemplate = templates["rerank"]
        isEncoderDecoder = try file.metadata.stringIfPresent("general.architecture") == "t5"
        let source = templates["default"] ?? (isEncoderDecoder ? Self.plainTemplate : ChatTemplate.fallbackSource)
        marksReasoning = source.contains("</think>")
        do {
            template = .success(try ChatTemplate(source))
        } catch {
            template = .failure(.templateFailed("\(file.path): tokenizer.chat_template: \(error)"))
        }
    }

    /// The conversation as the template writes it.
    func render(
        _ messages: [ChatMessage], _ extra: TemplateObject, _ ending: PromptEnding, _ other: ChatTemplate?
    ) throws(LocalModelError) -> String {
        let tokenizer = try? tokenizer.get()
        func text(of token: Int32?) -> TemplateValue {
            guard let token, let tokenizer else { return .string("") }
            return .string(String(decoding: tokenizer.bytes(of: token, includingControl: true), as: UTF8.self))
        }
        var variables = extra
        variables["messages"] = .array(messages.map { .object($0.fields) })
        variables["add_generation_prompt"] = .bool(ending == .answer)
        variables["bos_token"] = text(of: tokenizer?.beginningOfSequence)
        variables["eos_token"] = text(of: tokenizer?.endOfSequence)
        do {
            let text = try (other ?? template.get()).render(variables)
            return ending == .continuation ? try cutting(text, after: messages.last?.content ?? "") : text
        } catch let error as LocalModelError {
            throw error
        } catch {
            throw .templateFailed("\(error)")
        }
    }

    /// What stands before the end of the last message, so that the model goes on with it. What templates trim at the
    /// message's ends does not count.
    private func cutting(_ text: String, after content: String) throws(LocalModelError) -> String {
        let wanted = content.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !wanted.isEmpty, let found = text.range(of: wanted, options: [.backwards, .literal]) else {
            throw .templateFailed("The last message cannot be continued: the template does not write its text.")
        }
        // A blank at the end is part of what is to be continued, where the template has kept it.
        let rest = text[found.upperBound...]
        let blank = content[(content.lastIndex { !$0.isWhitespace }.map(content.index(after:)) ?? content.endIndex)...]
        return String(text[..<found.upperBound]) + (rest.hasPrefix(blank) ? blank : "")
    }

    /// A rendered conversation as tokens. The template writes the special tokens; a beginning-of-sequence token that
    /// the model wants and the template left out is put in front.
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
    /// The message for a template to carry, so that no control token is found in what it says.
    package func quoted(for tokenizer: TextTokenizer) -> Self {
        var message = self
        message.content = tokenizer.quote(content)
        message.name = name.map(tokenizer.quote)
        message.reasoning = reasoning.map(tokenizer.quote)
        return message
    }

    /// As templates look at it.
    fileprivate var fields: TemplateObject {
        var fields: TemplateObject = ["role": .string(role.rawValue), "content": .string(content)]
        fields["name"] = name.map { .string($0) }
        fields["reasoning_content"] = reasoning.map { .string($0) }
        return fields
    }
}

/// What a rendered conversation ends with.
public enum PromptEnding: Sendable {
    /// The beginning of an answer, as the template writes it.
    case answer
    /// The last message.
    case message
    /// The text of the last message, without what the template writes to end it: the model goes on with the message.
    case continuation
}
