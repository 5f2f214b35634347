@testable import Engine
import Dialects
import Template
import TestSupport
import Testing

@testable import Constraint
@testable import LocalLLM

@Suite struct ChatMarkupTests {
    private static let thinking = """
        {%- for m in messages -%}{{- m.role + ': ' -}}
        {%- if m.reasoning_content -%}{{- '<reason>' + m.reasoning_content + '</reason>' -}}{%- endif -%}
        {{- m.content + '\\n' -}}{%- endfor -%}{%- if add_generation_prompt -%}{{- 'assistant: ' -}}{%- endif -%}
        """

    @Test func `a template in a request has a markup of its own`() async throws {
        let directory = try TemporaryDirectory()
        let model = try await LocalModel.load(from: TinyModel().write(in: directory))
        #expect(model.markup(of: nil) == model.markup)
        let other = model.markup(of: try ChatTemplate(Self.thinking))
        #expect(other.dialect.thoughts.open == "<reason>")
        #expect(other.dialect != model.dialect)
    }

    @Test func `a template of the model for tools is used for conversations with tools`() async throws {
        let directory = try TemporaryDirectory()
        var tiny = TinyModel()
        tiny.template = "{% for m in messages %}plain {{ m.content }}{% endfor %}"
        let forTools = """
            {%- for t in tools -%}{{- '<tool>' + t.function.name + '</tool>' -}}{%- endfor -%}
            {%- for m in messages -%}{{- m.content -}}{%- for c in m.tool_calls -%}
            {{- '<call>' + c | tojson + '</call>' -}}{%- endfor -%}{%- endfor -%}
            """
        tiny.extra.append(("tokenizer.chat_template.tool_use", .string(forTools)))
        let model = try await LocalModel.load(from: tiny.write(in: directory))
        var request = ConversationRequest(.messages([.user("Hi")]))
        #expect(try model.rendered(request, isQuoted: false) == "plain Hi")
        request.tools.definitions = [
            .object(["type": .string("function"), "function": .object(["name": .string("look")])])
        ]
        #expect(try model.rendered(request, isQuoted: false) == "<tool>look</tool>Hi")
        let prompt = try await model.prompt(for: request)
        #expect(prompt.markup == model.markup(of: try ChatTemplate(forTools)))
        request.tools.choice = .none
        #expect(try model.rendered(request, isQuoted: false) == "plain Hi")
        request.tools.choice = .auto
        request.rendering.template = try ChatTemplate("own")
        #expect(try model.rendered(request, isQuoted: false).hasPrefix("own"))
    }

    @Test func `a template for tools that is none is named when there are tools`() async throws {
        let directory = try TemporaryDirectory()
        var tiny = TinyModel()
        tiny.extra.append(("tokenizer.chat_template.tool_use", .string("{% for %}")))
        let model = try await LocalModel.load(from: tiny.write(in: directory))
        var request = ConversationRequest(.messages([.user("Hi")]))
        _ = try model.rendered(request, isQuoted: false)
        request.tools.definitions = [
            .object(["type": .string("function"), "function": .object(["name": .string("look")])])
        ]
        let error = #expect(throws: LocalModelError.self) { try model.rendered(request, isQuoted: false) }
        #expect("\(try #require(error))".contains("tokenizer.chat_template.tool_use"))
    }

    @Test func `the markup of a template is derived once, and the last templates are kept`() throws {
        let cache = MarkupCache()
        var derived = 0
        func ask(_ source: String) throws -> ChatMarkup {
            let template = try ChatTemplate(source)
            return cache.markup(of: template) { template in
                derived += 1
                return ChatMarkup(Dialect(template: template))
            }
        }
        #expect(try ask(Self.thinking) == ask(Self.thinking))
        #expect(derived == 1)
        for number in 0..<40 {
            _ = try ask("\(number)")
            _ = try ask(Self.thinking)
        }
        #expect(derived == 41)
        #expect(cache.count == MarkupCache.capacity)
    }

    @Test func `a cancelled request leaves no markup behind`() async throws {
        let cache = MarkupCache()
        let template = try ChatTemplate(Self.thinking)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return cache.markup(of: template) { ChatMarkup(Dialect(template: $0)) }
        }
        _ = await task.value
        #expect(cache.count == 0)
    }

    /// Deriving renders the template about twenty times; each rendering is bounded, and so is the work on its text.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            "{% for i in range(100000) %}<a>{% endfor %}{{ messages | tojson }}{{ tools | tojson }}",
            "{{ messages | tojson }}{% for i in range(100000) %}<|a|>{% endfor %}",
            "{% for i in range(100000) %} {% endfor %}{{ messages | tojson }}{% for i in range(100000) %}\n{% endfor %}",
            "{% for m in messages %}{% for i in range(20000) %}<x{{ m.content }}{{ m.tool_calls }}>{% endfor %}{% endfor %}",
            "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
            "{{ 'ab' * 400000 }}{{ messages | tojson }}{{ '<' * 400000 }}",
            "{{ messages | tojson * 2000 }}",
        ])
    func `templates that print much have a markup soon`(source: String) throws {
        let dialect = Dialect(template: try ChatTemplate(source))
        #expect(dialect.markers.reduce(0) { $0 + $1.utf8.count } < 1 << 20)
    }

    @Test func `constraints of another markup have a vocabulary of their own, and few are kept`() throws {
        let directory = try TemporaryDirectory()
        let tokenizer = try LocalModel.tokenizer(of: TinyModel().write(in: directory))
        let store = ConstraintStore(own: [])
        let first = try store.constraint(.regex("a+"), tokenizer, markers: [])
        let other = try store.constraint(.regex("a+"), tokenizer, markers: [1])
        #expect(first.vocabulary !== other.vocabulary)
        #expect(first.vocabulary.memory === other.vocabulary.memory, "their memory is limited together")
        #expect(try store.constraint(.regex("a+"), tokenizer, markers: []) === first)
        for marker in Int32(2)..<12 { _ = store.vocabulary(of: tokenizer, markers: [marker]) }
        // Evicted, but still in use.
        #expect(store.isOurs(other.vocabulary))
        // The model's own vocabulary is kept, with its constraints.
        #expect(try store.constraint(.regex("a+"), tokenizer, markers: []) === first)
        let new = try store.constraint(.regex("a+"), tokenizer, markers: [1])
        #expect(new.vocabulary !== other.vocabulary)
    }

    @Test func `a full store drops what was used the longest time ago, many at once`() throws {
        let directory = try TemporaryDirectory()
        let tokenizer = try LocalModel.tokenizer(of: TinyModel().write(in: directory))
        let store = ConstraintStore(own: [])
        func constraint(_ number: Int) throws -> Constraint {
            try store.constraint(.choice(["\(number)"]), tokenizer, markers: [])
        }
        let made = try (0..<ConstraintStore.capacity).map(constraint)
        #expect(try constraint(0) === made[0])
        let last = try constraint(ConstraintStore.capacity)
        #expect(try constraint(0) === made[0] && constraint(ConstraintStore.capacity) === last)
        #expect(try constraint(ConstraintStore.capacity / 2) === made[ConstraintStore.capacity / 2])
        #expect(try constraint(1) !== made[1] && constraint(200) !== made[200])
        #expect(store.bytes <= ConstraintStore.maximumBytes)
    }
}
