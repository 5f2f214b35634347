import CommandLineParsing
import Foundation
import FoundationModels
import LocalLLM
import TestSupport
import Testing

@testable import Chat

/// Commands that the model calls, after whoever types has allowed it.
@Suite(.timeLimit(.minutes(5))) struct ToolTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func file(_ json: String) throws -> String { try directory.write(Array(json.utf8), as: "tools.json") }

    private func run(_ words: [String], input: String = "{}", seconds: Double = 60) async throws -> String {
        try await ToolCommand(words: words, input: input, folder: directory.url, timeout: .seconds(seconds)).run()
    }

    // MARK: The file

    @Test func `arguments take the places that the command names, each as one word`() throws {
        let tools = try ToolFile(
            reading: try file(
                #"[{"name": "say", "description": "Says.", "command": ["echo", "-n", "{text}", "{count}", "{gone}", "a{text}"]}]"#
            ))
        let words = tools.definitions[0].words(
            for: try GeneratedContent(json: #"{"text": "$(rm -rf ~); 'x'", "count": 3}"#))
        #expect(words == ["echo", "-n", "$(rm -rf ~); 'x'", "3", "a{text}"])
    }

    @Test(arguments: [
        ("{", "array"), ("[]", "array"), (#"[{"name": "a"}]"#, "description"), ("[1]", "[0]: expected an object"),
        (#"[{"name": "a b", "description": "x", "command": ["x"]}]"#, "[0].name"),
        (#"[{"name": "a", "description": "x", "command": "x"}]"#, "[0].command"),
        (#"[{"name": "a", "description": "x", "command": ["x", 1]}]"#, "[0].command[1]"),
        (#"[{"name": "a", "description": "x", "command": ["x"], "timeout": 0}]"#, "[0].timeout"),
        (#"[{"name": "a", "description": "x", "command": ["x"], "shell": true}]"#, "[0].shell"),
    ])
    func `a wrong file is refused with the place`(_ json: String, _ place: String) throws {
        let error = #expect(throws: UsageError.self) { try ToolFile(reading: try file(json)) }
        #expect("\(try #require(error))".contains(place))
    }

    // MARK: Commands

    @Test func `a command reads the arguments as JSON, and no shell reads its words`() async throws {
        #expect(try await run(["cat"], input: #"{"city":"Rome"}"#) == #"{"city":"Rome"}"#)
        #expect(try await run(["echo", "$HOME; `id` 'x'"]) == "$HOME; `id` 'x'")
        // Not all commands read their input.
        #expect(try await run(["true"], input: String(repeating: "x", count: 1 << 20)) == "")
    }

    @Test func `what goes wrong is told to the model`() async throws {
        #expect(try await run(["sh", "-c", "echo out; echo no >&2; exit 3"]) == "error: exit code 3\nno\nout")
        #expect(try await run(["no-such-program"]).contains("no-such-program"))
        #expect(try await run(["sleep", "3600"], seconds: 0.2).contains("longer than"))
        #expect(try await run(["sh", "-c", "yes | head -c 1000000"]).utf8.count <= 64 << 10)
    }

    @Test func `a command is shown as one could type it`() {
        let command = ToolCommand(
            words: ["echo", "a b", "it's", "x.y"], input: "{}", folder: directory.url, timeout: .seconds(1))
        #expect(command.description == "echo 'a b' 'it'\\''s' x.y")
    }

    // MARK: In the terminal

    private func terminal(_ tools: String) throws -> ChatProcess {
        let call = "<tool_call>\n{\"name\": \"note\", \"arguments\": {\"text\":\"$(id)\"}}\n</tool_call>"
        let model = try ScriptedModel("<think>\nHm, hm\n</think>\n\nLet me see.\n" + call, afterTool: "Done.")
            .write(in: directory)
        return try ChatProcess(
            inTerminal: "\"$CHAT\" --model \"$MODEL\" --temperature 0 -t 1 --tools \"$TOOLS\"",
            environment: ["MODEL": model.path, "XDG_DATA_HOME": directory.url.path, "TOOLS": tools])
    }

    private static let note = """
        [{"name": "note", "description": "Notes a text.", "parameters": {"type": "object",
          "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": false},
          "command": ["sh", "-c", "echo noted $0 >> noted; echo so it is", "{text}"]}]
        """

    @Test func `a call is shown, asked for and run, and thoughts are folded`() async throws {
        let chat = try terminal(try file(Self.note))
        #expect(await chat.read(to: "> ") != nil)
        try chat.type("go")
        #expect(await chat.read(to: "▸ thought for ") != nil)
        #expect(await chat.read(to: "Let me see.") != nil)
        #expect(await chat.read(to: #"note {"text":"$(id)"}"#) != nil)
        #expect(await chat.read(to: "Run it? [y/N] ") != nil)
        let noted = directory.url.appending(path: "noted")
        #expect(!FileManager.default.fileExists(atPath: noted.path))
        try chat.type("y")
        #expect(await chat.read(to: "so it is") != nil)
        #expect(await chat.read(to: "Done.") != nil)
        #expect(try String(contentsOf: noted, encoding: .utf8) == "noted $(id)\n")
        #expect(await chat.read(to: "> ") != nil)
        try chat.type("/thoughts")
        #expect(await chat.read(to: "Hm, hm") != nil)
        try chat.type("/quit")
        #expect(await chat.code() == 0)
    }

    @Test func `what is not allowed does not run, and the model goes on`() async throws {
        let chat = try terminal(try file(Self.note))
        #expect(await chat.read(to: "> ") != nil)
        try chat.type("go")
        #expect(await chat.read(to: "Run it? [y/N] ") != nil)
        try chat.type("")
        #expect(await chat.read(to: "Done.") != nil)
        #expect(await chat.read(to: "> ") != nil)
        try chat.type("again")
        #expect(await chat.read(to: "Run it? [y/N] ") != nil)
        // Ctrl-C ends the answer, and not the program.
        try chat.press("\u{3}")
        #expect(await chat.read(to: "> ") != nil)
        try chat.type("/list")
        #expect(await chat.read(to: "1 you: go") != nil)
        try chat.type("/quit")
        #expect(await chat.code() == 0)
        #expect(!FileManager.default.fileExists(atPath: directory.url.appending(path: "noted").path))
    }

    @Test func `without a terminal to ask in, tools are refused`() async throws {
        let tools = try file(Self.note)
        let model = try TinyModel().write(in: directory).path
        let result = try await Program.chat.run("--model", model, "--tools", tools, input: "go\n")
        #expect(result.code == 2 && result.complaints.contains("--tools"))
    }
}
