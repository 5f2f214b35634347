import Constraint
import Dialects
import Foundation
import Template
import TestSupport
import Testing

@testable import LocalLLM

/// Shapes of answers: the dialect's reader must read whatever they admit, as calls that follow their schemas.
@Suite struct ShapeTests {
    private static let vocabulary = TokenVocabulary(
        bytes: (UInt8.min...UInt8.max).map { [$0] } + [[]], endOfGeneration: [256])

    private static func compile(_ source: Constraint.Source) throws -> Constraint {
        try Constraint.compile(source, vocabulary: vocabulary)
    }

    private static let parameters = [
        "weather": """
        {"type": "object", "properties": {
        "city": {"type": "string"}, "days": {"type": "integer", "minimum": 0, "maximum": 20},
        "hourly": {"type": "boolean"}, "unit": {"enum": ["metric", "us"]},
        "tags": {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
        "place": {"type": "object", "properties": {"x": {"$ref": "#/$defs/number"}}, "required": ["x"],
        "additionalProperties": false}}, "required": ["city", "unit"],
        "$defs": {"number": {"type": "integer", "minimum": 0, "maximum": 9}}}
        """,
        "weather_now": #"{"type": "object", "properties": {}}"#,
        "clock": #"{"type": "object", "properties": {"zone": {"type": "string"}}}"#,
    ]

    private static let tools = parameters.keys.sorted().map { name in
        // The texts are constant.
        CallableTool(
            name: name, parameters: (try? TemplateValue(json: Data((parameters[name] ?? "").utf8))) ?? .undefined)
    }

    private static let declared = tools.map { DeclaredTool(name: $0.name, parameters: ArgumentSchema($0.parameters)) }

    struct Sample: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var source: String
    }

    private static let samples: [Sample] = {
        var samples = SampleTemplate.all.map { Sample(testDescription: $0.name, source: $0.source) }
        let folder = Fixtures.url("tools/templates")
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path))?.sorted() ?? [] {
            guard let text = try? String(contentsOf: folder.appending(path: name), encoding: .utf8) else { continue }
            samples.append(Sample(testDescription: name, source: text))
        }
        return samples
    }()

    private func dialect(_ sample: Sample) throws -> Dialect {
        var dialect = Dialect(template: try ChatTemplate(sample.source))
        dialect.history.showsTools = true
        return dialect
    }

    /// A text that a shape admits, at random.
    ///
    /// It takes seconds, and lets others run meanwhile: the servers of other tests have time limits, and need the threads.
    private func walk(
        _ graph: ConstraintGraph, from beginning: String, _ dialect: Dialect, _ random: inout SeededGenerator
    ) async throws -> String? {
        let keys = ["city", "days", "hourly", "unit", "tags", "place", "x", "zone"].map { "</\($0)>" }
        let markers = (dialect.markers + keys).filter { !$0.isEmpty }
        var matcher = graph.matcher()
        let count = try matcher.accept(bytes: Array(beginning.utf8))
        guard count == beginning.utf8.count else {
            Issue.record("the beginning \(beginning.debugDescription) is refused after \(count) bytes")
            return nil
        }
        var mask = TokenMask(count: 0)
        for _ in 0..<3000 {
            await Task.yield()
            if try matcher.isComplete(), Int.random(in: 0..<3, using: &random) > 0 {
                return String(decoding: matcher.text, as: UTF8.self)
            }
            try matcher.mask(into: &mask)
            var choices = (Int32(0)..<256).filter { mask.contains($0) }
            guard !choices.isEmpty else {
                return try matcher.isComplete() ? String(decoding: matcher.text, as: UTF8.self) : nil
            }
            if choices.count > 20, Int.random(in: 0..<8, using: &random) == 0 {
                let allowed = try markers.filter { try matcher.allows(bytes: Array($0.utf8)) }
                if let marker = allowed.randomElement(using: &random) {
                    _ = try matcher.accept(bytes: Array(marker.utf8))
                    continue
                }
            }
            let plain = choices.filter { (0x61...0x7a).contains($0) || choices.count <= 20 }
            if !plain.isEmpty, Int.random(in: 0..<10, using: &random) > 1 { choices = plain }
            try matcher.accept(choices.randomElement(using: &random) ?? 256)
        }
        return nil
    }

    private func check(_ text: String, _ parser: AnswerParser, _ dialect: Dialect, _ form: String) throws -> Bool {
        var (parser, message) = (parser, AnswerMessage())
        for delta in parser.read(text) + parser.finish() { message.add(delta) }
        #expect(!message.calls.isEmpty, "\(form): \(text.debugDescription)")
        #expect(message.content.allSatisfy { $0.isWhitespace }, "\(form): \(text.debugDescription)")
        for call in message.calls {
            guard let schema = Self.parameters[call.name] else {
                Issue.record("\(form): \(call.name) in \(text.debugDescription)")
                return false
            }
            let free = Constraint.JSONStyle(whitespace: .free, anySpelling: true)
            var matcher = try Self.compile(.jsonSchema(schema, free)).matcher()
            let count = try matcher.accept(bytes: Array(call.arguments.utf8))
            let follows = try count == call.arguments.utf8.count && matcher.isComplete()
            #expect(follows, "\(form): \(call.arguments) of \(text.debugDescription)")
            if !follows { return false }
        }
        return !message.calls.isEmpty
    }

    @Test(arguments: samples)
    func `the reader reads whatever the shape admits as calls that follow their schemas`(sample: Sample) async throws {
        let dialect = try dialect(sample)
        guard let syntax = dialect.callSyntax else { return }
        var random = SeededGenerator(seed: 15)
        var shape = AnswerShape(dialect)
        shape.tools = Self.tools
        for several in [true, false] {
            shape.allowsSeveralCalls = several
            let auto = try #require(try shape.shape(after: "", beginning: "", compile: Self.compile).shape)
            let graph = try ConstraintGraph(auto, vocabulary: Self.vocabulary)
            #expect(try graph.matcher().isComplete(), "an answer may have no call")
            var lengths = 0
            for _ in 0..<4 {
                let beginning = syntax.textBeforeName.replacing("call00001", with: "abcdefghi")
                guard let text = try await walk(graph, from: beginning, dialect, &random) else { continue }
                lengths += 1
                let parser = AnswerParser(dialect, tools: Self.declared, after: "")
                guard try check(text, parser, dialect, "auto") else { return }
            }
            #expect(lengths > 0, "walks end")
        }
        for name in [nil, "clock"] {
            shape.tools = Self.tools.filter { name == nil || $0.name == name }
            let beginning = dialect.callBeginning(name: name, after: "")
            let rest = try #require(try shape.shape(after: "", beginning: beginning, compile: Self.compile).shape)
            let graph = try ConstraintGraph(rest, vocabulary: Self.vocabulary)
            for _ in 0..<1 {
                guard let text = try await walk(graph, from: "", dialect, &random) else { continue }
                let parser = AnswerParser(dialect, tools: Self.declared, after: "")
                guard try check(beginning + text, parser, dialect, "after \(beginning.debugDescription)") else {
                    return
                }
            }
        }
    }

    @Test func `content has its shape after thoughts, begun by the prompt or by the model`() throws {
        let source = SampleTemplate.object
        let dialect = Dialect(template: try ChatTemplate(source))
        var shape = AnswerShape(dialect)
        shape.content = try Self.compile(.regex("[0-9]{2}"))
        func accepts(_ text: String, after prompt: String) throws -> Bool {
            let made = try #require(try shape.shape(after: prompt, beginning: "", compile: Self.compile).shape)
            var matcher = try ConstraintGraph(made, vocabulary: Self.vocabulary).matcher()
            return try matcher.accept(bytes: Array(text.utf8)) == text.utf8.count && matcher.isComplete()
        }
        #expect(try accepts("12", after: "assistant\n"))
        #expect(try accepts("<think>\nhm 1\n</think>\n\n12", after: "assistant\n"))
        #expect(try accepts("<think>hm</think>12", after: "assistant\n"))
        #expect(try !accepts("<think>hm", after: "assistant\n"))
        #expect(try !accepts("<think>hm</think>123", after: "assistant\n"))
        #expect(try accepts("hm\n</think>\n\n12", after: "assistant\n<think>\n"))
        #expect(try !accepts("12", after: "assistant\n<think>\n"))
        #expect(try accepts("12", after: "assistant\n<think>\n\n</think>\n\n"))
        #expect(try !accepts("<think>hm</think>12", after: "assistant\n<think>\n\n</think>\n\n"))
        // With a tool, a call may come in its place.
        shape.tools = Self.tools
        let call = "<tool_call>\n{\"name\": \"clock\", \"arguments\": {\"zone\":\"UTC\"}}\n</tool_call>"
        #expect(try accepts(call, after: "assistant\n"))
        #expect(try accepts("<think>hm</think>" + call, after: "assistant\n"))
        #expect(try !accepts("Let me see. " + call, after: "assistant\n"))
    }

    @Test func `in Harmony no text outside of its channel escapes the content's shape`() throws {
        var dialect = Dialect(template: try ChatTemplate("{{ messages }}"))
        dialect.isHarmony = true
        var shape = AnswerShape(dialect)
        shape.content = try Self.compile(.regex("[0-9]{2}"))
        func accepts(_ text: String) throws -> Bool {
            let made = try #require(
                try shape.shape(after: "<|start|>assistant", beginning: "", compile: Self.compile).shape)
            var matcher = try ConstraintGraph(made, vocabulary: Self.vocabulary).matcher()
            return try matcher.accept(bytes: Array(text.utf8)) == text.utf8.count && matcher.isComplete()
        }
        let final = "<|channel|>final<|message|>"
        let thoughts = "<|channel|>analysis<|message|>hm 1<|end|><|start|>assistant"
        #expect(try accepts(final + "12"))
        #expect(try accepts("<|channel|>final <|constrain|>json<|message|>12"))
        #expect(try accepts(thoughts + final + "12"))
        #expect(try accepts(thoughts + thoughts + final + "12"))
        #expect(try !accepts("12"))
        #expect(try !accepts("text" + final + "12"))
        #expect(try !accepts(final + "1"))
        #expect(try !accepts(thoughts))
        #expect(try !accepts("<|channel|>commentary<|message|>text<|end|><|start|>assistant" + final + "12"))
        let call = " to=functions.clock <|constrain|>json<|message|>{\"zone\":\"UTC\"}"
        #expect(try !accepts("<|channel|>commentary" + call))
        shape.tools = Self.tools
        #expect(try accepts("<|channel|>commentary" + call))
        #expect(try accepts(thoughts + "<|channel|>commentary" + call))
        #expect(try accepts(call))
        #expect(try accepts(final + "12"))
        #expect(try !accepts("text" + call))
    }

    @Test func `a tool that cannot be held to its schema is named`() throws {
        let source = SampleTemplate.object
        var shape = AnswerShape(Dialect(template: try ChatTemplate(source)))
        shape.tools = [
            CallableTool(
                name: "f",
                parameters: .object([
                    "type": .string("object"),
                    "properties": .object(["a": .object(["$ref": .string("https://example.org/s")])]),
                ]))
        ]
        let error = #expect(throws: ToolSchemaError.self) {
            _ = try shape.shape(after: "", beginning: "", compile: Self.compile)
        }
        #expect(error?.tool == "f")
        #expect(error?.reason.contains("#/properties/a/$ref") == true)
    }

    @Test(arguments: SampleTemplate.all)
    func `hundreds of names that begin alike are offered in every notation`(name: String, source: String) throws {
        var shape = AnswerShape(Dialect(template: try ChatTemplate(source)))
        let names = (0..<200).map { "mcp__server__tool_\($0)" }
        let schema = TemplateValue.object(["type": .string("object"), "properties": .object([:])])
        shape.tools = names.map { CallableTool(name: $0, parameters: schema) }
        let parts = try #require(try shape.shape(after: "", beginning: "", compile: Self.compile).shape)
        let graph = try ConstraintGraph(parts, vocabulary: Self.vocabulary)
        for name in [names[0], names[17], names[199]] {
            let text = Array(shape.dialect.callBeginning(name: name, after: "").utf8)
            var matcher = graph.matcher()
            #expect(try matcher.accept(bytes: text) == text.count, "\(name)")
        }
    }

    @Test(arguments: [SampleTemplate.object, SampleTemplate.tagged])
    func `a tool without strict is held to the rest of its schema`(source: String) async throws {
        let parameters = #"""
            {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 3},
            "b": {"type": "boolean", "$ref": "https://example.org/s"}},
            "anyOf": [{"required": ["a"], "properties": {"c": {"type": "null"}}}, {"required": ["b"]}]}
            """#
        var dialect = Dialect(template: try ChatTemplate(source))
        dialect.history.showsTools = true
        var shape = AnswerShape(dialect)
        shape.tools = [
            CallableTool(name: "f", parameters: try TemplateValue(json: Data(parameters.utf8)), isStrict: false)
        ]
        let parser = AnswerParser(
            shape.dialect, tools: shape.tools.map { DeclaredTool(name: $0.name, parameters: .init($0.parameters)) },
            after: "")
        let beginning = shape.dialect.callBeginning(name: "f", after: "")
        let made = try shape.shape(after: "", beginning: beginning, compile: Self.compile)
        let form = try #require(made.shape)
        #expect(made.unenforced.contains { $0.tool == "f" && $0.reason.contains("$ref") })
        let graph = try ConstraintGraph(form, vocabulary: Self.vocabulary)
        var (random, names) = (SeededGenerator(seed: 8), Set<String>())
        for _ in 0..<40 {
            guard let text = try await walk(graph, from: "", shape.dialect, &random) else { continue }
            var (parser, message) = (parser, AnswerMessage())
            for delta in parser.read(beginning + text) + parser.finish() { message.add(delta) }
            // Without exponents, as Foundation does not read all numbers that JSON allows.
            let arguments = try #require(message.calls.first?.arguments)
                .replacing(/(\d)[eE][-+]?\d+/) { String($0.1) }
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(arguments.utf8)) as? [String: Any], "\(arguments)")
            names.formUnion(object.keys)
            if let a = object["a"] { #expect((0...3).contains(a as? Int ?? -1)) }
            if source == SampleTemplate.tagged {
                #expect(Set(object.keys).isSubset(of: ["a", "b", "c"]), "\(text.debugDescription)")
            }
        }
        #expect(names.isSuperset(of: ["a", "b"]))
        if source == SampleTemplate.tagged { #expect(names == ["a", "b", "c"]) }
    }

    private func toolSchema(_ root: TemplateValue) -> ToolSchema { ToolSchema(root, isStrict: true, Self.compile) }

    @Test(.timeLimit(.minutes(1)), arguments: ["anyOf", "oneOf", "allOf"])
    func `alternatives that refer to one another are not followed without end`(key: String) throws {
        let parts = Array(repeating: TemplateValue.object(["$ref": .string("#/$defs/a")]), count: 8)
        let schema = toolSchema(.object(["$defs": .object(["a": .object([key: .array(parts)])])]))
        _ = try? schema.mayBeString(.object(["$ref": .string("#/$defs/a")]))
        let long = "#/" + String(repeating: "a/", count: 1 << 20)
        let reference = TemplateValue.object(["$ref": .string(long)])
        for _ in 0..<10_000 { #expect(schema.resolved(reference) == reference) }
    }

    /// Any property may be the first, and a definition is written out wherever it is used.
    @Test func `what a tool's schema is written out to is bounded`() throws {
        func object(_ count: Int) -> TemplateValue {
            var properties = TemplateObject()
            for index in 0..<count { properties["p\(index)"] = .object([:]) }
            return .object(["type": .string("object"), "properties": .object(properties)])
        }
        #expect(try toolSchema(object(500)).properties().count == 500)
        #expect(throws: ToolSchema.Unknown.self) { try toolSchema(object(501)).properties() }
        let small = toolSchema(object(400))
        for _ in 0..<25 { _ = try small.properties() }
        #expect(throws: ToolSchema.Unknown.self) { try small.properties() }

        let long = String(repeating: "x", count: 1 << 20)
        let large = toolSchema(.object(["$defs": .object(["a": .object(["description": .string(long)])])]))
        for _ in 0..<33 { _ = try? large.document(.object([:])) }
        #expect(throws: ToolSchema.Unknown.self) { try large.document(.object([:])) }
    }
}
