import Dialects
import Foundation
import Synchronization
import Template
import Testing
import Tokenizer
import Wire

@testable import LocalLLM
@testable import Shim

/// A dialect with calls as JSON between tags, as its template shows them.
let toolDialect: Dialect = {
    let source = """
        {%- if tools -%}{{- tools | tojson -}}{%- endif -%}
        {%- for message in messages -%}
        {{- '<|im_start|>' + message.role + '\\n' + message.content -}}
        {%- for c in message.tool_calls or [] -%}{{- '\\n<tool_call>\\n{"name": "' + c.function.name + '", "arguments": ' + \
        c.function.arguments | tojson + '}\\n</tool_call>' -}}{%- endfor -%}{{- '<|im_end|>\\n' -}}
        {%- endfor -%}
        {%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}
        """
    // The source is constant.
    var dialect = (try? ChatTemplate(source)).map { Dialect(template: $0) } ?? Dialect()
    dialect.thoughts = .init()
    return dialect
}()

@Suite struct ToolTests {
    static let tools = """
        "tools": [{"type": "function", "function": {"name": "weather", "description": "Tells the weather.",
        "parameters": {"type": "object", "properties": {"zone": {"type": "string"}, "city": {"type": "string"}}}}},
        {"type": "function", "function": {"name": "time"}}]
        """
    static let call = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"York\"}}\n</tool_call>"
    static let second = "\n<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>"

    private func engine(_ texts: [String]) -> ScriptedLanguageModel {
        ScriptedLanguageModel(.init(texts: texts, dialect: toolDialect))
    }

    private func calls(_ answer: Answer) -> [[String: Any]] { answer.message["tool_calls"] as? [[String: Any]] ?? [] }

    private func function(_ call: [String: Any]) -> [String: String] { call["function"] as? [String: String] ?? [:] }

    // MARK: Answers

    @Test func `a call is a tool call, and the answer's content is null`() async {
        let answer = await router(engine([Self.call])).chat(Self.tools)
        #expect(answer.choice["finish_reason"] as? String == "tool_calls")
        #expect(answer.message["content"] is NSNull)
        let call = calls(answer).first ?? [:]
        #expect(call["type"] as? String == "function")
        #expect((call["id"] as? String)?.hasPrefix("call_") == true)
        #expect(function(call) == ["name": "weather", "arguments": #"{"city": "York"}"#])
    }

    @Test func `a template in the request has its own markers of thoughts and calls`() async throws {
        let template = """
            {%- if tools -%}{{- tools | tojson -}}{%- endif -%}
            {%- for m in messages -%}{{- m.role + ': ' -}}
            {%- if m.reasoning_content -%}{{- '<reason>' + m.reasoning_content + '</reason>' -}}{%- endif -%}
            {{- m.content -}}
            {%- for c in m.tool_calls or [] -%}{{- '[[CALL]]{"name": "' + c.function.name + '", "arguments": ' + \
            c.function.arguments | tojson + '}[[END]]' -}}{%- endfor -%}{{- '\\n' -}}
            {%- endfor -%}{%- if add_generation_prompt -%}{{- 'assistant: ' -}}{%- endif -%}
            """
        let quoted = try #require(String(data: JSONEncoder().encode(template), encoding: .utf8))
        let text = #"<reason>Hm</reason>[[CALL]]{"name": "weather", "arguments": {"city": "York"}}[[END]]"#
        let other = await router(engine([text])).chat(#"\#(Self.tools), "chat_template": \#(quoted)"#)
        #expect(other.message["reasoning_content"] as? String == "Hm")
        #expect(function(calls(other).first ?? [:])["arguments"] == #"{"city": "York"}"#)
        let forced = engine([#" {"city": "York"}}[[END]]"#])
        let answer = await router(forced).chat(
            #"\#(Self.tools), "chat_template": \#(quoted), "tool_choice": {"type": "function", "function": {"name": "weather"}}"#
        )
        #expect(function(calls(answer).first ?? [:])["name"] == "weather")
        let prompt = String(
            decoding: forced.asked.withLock { $0[0].tokens }.map { UInt8(clamping: $0 - 3) }, as: UTF8.self)
        #expect(prompt.replacing("\u{2581}", with: " ").contains(#"[[CALL]]{"name": "weather""#))
        // Without it, these are the markers of no template.
        let own = await router(engine([text])).chat(Self.tools)
        #expect(own.message["content"] as? String == text)
        let long = await router(engine([text])).chat(#""chat_template": "\#(String(repeating: "x", count: 300_000))""#)
        #expect(long.error["param"] as? String == "chat_template")
    }

    private static let bare = "```json\n{\"name\": \"weather\", \"arguments\": {\"city\": \"York\"}}\n```"

    @Test func `a call without the model's markers is a tool call, also streamed`() async throws {
        let answer = await router(engine([Self.bare])).chat(Self.tools)
        #expect(answer.choice["finish_reason"] as? String == "tool_calls")
        #expect(answer.message["content"] is NSNull)
        #expect(function(calls(answer).first ?? [:]) == ["name": "weather", "arguments": #"{"city": "York"}"#])
        let stream = try await router(engine(Self.bare.map(String.init))).stream(
            chatBody(Self.tools + #", "stream": true"#))
        let deltas = stream.choices.compactMap { $0["delta"] as? [String: Any] }
        #expect(deltas.allSatisfy { ($0["content"] as? String ?? "").isEmpty })
        #expect(deltas.contains { $0["tool_calls"] != nil })
    }

    @Test func `it is content where JSON is asked for, where no tool is offered, and where an option says so`() async {
        for fields in [Self.tools + #", "response_format": {"type": "json_object"}"#, ""] {
            let answer = await router(engine([Self.bare])).chat(fields)
            #expect(answer.message["content"] as? String == Self.bare)
            #expect(answer.choice["finish_reason"] as? String == "stop")
        }
        var services = router(engine([Self.bare]))
        services.readsBareCalls = false
        #expect(await services.chat(Self.tools).message["content"] as? String == Self.bare)
    }

    @Test func `content before calls is kept, and calls are counted`() async {
        let answer = await router(engine(["Let me see. ", Self.call, Self.second])).chat(Self.tools)
        #expect(answer.message["content"] as? String == "Let me see.")
        #expect(calls(answer).map { function($0)["name"] } == ["weather", "time"])
        #expect(Set(calls(answer).compactMap { $0["id"] as? String }).count == 2)
    }

    @Test func `one call is all where parallel calls are not wanted`() async {
        let fields = Self.tools + #", "parallel_tool_calls": false"#
        #expect(calls(await router(engine([Self.call + Self.second])).chat(fields)).count == 1)
    }

    @Test func `text that is no call is content`() async {
        let text = "<tool_call>\n{\"name\": \"unknown\"}\n</tool_call>"
        let answer = await router(engine([text])).chat(Self.tools)
        #expect(answer.status == 200)
        #expect(answer.message["content"] as? String == text)
        #expect(answer.choice["finish_reason"] as? String == "stop")
    }

    @Test func `a stream tells name and id once and arguments in pieces`() async throws {
        let engine = engine(Self.call.map(String.init) + Self.second.map(String.init))
        let deltas = try await router(engine).stream(chatBody(Self.tools + #", "stream": true"#)).choices
        let pieces = deltas.flatMap { ($0["delta"] as? [String: Any])?["tool_calls"] as? [[String: Any]] ?? [] }
        #expect(pieces.compactMap { $0["id"] as? String }.count == 2)
        #expect(pieces.compactMap { function($0)["name"] } == ["weather", "time"])
        for (index, expected) in [#"{"city": "York"}"#, "{}"].enumerated() {
            let own = pieces.filter { $0["index"] as? Int == index }
            #expect(own.compactMap { function($0)["arguments"] }.joined() == expected)
        }
        #expect(deltas.compactMap { $0["finish_reason"] as? String } == ["tool_calls"])
        #expect(deltas.allSatisfy { ($0["delta"] as? [String: Any])?["content"] as? String ?? "" == "" })
    }

    @Test func `functions are answered in their own form`() async {
        let functions = #""functions": [{"name": "weather", "parameters": {}}], "function_call": "auto""#
        let answer = await router(engine([Self.call])).chat(functions)
        #expect(answer.choice["finish_reason"] as? String == "function_call")
        let call = answer.message["function_call"] as? [String: String]
        #expect(call == ["name": "weather", "arguments": #"{"city": "York"}"#])
    }

    @Test func `a custom tool gets text`() async {
        let call = #"<tool_call>{"name": "run", "arguments": {"input": "a\nb"}}</tool_call>"#
        let answer = await router(engine([call])).chat(#""tools": [{"type": "custom", "custom": {"name": "run"}}]"#)
        #expect(calls(answer).first?["type"] as? String == "custom")
        #expect(calls(answer).first?["custom"] as? [String: String] == ["name": "run", "input": "a\nb"])
    }

    // MARK: Prompts

    @Test func `the template gets the tools as the request wrote them`() async throws {
        let engine = engine(["Hi"])
        _ = await router(engine).chat(Self.tools)
        let variables = try #require(engine.rendered.withLock { $0.last?.variables })
        guard case .array(let tools) = variables["tools"], case .object(let tool) = tools.first,
            case .object(let function) = tool["function"], case .object(let schema) = function["parameters"],
            case .object(let properties) = schema["properties"]
        else {
            Issue.record("no tools in \(variables)")
            return
        }
        #expect(properties.entries.map(\.key) == ["zone", "city"])
    }

    @Test func `a template without tools gets them in words`() async throws {
        let engine = ScriptedLanguageModel(.init(texts: ["Hi"]))
        _ = await router(engine).chat(Self.tools)
        let messages = try #require(engine.rendered.withLock { $0.last?.messages })
        #expect(messages.first?.role == .system)
        #expect(messages.first?.content.contains(#""name": "weather""#) == true)
    }

    @Test func `calls and results of earlier turns reach the template`() async throws {
        let engine = engine(["Hi"])
        let answer = await router(engine).chat(
            messages: #"""
                {"role": "user", "content": "Weather?"}, {"role": "assistant", "content": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"York\"}"}},
                {"id": "b", "type": "function", "function": {"name": "time", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "b", "content": "noon"}, {"role": "tool", "tool_call_id": "a", "content": "wet"}
                """#)
        #expect(answer.status == 200)
        let messages = try #require(engine.rendered.withLock { $0.last?.messages })
        #expect(messages[1].toolCalls?.map(\.name) == ["weather", "time"])
        #expect(messages.suffix(2).map(\.name) == ["time", "weather"])
    }

    @Test(
        arguments: [
            (#""tool_choice": "required""#, "<tool_call>\n{\"name\": \""),
            (
                #""tool_choice": {"type": "function", "function": {"name": "time"}}"#,
                "<tool_call>\n{\"name\": \"time\", \"arguments\":"
            ),
            (#""tool_choice": "auto""#, ""), (#""tool_choice": "none""#, ""),
        ])
    func `a choice that must be a call begins as one`(field: String, beginning: String) async throws {
        let engine = engine([" {}}"])
        _ = await router(engine).chat(Self.tools + ", " + field)
        let tokens = try #require(engine.asked.withLock { $0.last?.tokens })
        let text = String(decoding: tokens.flatMap { engine.tokenizer.bytes(of: $0) }, as: UTF8.self)
        let spaced = text.replacingOccurrences(of: "\u{2581}", with: " ")
        #expect(spaced.hasSuffix("<|im_start|>assistant\n" + beginning) || spaced.hasSuffix(beginning))
    }

    @Test func `what the answer was made to begin with is part of it`() async {
        let named = Self.tools + #", "tool_choice": {"type": "function", "function": {"name": "time"}}"#
        let answer = await router(engine([" {\"a\": 1}}\n</tool_call>"])).chat(named)
        #expect(function(calls(answer).first ?? [:]) == ["name": "time", "arguments": #"{"a": 1}"#])
    }

    @Test func `nothing is a call where none is wanted`() async {
        let answer = await router(engine([Self.call])).chat(Self.tools + #", "tool_choice": "none""#)
        #expect(answer.message["content"] as? String == Self.call)
    }

    // MARK: Errors

    @Test(arguments: [
        (#""tools": [{}]"#, "tools[0].type"), (#""tools": [{"type": "web_search"}]"#, "tools[0].type"),
        (#""tools": [{"type": "function"}]"#, "tools[0].function"),
        (#""tools": [{"type": "function", "function": {}}]"#, "tools[0].function.name"),
        (
            #""tools": [{"type": "function", "function": {"name": "f", "parameters": []}}]"#,
            "tools[0].function.parameters"
        ),
        (#""tools": 3"#, "tools"), (#""tool_choice": "required""#, "tool_choice"),
        (tools + #", "tool_choice": "sometimes""#, "tool_choice"),
        (tools + #", "tool_choice": {"type": "function", "function": {"name": "g"}}"#, "tool_choice"),
        (#""functions": [{"name": "f"}], "function_call": {"name": "g"}"#, "function_call"),
    ])
    func `a wrong tool is named`(fields: String, param: String) async {
        let answer = await router(engine(["Hi"])).chat(fields)
        #expect(answer.status == 400)
        #expect(answer.error["param"] as? String == param)
    }

    // MARK: Responses

    private static let responseTools =
        #""tools": [{"type": "function", "name": "weather", "parameters": {}, "strict": false}]"#

    @Test func `a response has calls as items, and goes on with their output`() async throws {
        let router = router(engine([Self.call]))
        let answer = await router.answer(
            "POST", "/v1/responses", #"{"model": "Test-Q4", "input": "Weather?", \#(Self.responseTools)}"#)
        let item = try #require((answer.json["output"] as? [[String: Any]])?.first)
        #expect(item["type"] as? String == "function_call")
        #expect(item["name"] as? String == "weather")
        #expect(item["arguments"] as? String == #"{"city": "York"}"#)
        #expect(item["status"] as? String == "completed")
        let id = try #require(answer.json["id"] as? String)
        let callID = try #require(item["call_id"] as? String)
        let next = await router.answer(
            "POST", "/v1/responses",
            #"""
            {"model": "Test-Q4", "previous_response_id": "\#(id)", \#(Self.responseTools),
            "input": [{"type": "function_call_output", "call_id": "\#(callID)", "output": "wet"}]}
            """#)
        #expect(next.status == 200)
    }

    @Test func `items of calls and outputs become messages`() async throws {
        let engine = engine(["Hi"])
        let answer = await router(engine).answer(
            "POST", "/v1/responses",
            #"""
            {"model": "Test-Q4", "input": [{"role": "user", "content": "Weather?"},
            {"type": "function_call", "call_id": "a", "name": "weather", "arguments": "{}"},
            {"type": "function_call", "call_id": "b", "name": "time", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "wet"},
            {"type": "function_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "noon"}]}]}
            """#)
        #expect(answer.status == 200)
        let messages = try #require(engine.rendered.withLock { $0.last?.messages })
        #expect(messages.map(\.role) == [.user, .assistant, .tool, .tool])
        #expect(messages[1].toolCalls?.count == 2)
        #expect(messages[3].content == "noon")
    }
}
