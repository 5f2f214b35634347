import Foundation
import JSON
import LocalLLM
import Synchronization
import Testing
import Wire

@testable import Shim

/// Answers with a shape, by the model in models/: whatever it would say, it says it in the form that was asked for.
@Suite(.timeLimit(.minutes(5))) struct StructuredOutputTests {
    private func bundled() async throws -> Services {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../models").standardized
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let file = folder.appending(path: try #require(names.first { $0.hasSuffix(".gguf") }))
        return router(try await LocalModel.load(from: file))
    }

    private static let schema = #"""
        {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12},
        "legs": {"type": "integer", "minimum": 0, "maximum": 8}, "wild": {"type": "boolean"}},
        "required": ["name", "legs", "wild"], "additionalProperties": false}
        """#

    private struct Animal: Decodable {
        let name: String
        let legs: Int
        let wild: Bool
    }

    private func animal(_ text: Any?) throws -> Animal {
        try JSONDecoder().decode(Animal.self, from: Data((text as? String ?? "").utf8))
    }

    @Test func `a schema is followed in every form that asks for one`() async throws {
        let router = try await bundled()
        for (field, seed) in [
            #""response_format": {"type": "json_schema", "json_schema": {"name": "animal", "schema": \#(Self.schema)}}"#,
            #""response_format": {"type": "json_schema", "json_schema": {"name": "a", "strict": true, "schema": \#(Self.schema)}}"#,
            #""response_format": {"type": "json_object", "schema": \#(Self.schema)}"#,
            #""json_schema": \#(Self.schema)"#, #""guided_json": \#(Self.schema)"#,
            #""structured_outputs": {"json": \#(Self.schema)}"#,
        ].enumerated().map({ ($1, $0) }) {
            let fields = #""temperature": 1, "seed": \#(seed), "max_tokens": 200, "# + field
            let answer = await router.chat(fields)
            #expect(answer.status == 200, "\(answer.text)")
            let found = try animal(answer.message["content"])
            #expect((0...8).contains(found.legs) && found.name.count <= 12)
            #expect(answer.choice["finish_reason"] as? String == "stop")
            let completion = await router.complete(#""prompt": "A dog: ", "# + fields)
            _ = try animal(completion.choice["text"])
            let llama = await router.answer("POST", "/completion", #"{"prompt": "A dog: ", \#(fields)}"#)
            _ = try animal(llama.json["content"])
        }
        let object = await router.chat(#""response_format": {"type": "json_object"}, "max_tokens": 300, "seed": 1"#)
        let text = object.message["content"] as? String ?? ""
        #expect(text.trimmingPrefix(" ").hasPrefix("{"))
        if object.choice["finish_reason"] as? String == "stop" {
            #expect(try JSON(parsing: text, JSON.bodyLimits).object != nil)
        }
    }

    @Test func `choices, expressions and grammars hold`() async throws {
        let router = try await bundled()
        for (field, pattern) in [
            (#""guided_choice": ["north", "south"]"#, "north|south"),
            (#""structured_outputs": {"choice": ["north", "south"]}"#, "north|south"),
            (#""guided_regex": "[A-Z]{3}-[0-9]{4}""#, "[A-Z]{3}-[0-9]{4}"),
            (#""structured_outputs": {"regex": "[A-Z]{3}"}"#, "[A-Z]{3}"),
            (#""grammar": "root ::= \"x\" [0-9] root | \"end\"""#, "(x[0-9])*end"),
            (#""guided_grammar": "root ::= \"yes\" | \"no\"""#, "yes|no"),
            (#""guided_grammar": "start: \"yes\" | \"no\"""#, "yes|no"),
        ] {
            let answer = await router.chat(#""temperature": 1, "seed": 3, "max_tokens": 100, "# + field)
            let text = answer.message["content"] as? String ?? answer.text
            let whole = try Regex("^(\(pattern))$")
            #expect(text.firstMatch(of: whole) != nil, "\(field): \(text)")
        }
    }

    @Test func `a stream adds up to the whole answer, and n choices each have the shape`() async throws {
        let router = try await bundled()
        let fields = #""temperature": 1, "seed": 5, "max_tokens": 200, "json_schema": \#(Self.schema)"#
        let whole = await router.chat(fields + #", "n": 3"#)
        #expect(whole.choices.count == 3)
        for choice in whole.choices { _ = try animal((choice["message"] as? [String: Any])?["content"]) }
        let deltas = try await router.stream(chatBody(fields + #", "stream": true"#)).choices
        let text = deltas.compactMap { ($0["delta"] as? [String: Any])?["content"] as? String }.joined()
        #expect(text == whole.message["content"] as? String)
    }

    @Test func `a limit leaves what is there`() async throws {
        let answer = await (try await bundled()).chat(#""max_tokens": 4, "json_schema": \#(Self.schema)"#)
        #expect(answer.choice["finish_reason"] as? String == "length")
        #expect((answer.message["content"] as? String)?.trimmingPrefix(" ").hasPrefix("{\"na") == true)
    }

    @Test func `responses and messages take schemas too`() async throws {
        let router = try await bundled()
        let response = await router.answer(
            "POST", "/v1/responses",
            #"{"model": "Test-Q4", "input": "A dog?", "text": {"format": {"type": "json_schema", "name": "a", "schema": \#(Self.schema)}}}"#
        )
        #expect(response.status == 200, "\(response.text)")
        let output = response.json["output"] as? [[String: Any]] ?? []
        _ = try animal((output.first?["content"] as? [[String: Any]])?.first?["text"])
        let format = (response.json["text"] as? [String: Any])?["format"] as? [String: Any]
        #expect(format?["type"] as? String == "json_schema")
        let message = await router.answer(
            "POST", "/v1/messages",
            #"{"model": "Test-Q4", "max_tokens": 200, "messages": [{"role": "user", "content": "A dog?"}], "output_config": {"format": {"type": "json_schema", "schema": \#(Self.schema)}}}"#
        )
        #expect(message.status == 200, "\(message.text)")
        _ = try animal((message.json["content"] as? [[String: Any]])?.first?["text"])
    }

    @Test(arguments: [
        (
            #""response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"properties": {"a": {"$ref": "https://a.b/c"}}}}}"#,
            "response_format.json_schema.schema", "#/properties/a/$ref"
        ),
        (#""json_schema": {"type": "colour"}"#, "json_schema", "#/type"),
        (#""guided_regex": "(a""#, "guided_regex", "regular expression"),
        (#""grammar": "root ::= undefined""#, "grammar", "undefined"),
        (#""guided_json": false"#, "guided_json", "no text"),
        (#""guided_choice": []"#, "guided_choice", "at least one text"),
        (#""structured_outputs": {"choice": []}"#, "structured_outputs.choice", "at least one text"),
    ])
    func `what cannot be held to is refused by field, keyword and path`(
        field: String, param: String, reason: String
    ) async {
        let engine = ScriptedLanguageModel()
        let answer = await router(engine).chat(field)
        #expect(answer.status == 400)
        #expect(answer.error["param"] as? String == param)
        #expect((answer.error["message"] as? String)?.contains(reason) == true, "\(answer.text)")
        #expect(engine.asked.withLock { $0.isEmpty })
    }

    @Test(arguments: [
        (#""grammar": "root ::= \"a\"", "guided_choice": ["a"]"#, "guided_choice"),
        (#""response_format": {"type": "json_schema", "json_schema": {}}"#, "response_format.json_schema.schema"),
        (#""response_format": {"type": "json_object"}, "guided_regex": "a""#, "guided_regex"),
    ])
    func `contradictions are named`(field: String, param: String) async {
        let answer = await router(ScriptedLanguageModel()).chat(field)
        #expect(answer.status == 400)
        #expect(answer.error["param"] as? String == param)
    }

    // MARK: Tools

    private static let tools = #"""
        "tools": [{"type": "function", "function": {"name": "sum", "parameters": {"type": "object", "properties": {
        "a": {"type": "integer", "minimum": 0, "maximum": 99}, "b": {"type": "integer", "minimum": 0, "maximum": 99}},
        "required": ["a", "b"]}}}, {"type": "function", "function": {"name": "weather", "strict": true, "parameters": {
        "type": "object", "properties": {"city": {"type": "string", "maxLength": 20},
        "unit": {"enum": ["metric", "us"]}}, "required": ["city", "unit"], "additionalProperties": false}}}]
        """#

    private func check(_ name: String?, _ arguments: String?) throws {
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data((arguments ?? "").utf8)) as? [String: Any])
        switch name {
        case "sum":
            #expect(Set(object.keys) == ["a", "b"])
            #expect((0...99).contains(object["a"] as? Int ?? -1) && (0...99).contains(object["b"] as? Int ?? -1))
        case "weather":
            #expect(Set(object.keys) == ["city", "unit"])
            #expect(["metric", "us"].contains(object["unit"] as? String))
        default: Issue.record("a tool that nobody declared: \(name ?? "")")
        }
    }

    @Test func `a call that has to come is one of a declared tool, with arguments after its schema`() async throws {
        let router = try await bundled()
        var whole = 0
        for seed in 0..<6 {
            for choice in [
                #""required""#, #"{"type": "function", "function": {"name": "weather"}}"#,
                #"{"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "sum"}}]}}"#,
            ] {
                let answer = await router.chat(
                    Self.tools
                        + #", "temperature": 1.5, "seed": \#(seed), "max_tokens": 200, "tool_choice": \#(choice)"#)
                // A model that knows no tools may write a text without end, which the limit cuts off.
                if answer.choice["finish_reason"] as? String == "length" { continue }
                whole += 1
                #expect(answer.choice["finish_reason"] as? String == "tool_calls", "\(answer.text)")
                let calls = answer.message["tool_calls"] as? [[String: Any]] ?? []
                #expect(!calls.isEmpty)
                for call in calls {
                    let function = call["function"] as? [String: String]
                    try check(function?["name"], function?["arguments"])
                }
            }
        }
        #expect(whole > 6)
    }

    @Test func `one call is all where parallel calls are not wanted`() async throws {
        let router = try await bundled()
        for seed in 0..<4 {
            let answer = await router.chat(
                Self.tools
                    + #", "seed": \#(seed), "tool_choice": "required", "parallel_tool_calls": false, "max_tokens": 200"#
            )
            #expect((answer.message["tool_calls"] as? [Any])?.count == 1)
            #expect(answer.choice["finish_reason"] as? String == "tool_calls")
        }
    }

    @Test func `a custom tool's expression holds for its input`() async throws {
        let router = try await bundled()
        let tool =
            #"{"type": "custom", "name": "dial", "format": {"type": "grammar", "syntax": "regex", "definition": "[0-9]{3}-[0-9]{4}"}}"#
        let answer = await router.answer(
            "POST", "/v1/responses",
            #"{"model": "Test-Q4", "input": "Call", "tools": [\#(tool)], "tool_choice": {"type": "custom", "name": "dial"}}"#
        )
        let output = answer.json["output"] as? [[String: Any]] ?? []
        let input = output.first { $0["type"] as? String == "custom_tool_call" }?["input"] as? String
        #expect(input?.wholeMatch(of: /[0-9]{3}-[0-9]{4}/) != nil, "\(answer.text)")
        let other = tool.replacing("regex", with: "pcre")
        let refused = await router.answer(
            "POST", "/v1/responses", #"{"model": "Test-Q4", "input": "Call", "tools": [\#(other)]}"#)
        #expect(refused.error["param"] as? String == "tools[0].format.syntax")
    }

    @Test func `a custom tool's grammar holds for its input`() async throws {
        let router = try await bundled()
        func tool(_ grammar: String) -> String {
            #"{"type": "custom", "custom": {"name": "sum", "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "\#(grammar)"}}}}"#
        }
        for seed in 0..<4 {
            let answer = await router.chat(
                #""temperature": 1, "seed": \#(seed), "max_tokens": 200, "tool_choice": "required", "parallel_tool_calls": false, "tools": ["#
                    + tool(#"start: INT (\"+\" INT)~2 NEWLINE\nINT: /[1-9][0-9]?/\nNEWLINE: \"\\n\" | \"\\\"\""#) + "]")
            let call = (answer.message["tool_calls"] as? [[String: Any]])?.first?["custom"] as? [String: Any]
            let input = call?["input"] as? String
            #expect(input?.wholeMatch(of: /[1-9][0-9]?(\+[1-9][0-9]?){2}[\n"]/) != nil, "\(answer.text)")
        }
        let refused = await router.chat(#""tools": [\#(tool("start: x"))]"#)
        #expect(refused.status == 400)
        #expect(refused.error["param"] as? String == "tools[0].custom.format")
        #expect((refused.error["message"] as? String)?.contains("x: the rule is not defined") == true)
    }

    @Test func `what a tool without strict cannot be held to is left out with a warning`() async throws {
        let services = router(ScriptedLanguageModel(.init(dialect: toolDialect)))
        let door = FrontDoor(keys: try apiKeys(), origins: .init(corsOrigins: ["https://a.example"])) {
            try await runHandler($0, services)
        }
        let parameters =
            #"{"type": "object", "properties": {"a": {"type": "integer", "format": "uint32"}, "é": {"type": "any"}}}"#
        let bodies = [
            (
                "/v1/chat/completions", "tools[0].function.parameters",
                chatBody(#""tools": [{"type": "function", "function": {"name": "f", "parameters": \#(parameters)}}]"#)
            ),
            (
                "/v1/messages", "tools[0].input_schema",
                #"{"model": "Test-Q4", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "tools": [{"name": "f", "input_schema": \#(parameters)}]}"#
            ),
        ]
        for (path, field, body) in bodies {
            let request = post(path, body).replacingOccurrences(of: "Host:", with: "Origin: https://a.example\r\nHost:")
            let reply = SocketReply(try await withServer(door.respond) { try await exchange($0, request) })
            #expect(reply.status == 200)
            let warning = try #require(reply.header("x-warning"))
            #expect(
                warning.contains(#"\#(field): #/properties/a/format: the format "uint32" is not known"#), "\(warning)")
            #expect(warning.contains(#"\#(field): #/properties/?/type: "any" is not a type"#), "\(warning)")
            #expect(reply.header("Access-Control-Expose-Headers")?.contains("x-warning") == true)
        }
    }

    @Test func `an unknown format in an answer's schema is named in a warning`() async throws {
        let services = router(ScriptedLanguageModel())
        let door = FrontDoor(keys: try apiKeys(), origins: .init()) { try await runHandler($0, services) }
        let body = chatBody(
            #""response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": true, "schema": {"type": "string", "format": "path"}}}"#
        )
        let reply = SocketReply(try await withServer(door.respond) { try await exchange($0, chatRequest(body)) })
        #expect(reply.status == 200)
        #expect(reply.header("x-warning")?.contains("response_format.json_schema.schema: #/format") == true)
    }

    @Test func `a tool's schema that cannot be held to is refused by field and path`() async {
        let answer = await router(ScriptedLanguageModel()).chat(
            ##""tools": [{"type": "function", "function": {"name": "f", "strict": true, "parameters": {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}}}]"##
        )
        #expect(answer.status == 400)
        #expect(answer.error["param"] as? String == "tools[0].function.parameters")
        #expect((answer.error["message"] as? String)?.contains("#/properties/a/$ref") == true)
    }
}
