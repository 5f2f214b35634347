import TestSupport
import Testing
import Tokenizer

@testable import FoundationModels
@testable import LocalLLM

/// The token that ends an answer, where the template writes it after each message: it is one of the dialect's marks then.
@Suite(.timeLimit(.minutes(2))) struct AnswerEndTests {
    private let template = """
        {%- if tools %}{{ tools | tojson }}{% endif %}
        {%- for m in messages %}{{ m['role'] }}:{{ m['content'] }}{{ eos_token }}{% endfor -%}
        {%- if add_generation_prompt %}assistant:{% endif %}
        """

    @Test func `it has no text, and a call before it is a call`() async throws {
        let system = try tinyModel(context: 1024, template: template)
        let model = try await system.host.model()
        #expect(model.markup.markerTokens.contains(TinyModel.endOfSequence), "the premise of this test")
        let tools = try SessionTools([Bell()]).offer(nil)
        let window = ConversationWindow(.turns(1, length: 4), tools: tools)
        let tokenizer = try model.tokenizer
        var text = AnswerText(tokenizer, after: try window.prompt(for: model), tools: tools)
        let answer = #"{"name":"ring","arguments":{"times":2}}"#
        var events = DeltaEvents()
        var message = GeneratedMessage()
        for token in tokenizer.encode(answer, addSpecial: false, parseSpecial: false) + [TinyModel.endOfSequence] {
            for event in events.read(try text.add([token])) { message.apply(event) }
        }
        let usage = LocalLLM.Usage(promptTokens: 0, completionTokens: 0, secondsToFirstToken: 0, decodeSeconds: 0)
        for event in events.read(try text.finish(.init(reason: .stop, usage: usage))) { message.apply(event) }
        #expect(try message.calls().map(\.toolName) == ["ring"])
        #expect(message.text.isEmpty)
    }
}

private struct Bell: Tool {
    let name = "ring"
    let description = "Rings a bell"
    let parameters = GenerationSchema(type: GeneratedContent.self, properties: [.init(name: "times", type: Int.self)])

    func call(arguments: GeneratedContent) async throws -> String { "dong" }
}
