import Dialects
package import Tokenizer

/// How a model's text becomes tokens, and a conversation text.
///
/// A file whose tokenizer or template cannot be used still computes: what is wrong is said when text is asked for.
struct TextFormat: Sendable {
    let tokenizer: Result<TextTokenizer, LocalModelError>
    let template: Result<ChatTemplate, LocalModelError>
    /// The template's text.
    let templateSource: String

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
        templateSource = try file.metadata.chatTemplates()["default"] ?? ChatTemplate.fallbackSource
        do {
            template = .success(try ChatTemplate(templateSource))
        } catch {
            template = .failure(.templateFailed("\(file.path): tokenizer.chat_template: \(error)"))
        }
    }

    /// How the template's model writes thoughts and tool calls.
    func dialect() -> Dialect {
        guard let template = try? template.get() else { return Dialect() }
        return Dialect(template: template, source: templateSource, variables: tokenTexts)
    }

    /// The texts of tokens that templates name.
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

    /// The conversation as the template writes it, with the prompt for the answer at its end.
    func render(_ messages: [ChatMessage], _ extra: TemplateObject) throws(LocalModelError) -> String {
        var variables = extra
        variables["messages"] = .array(messages.map { .object($0.fields) })
        variables["add_generation_prompt"] = .bool(true)
        for (key, text) in tokenTexts.entries { variables[key] = text }
        do {
            return try template.get().render(variables)
        } catch let error as LocalModelError {
            throw error
        } catch {
            throw .templateFailed("\(error)")
        }
    }

    /// A rendered conversation as tokens. The template writes the special tokens; a beginning-of-sequence token that
    /// the model wants and the template left out is put in front.
    ///
    /// - Parameter isQuoted: Whether the messages were `quoted(for:)`.
    func tokens(of rendered: String, isQuoted: Bool) throws(LocalModelError) -> [Int32] {
        let tokenizer = try tokenizer.get()
        let tokens =
            isQuoted
            ? tokenizer.encode(quoted: rendered) : tokenizer.encode(rendered, addSpecial: false, parseSpecial: true)
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
