import Template
import Testing

@testable import LocalLLM

@Suite struct TemplateFallbackTests {
    /// As Gemma 2's.
    private static let alternating = """
        {%- if messages[0].role == 'system' -%}{{- raise_exception('System role not supported') -}}{%- endif -%}
        {%- for m in messages -%}
        {%- if (m.role == 'user') != (loop.index0 % 2 == 0) -%}{{- raise_exception('Roles must alternate') -}}{%- endif -%}
        {{- m.role[0] + ':' + m.content + ';' -}}
        {%- endfor -%}
        """

    private func render(
        _ messages: [ChatMessage], _ template: String, _ variables: TemplateObject = [:],
        ending: PromptEnding = .answer
    ) throws -> String {
        let template = try ChatTemplate(template)
        return try LocalModel.rendering(messages, variables, ending: ending) {
            (messages, variables) throws(LocalModelError) in
            var variables = variables
            variables["messages"] = .array(
                messages.map { .object(["role": .string($0.role.rawValue), "content": .string($0.content)]) })
            do { return try template.render(variables) } catch { throw .templateFailed("\(error)") }
        }
    }

    @Test func `a system message becomes the user's where the template refuses it`() throws {
        #expect(
            try render([.system("A"), .user("b"), .assistant("c"), .user("d"), .user("e")], Self.alternating)
                == "u:A\n\nb;a:c;u:d\n\ne;")
        #expect(try render([.system("A")], Self.alternating) == "u:A;")
    }

    @Test func `what the template accepts is rendered as it is`() throws {
        let template = "{% for m in messages %}{{ m.role[0] + m.content }}{% endfor %}"
        #expect(try render([.user("a"), .system("B"), .user("c")], template) == "uasBuc")
    }

    @Test func `system messages are joined before they become the user's`() throws {
        let template = """
            {%- for m in messages -%}{%- if m.role == 'system' and not loop.first -%}{{- raise_exception('No') -}}\
            {%- endif -%}{{- m.role[0] + m.content -}}{%- endfor -%}
            """
        #expect(try render([.user("a"), .system("B"), .user("c"), .system("D")], template) == "sB\n\nDuauc")
        // A system message that the answer continues must stay the last message.
        #expect(try render([.user("a"), .system("B")], template, ending: .continuation) == "ua\n\nB")
    }

    @Test func `tools without a description get an empty one where the template prints it`() throws {
        let template = """
            {%- for t in tools -%}{{- t.function.name + ':' + t.function.description -}}{%- endfor -%}
            {%- for m in messages -%}{{- m.content -}}{%- endfor -%}
            """
        let tools = TemplateValue.array([.object(["function": .object(["name": .string("f")])])])
        #expect(try render([.user("a")], template, ["tools": tools]) == "f:a")
    }

    @Test func `a template that refuses every form tells its first error`() {
        let error = #expect(throws: LocalModelError.self) {
            try render([.system("A"), .user("b")], "{{ raise_exception(messages[0].role) }}")
        }
        #expect("\(error as Any)".contains("system"))
    }
}
