import Constraint
import Dialects
import LocalLLM
import Template
import Tokenizer
import Wire

/// A conversation rendered and tokenized for the model.
struct ChatPrompt: Sendable {
    /// The rendered template, and the forced beginning of the answer.
    let text: String
    let beginning: String
    let prompt: ModelPrompt
    /// Separates reasoning, content and calls; has already read `beginning`.
    let parser: AnswerParser
    /// The parsed `beginning`.
    var begun: [AnswerDelta] = []
    var begunBytes: Int { beginning.utf8.count }
    var tokens: [Int32] { prompt.tokens }
}

/// Rendering options of a request.
struct ChatForm: Sendable {
    var variables: TemplateObject = [:]
    var ending = PromptEnding.answer
    /// Used instead of the model's own template.
    var template: ChatTemplate?
    /// Whether reasoning stays in the content, with its markers.
    var keepsReasoning = false
}

extension LanguageModel {
    /// - Parameters:
    ///   - tools: The offered tools and `tool_choice`.
    ///   - images: The messages' images, in order.
    func prompt(
        _ messages: [ChatMessage], tools: OfferedTools? = nil, _ form: ChatForm, images: [ModelImage] = []
    ) throws(LocalModelError) -> ChatPrompt {
        let tokenizer = try tokenizer
        var form = form
        let offered = tools.flatMap { $0.choice == .none ? nil : $0.definitions } ?? []
        let prepared = LocalModel.preparing(messages, tools: offered, for: dialect, quote: tokenizer.quote)
        if dialect.isHarmony, case .string(let effort)? = form.variables["reasoning_effort"] {
            // The model was trained on low, medium and high.
            let known = ["none": "low", "minimal": "low", "xhigh": "high"]
            form.variables["reasoning_effort"] = .string(known[effort] ?? effort)
        }
        for (key, value) in prepared.variables.entries { form.variables[key] = value }
        let text = try rendered(prepared.messages.map { $0.quoted(for: tokenizer) }, form)
        let isCallable = tools?.areCallable == true
        var notation = dialect
        if form.keepsReasoning { (notation.thoughts.open, notation.thoughts.close) = ("", "") }
        var parser = AnswerParser(
            notation, tools: isCallable ? tools?.declared ?? [] : [], after: text,
            readsBareCalls: tools?.readsBareCalls == true)
        let beginning = try healed(tools?.forcedBeginning(dialect, after: text) ?? "", after: text)
        let begun = parser.read(beginning)
        return ChatPrompt(
            text: text, beginning: beginning, prompt: try prompt(ofQuoted: text + beginning, images: images),
            parser: parser, begun: begun)
    }

    /// The forced beginning of an answer without the tokens at its end that could merge with the text that follows: the
    /// model writes them, as its constraint prescribes. The first token of the call always stays: it tells that the answer
    /// is a call.
    func healed(_ beginning: String, after prompt: String) throws(LocalModelError) -> String {
        guard !beginning.isEmpty, let vocabulary = try? constraint(ConstraintGraph.Shape.nothing).vocabulary else {
            return beginning
        }
        let tokenizer = try tokenizer
        let bytes = Array(beginning.utf8)
        let border = vocabulary.firstCrossing(of: bytes)
        var end = bytes.count
        for token in tokenizer.encode(bytes: bytes, addSpecial: false, parseSpecial: true).reversed() where end > border
        {
            end -= tokenizer.bytes(of: token, includingControl: true).count
        }
        let thoughts = dialect.isHarmony ? 0 : dialect.closing(after: prompt).utf8.count
        guard end > thoughts, let kept = String(beginning.utf8.prefix(end)) else { return beginning }
        return kept
    }

    /// Renders the messages, in another form if the template refuses them.
    func rendered(_ messages: [ChatMessage], _ form: ChatForm) throws(LocalModelError) -> String {
        try LocalModel.rendering(messages, form.variables, ending: form.ending) {
            (messages, variables) throws(LocalModelError) in
            try render(messages, variables: variables, ending: form.ending, template: form.template)
        }
    }
}
