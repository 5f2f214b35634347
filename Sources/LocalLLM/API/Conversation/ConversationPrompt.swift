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
    func prompt(
        for request: ConversationRequest, images: [ModelImage]
    ) throws(LocalModelError) -> ConversationPrompt {
        let (tools, rendering) = (request.tools, request.rendering)
        let text = try rendered(request.messages, tools, rendering)
        var notation = dialect
        if rendering.keepsReasoning { (notation.thoughts.open, notation.thoughts.close) = ("", "") }
        var parser = AnswerParser(
            notation, tools: tools.areCallable ? tools.declared : [], after: text,
            readsBareCalls: tools.readsBareCalls && request.format == nil)
        let beginning = try healed(tools.forcedBeginning(dialect, after: text), after: text)
        let begun = parser.read(beginning)
        return ConversationPrompt(
            text: text, beginning: beginning, prompt: try prompt(ofQuoted: text + beginning, images: images),
            parser: parser, begun: begun)
    }

    /// Renders the messages with the tools' definitions, in another form if the template refuses them.
    private func rendered(
        _ messages: [ChatMessage], _ tools: ToolOffer, _ rendering: ConversationRequest.Rendering
    ) throws(LocalModelError) -> String {
        let tokenizer = try tokenizer
        var rendering = rendering
        let prepared = LocalModel.preparing(
            messages, tools: tools.choice == .none ? [] : tools.definitions, for: dialect, quote: tokenizer.quote)
        if dialect.isHarmony, case .string(let effort)? = rendering.variables["reasoning_effort"] {
            // The model was trained on low, medium and high.
            let known = ["none": "low", "minimal": "low", "xhigh": "high"]
            rendering.variables["reasoning_effort"] = .string(known[effort] ?? effort)
        }
        for (key, value) in prepared.variables.entries { rendering.variables[key] = value }
        return try rendered(prepared.messages.map { $0.quoted(for: tokenizer) }, rendering)
    }

    /// Renders messages as they are, in another form if the template refuses them.
    package func rendered(
        _ messages: [ChatMessage], _ rendering: ConversationRequest.Rendering
    ) throws(LocalModelError) -> String {
        try LocalModel.rendering(messages, rendering.variables, ending: rendering.ending) {
            (messages, variables) throws(LocalModelError) in
            try render(messages, variables: variables, ending: rendering.ending, template: rendering.template)
        }
    }

    /// The forced beginning of an answer without the tokens at its end that could merge with the text that follows: the
    /// model writes them, as its constraint prescribes. The first token of the call always stays: it tells that the answer
    /// is a call.
    package func healed(_ beginning: String, after prompt: String) throws(LocalModelError) -> String {
        guard !beginning.isEmpty else { return beginning }
        let tokenizer = try tokenizer
        let bytes = Array(beginning.utf8)
        let border = try vocabulary.firstCrossing(of: bytes)
        var end = bytes.count
        for token in tokenizer.encode(bytes: bytes, addSpecial: false, parseSpecial: true).reversed() where end > border
        {
            end -= tokenizer.bytes(of: token, includingControl: true).count
        }
        let thoughts = dialect.isHarmony ? 0 : dialect.closing(after: prompt).utf8.count
        guard end > thoughts, let kept = String(beginning.utf8.prefix(end)) else { return beginning }
        return kept
    }
}
