import Foundation
import HTTP
import LocalLLM
import Synchronization
import TestSupport
import Testing
import Tokenizer

/// `chat respond`, `chat available` and `chat token-count`, as a script calls them.
@Suite(.timeLimit(.minutes(5))) struct ScriptCommandTests {
    private let directory: TemporaryDirectory
    private let model: String

    init() throws {
        directory = try TemporaryDirectory()
        var tiny = TinyModel()
        tiny.context = 1024
        model = try tiny.write(in: directory).path
    }

    private func chat(
        _ command: String, _ arguments: String..., input: String = "", environment: [String: String] = [:]
    ) async throws -> Program.Result {
        let options = ["--model", model, "--temperature", "0", "-t", "1"]
        return try await Program.chat.run([command] + options + arguments, input: input, environment: environment)
    }

    /// A server that answers each request with `answer` and keeps the requests.
    private func server(_ answer: String, _ requests: Requests) async throws -> Server {
        let content = String(decoding: try JSONEncoder().encode(answer), as: UTF8.self)
        return try await Server.start(.init(host: "127.0.0.1", port: 0)) { request in
            let body = try await request.body.collect(upTo: .max)
            requests.texts.withLock { $0.append(String(decoding: body, as: UTF8.self)) }
            let event = #"data: {"choices": [{"delta": {"content": \#(content)}, "finish_reason": "stop"}]}"#
            return Response(status: 200, body: .bytes(Array("\(event)\n\ndata: [DONE]\n\n".utf8)))
        }
    }

    private final class Requests: Sendable { let texts = Mutex<[String]>([]) }

    // MARK: respond

    @Test func `the answer is that of chat, whether the prompt is an argument or the input, streamed or not`()
        async throws
    {
        let asked = try await Program.chat.run(
            "--model", model, "--temperature", "0", "-t", "1", "-n", "5", "--system", "Be brief.", "respond to this")
        #expect(asked.code == 0 && !asked.text.isEmpty)
        for (words, input) in [
            (["respond", "to", "this"], ""), ([], "respond to this\n"), (["--stream", "respond to this"], ""),
            (["--no-stream"], "respond to this"),
        ] {
            let options = ["respond", "--model", model, "--temperature", "0", "-t", "1", "-n", "5", "-i", "Be brief."]
            let result = try await Program.chat.run(options + words, input: input)
            #expect(result.code == 0 && result.complaints == "" && result.text == asked.text)
        }
        let both = try await chat("respond", "-n", "5", "sum up", input: "some\ntext\n")
        #expect(both.text == (try await chat("respond", "-n", "5", input: "sum up\n\nsome\ntext")).text)
    }

    @Test func `a failure leaves the output empty and tells the reason`() async throws {
        let long = try await chat("respond", input: String(repeating: "x", count: 2000))
        #expect(long.code == 1 && long.output.isEmpty && long.complaints.contains("1024"))
        let none = try await chat("respond")
        #expect(none.code == 2 && none.complaints.contains("expected a text"))
        let both = try await chat("respond", "--stream", "--no-stream", "a")
        #expect(both.code == 2 && both.complaints.contains("--no-stream"))
        let words = try directory.write(Array("secret\n".utf8), as: "words")
        let blocked = try await chat("respond", "--blocked-words", words, "the secret")
        #expect(blocked.code == 1 && blocked.output.isEmpty && !blocked.complaints.isEmpty)
    }

    @Test func `a terminal gets the answer while it is generated, and nothing but the answer`() async throws {
        let model = try ScriptedModel("One two three.").write(in: directory)
        let chat = try ChatProcess(
            inTerminal: "\"$CHAT\" respond --model \"$MODEL\" --temperature 0 -t 1 go 2>/dev/null; echo code $?",
            environment: ["MODEL": model.path])
        let shown = try #require(await chat.read(to: "code 0"))
        #expect(shown.trimmingCharacters(in: .whitespacesAndNewlines) == "One two three.")
    }

    // MARK: Schemas

    /// As `fm schema` writes it: members in any order, properties in the order of `x-order`.
    private static let schema = """
        {"x-order": ["size", "isNew"], "additionalProperties": false, "title": "Thing", "type": "object",
         "properties": {"isNew": {"type": "boolean"}, "size": {"type": "string", "enum": ["small", "large"]}},
         "required": ["isNew", "size"]}
        """

    @Test func `with a schema the answer is its JSON on one line, properties in order`() async throws {
        let file = try directory.write(Array(Self.schema.utf8), as: "schema.json")
        let result = try await chat("respond", "--schema", file, "Describe it.")
        #expect(result.code == 0 && result.complaints == "")
        #expect(result.text.wholeMatch(of: /\{"size": ?"(small|large)", ?"isNew": ?(true|false)\}\n/) != nil)
        #expect(try await chat("respond", "--schema", Self.schema, "Describe it.").text == result.text)
        #expect(try await chat("respond", "--schema", "-", "Describe it.", input: Self.schema).text == result.text)
        #expect(try await chat("respond", "--stream", "--schema", file, input: "Describe it.").text == result.text)
        // Half of a value is no answer.
        let cut = try await chat("respond", "--schema", file, "-n", "3", "Describe it.")
        #expect(cut.code == 1 && cut.output.isEmpty && !cut.complaints.isEmpty)
    }

    @Test(arguments: [
        ("{", Int32(2), "expected JSON Schema"), ("/nowhere/schema.json", 2, "/nowhere/schema.json"),
        (#"{"type": "strin"}"#, 1, "strin"),
    ])
    func `a wrong schema is refused by name`(_ schema: String, _ code: Int32, _ reason: String) async throws {
        let result = try await chat("respond", "--schema", schema, "a")
        #expect(result.code == code && result.output.isEmpty)
        #expect(result.complaints.contains(reason))
    }

    @Test func `a server gets the schema and the instructions, and where it fails the model here answers`()
        async throws
    {
        let requests = Requests()
        let server = try await server(#"{"size": "large", "isNew": false}"#, requests)
        let cloud = ["--cloud", "http://127.0.0.1:\(server.port)", "--cloud-model", "m", "--policy", "cloudFirst"]
        let options = ["respond", "--schema", Self.schema, "-i", "Be brief.", "Describe it."]
        let result = try await Program.chat.run(options + cloud)
        await server.stop(within: .zero)
        #expect(result.code == 0 && result.complaints == "")
        #expect(result.text == #"{"size":"large","isNew":false}"# + "\n")
        let sent = try #require(requests.texts.withLock { $0.first })
        for text in ["json_schema", "Be brief.", "Describe it.", #""large""#] { #expect(sent.contains(text)) }

        let alone = try await Program.chat.run(options + cloud)
        #expect(alone.code == 1 && alone.output.isEmpty && !alone.complaints.isEmpty)
        let here = ["--model", model, "--temperature", "0", "-t", "1"]
        let fallback = try await Program.chat.run(options + cloud + here)
        #expect(fallback.code == 0 && fallback.complaints.contains("Not answered by the cloud engine"))
        #expect(fallback.text == (try await Program.chat.run(options + here)).text)
        let backend = try await Program.chat.run(
            "respond", "--backend", "http://127.0.0.1:1", "--schema", Self.schema, "a",
            environment: ["LOCALLLM_APP_KEY": "k"])
        #expect(backend.code == 2 && backend.complaints.contains("--backend"))
    }

    // MARK: available

    @Test func `the models that would answer are named in their order`() async throws {
        let local = try await chat("available")
        #expect(local.code == 0 && local.complaints == "")
        #expect(local.lines.count == 1 && local.text.contains("available on this machine, context of 1024 tokens"))
        let cloud = ["--cloud", "http://127.0.0.1:1", "--cloud-model", "far"]
        let both = try await Program.chat.run(["available", "--model", model, "--policy", "cloudFirst"] + cloud)
        #expect(both.code == 0 && both.lines.count == 2 && both.lines.first?.hasPrefix("far at 127.0.0.1") == true)
        let unused = try await Program.chat.run(["available", "--policy", "localOnly"] + cloud)
        #expect(unused.code == 1 && unused.output.isEmpty && unused.complaints.contains("localOnly"))
        let gone = try await Program.chat.run(["available", "--model", "/nowhere.gguf"] + cloud)
        #expect(gone.code == 0 && gone.lines.count == 2 && gone.lines.first?.contains("/nowhere.gguf") == true)
    }

    @Test func `without a model that can answer the code is 1`() async throws {
        let empty = ["XDG_DATA_HOME": directory.url.path, "LOCALLLM_MODEL": ""]
        let none = try await Program.chat.run("available", environment: empty)
        #expect(none.code == 1 && none.output.isEmpty && none.complaints.contains("--model"))
        let gone = try await Program.chat.run("available", "--model", "/nowhere/model.gguf")
        #expect(gone.code == 1 && gone.output.isEmpty && gone.complaints.contains("/nowhere/model.gguf"))
        let wrong = try await Program.chat.run("available", "--modle", "x")
        #expect(wrong.code == 2 && wrong.complaints.contains("--model") && wrong.complaints.contains("chat available"))
    }

    // MARK: token-count

    @Test func `tokens are those of the text, of the instructions, and of the template`() async throws {
        let tokenizer = try LocalModel.tokenizer(of: URL(filePath: model))
        func tokens(_ text: String) -> Int {
            tokenizer.encode(text, addSpecial: false, parseSpecial: false).count
        }
        let plain = try await chat("token-count", "hello there")
        #expect(plain.code == 0 && plain.complaints == "")
        #expect(plain.text == "\(tokens("hello there"))\n")
        #expect(try await chat("token-count", input: "hello there\n").text == plain.text)
        let told = try await chat("token-count", "-i", "Be brief.", "hello there")
        #expect(told.text == "\(tokens("hello there") + tokens("Be brief."))\n")
        let whole = try #require(Int(try await chat("token-count", "--template", "hello there").lines.first ?? ""))
        #expect(whole >= tokens("u:hello there;a:"))
        #expect(try await chat("token-count").code == 2)
        let cloud = try await Program.chat.run(
            "token-count", "--cloud", "http://127.0.0.1:1", "--cloud-model", "m", "a")
        #expect(cloud.code == 2 && cloud.complaints.contains("--model"))
    }

    // MARK: Help

    @Test(arguments: ["respond", "available", "token-count"])
    func `each command has a help of its own`(_ command: String) async throws {
        let result = try await Program.chat.run(command, "--help")
        #expect(result.code == 0 && result.text.hasPrefix("usage: chat \(command) "))
        #expect(try await Program.chat.run("--help").text.contains(command))
    }
}
