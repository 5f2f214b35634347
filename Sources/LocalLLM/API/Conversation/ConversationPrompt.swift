import Constraint
import Dialects
import Template
import Tokenizer

/// A conversation rendered and tokenized for the model.
package struct ConversationPrompt: Sendable {
    /// The rendered template, and the forced beginning of the answer.
    package let text: String
    package let beginning: String
    package let prompt: ModelPrompt
    /// How the template's answers are written.
    package let markup: ChatMarkup
    /// Separates reasoning, content and calls; has already read `beginning`.
    let parser: AnswerParser
    /// The parsed `beginning`.
    let begun: [AnswerDelta]
    package var tokens: [Int32] { prompt.tokens }
}

extension ConversationModel {
    /// Renders a conversation up to where the answer begins, and tokenizes it with its images.
    package func prompt(for request: ConversationRequest) async throws -> ConversationPrompt {
        try prompt(for: request, images: try await read(request.messages, cacheSalt: request.sampling.cacheSalt))
    }

    /// - Parameter images: The messages' images, in order.
    package func prompt(
        for request: ConversationRequest, images: [ModelImage]
    ) throws(LocalModelError) -> ConversationPrompt {
        let tools = request.tools
        let markup = markup(of: try template(for: request))
        let text = try rendered(request, isQuoted: true)
        var notation = markup.dialect
        if request.rendering.keepsReasoning { (notation.thoughts.open, notation.thoughts.close) = ("", "") }
        var parser = AnswerParser(
            notation, tools: tools.areCallable ? tools.declared : [], after: text,
            readsBareCalls: tools.readsBareCalls && request.format == nil)
        let beginning = try healed(tools.forcedBeginning(markup.dialect, after: text), after: text, markup)
        let begun = parser.read(beginning)
        return ConversationPrompt(
            text: text, beginning: beginning, prompt: try prompt(ofQuoted: text + beginning, images: images),
            markup: markup, parser: parser, begun: begun)
    }

    /// The request's template, or the model's own for the tools that it shows; `nil`: the model's main one.
    private func template(for request: ConversationRequest) throws(LocalModelError) -> ChatTemplate? {
        if let template = request.rendering.template { return template }
        return request.tools.shown.isEmpty ? nil : try toolTemplate
    }

    /// Renders a conversation with the definitions of its tools, in another form if the template refuses it.
    ///
    /// - Parameter isQuoted: Whether control tokens in the texts are quoted.
    package func rendered(_ request: ConversationRequest, isQuoted: Bool) throws(LocalModelError) -> String {
        let tokenizer = isQuoted ? try tokenizer : nil
        let (tools, rendering) = (request.tools, request.rendering)
        let template = try template(for: request)
        let dialect = markup(of: template).dialect
        let prepared = LocalModel.preparing(
            request.messages, tools: tools.shown, for: dialect
        ) { tokenizer?.quote($0) ?? $0 }
        var variables = rendering.variables
        if dialect.isHarmony, case .string(let effort)? = variables["reasoning_effort"] {
            // The model was trained on low, medium and high.
            let known = ["none": "low", "minimal": "low", "xhigh": "high"]
            variables["reasoning_effort"] = .string(known[effort] ?? effort)
        }
        for (key, value) in prepared.variables.entries { variables[key] = value }
        let messages = tokenizer.map { tokenizer in prepared.messages.map { $0.quoted(for: tokenizer) } }
        return try LocalModel.rendering(messages ?? prepared.messages, variables, ending: rendering.ending) {
            (messages, variables) throws(LocalModelError) in
            try render(messages, variables: variables, ending: rendering.ending, template: template)
        }
    }

    /// The forced beginning of an answer without the tokens at its end that could merge with the text that follows: the
    /// model writes them, as its constraint prescribes. The first token of the call always stays: it tells that the answer
    /// is a call.
    package func healed(
        _ beginning: String, after prompt: String, _ markup: ChatMarkup
    ) throws(LocalModelError) -> String {
        guard !beginning.isEmpty else { return beginning }
        let tokenizer = try tokenizer
        let bytes = Array(beginning.utf8)
        let border = try vocabulary(in: markup).firstCrossing(of: bytes)
        var end = bytes.count
        for token in tokenizer.encode(bytes: bytes, addSpecial: false, parseSpecial: true).reversed() where end > border
        {
            end -= tokenizer.bytes(of: token, includingControl: true).count
        }
        let dialect = markup.dialect
        let thoughts = dialect.isHarmony ? 0 : dialect.closing(after: prompt).utf8.count
        guard end > thoughts, let kept = String(beginning.utf8.prefix(end)) else { return beginning }
        return kept
    }
}
