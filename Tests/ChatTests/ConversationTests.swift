import Foundation
import HTTP
import Synchronization
import TestSupport
import Testing

/// The conversation without a terminal: a message a line.
@Suite struct ConversationTests {
    private let directory: TemporaryDirectory
    private let model: String

    init() throws {
        directory = try TemporaryDirectory()
        var tiny = TinyModel()
        // Half a turn dropped would be refused.
        tiny.template = """
            {% for m in messages %}{% if m.role != 'system' %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}\
            {{ raise_exception('roles must alternate') }}{% endif %}{% endif %}{{ m.content }}{% endfor %}
            """
        tiny.context = 64
        model = try tiny.write(in: directory).path
    }

    private func chat(_ arguments: String..., input: String) async throws -> Program.Result {
        try await Program.chat.run(["--model", model, "--temperature", "0", "-t", "1"] + arguments, input: input)
    }

    @Test func `each line is answered, and nothing else is printed`() async throws {
        let one = try await chat("-n", "3", input: "hello\n")
        #expect(one.code == 0)
        #expect(one.complaints == "")
        let two = try await chat("-n", "3", input: "hello\n\n/clear\nhello")
        #expect(two.text == one.text + one.text)
    }

    @Test func `a context beyond the trained one, and more threads than processors, get a word`() async throws {
        let result = try await chat("-n", "3", "-c", "100", "--threads", "1024", "hello", input: "")
        #expect(result.code == 0)
        #expect(result.complaints.contains("--context 100 exceeds the 64 tokens"))
        #expect(result.complaints.contains("--threads 1024 exceeds the"))
    }

    @Test func `the history goes along until it is cleared`() async throws {
        let plain = try await chat("-n", "3", input: "a\nb\n")
        let cleared = try await chat("-n", "3", input: "a\n/clear\nb\n")
        #expect(plain.text != cleared.text)
    }

    @Test func `whole turns are dropped when the context is full, and every message is answered`() async throws {
        let result = try await chat("-n", "8", input: String(repeating: "0123456789\n", count: 6))
        #expect(result.complaints.contains("The context is full: the oldest"))
        #expect(!result.complaints.contains("alternate"))
        #expect(result.code == 0)
    }

    @Test func `a message that fits no context is refused, and the conversation goes on`() async throws {
        let result = try await chat("-n", "3", input: String(repeating: "x", count: 100) + "\nhello\n")
        #expect(result.complaints.contains("context 64"))
        #expect(try await result.output == chat("-n", "3", input: "hello\n").output)
        #expect(result.code == 1)
    }

    @Test func `lines between quotes are one message`() async throws {
        let one = try await chat("-n", "3", input: "\"\"\"\na\nb\n\"\"\"\n")
        #expect(one.code == 0 && one.complaints == "")
        #expect(one.text == (try await chat("-n", "3", input: "\"\"\"a\nb\"\"\"\n")).text)
        #expect(
            one.text.split(separator: "\n").count
                < (try await chat("-n", "3", input: "a\nb\n")).text.split(separator: "\n").count)
    }

    @Test func `a message on the command line is answered with the input as what it is about`() async throws {
        let asked = try await chat("-n", "3", "sum", "up", input: "some\ntext")
        #expect(asked.code == 0 && asked.complaints == "")
        #expect(asked.text == (try await chat("-n", "3", input: "\"\"\"sum up\n\nsome\ntext\"\"\"")).text)
        #expect(try await chat("-n", "3", "sum up", input: "").text == chat("-n", "3", input: "sum up").text)
    }

    @Test func `a question about the conversation or a file gets the probabilities of its answers`() async throws {
        var tiny = TinyModel()
        tiny.context = 1024
        let model = try tiny.write(in: directory).path
        func chat(_ input: String) async throws -> Program.Result {
            try await Program.chat.run(["--model", model, "--temperature", "0", "-t", "1", "-n", "3"], input: input)
        }
        func shares(_ text: some StringProtocol) -> [Double] {
            text.split(separator: "\n").compactMap { line in
                line.firstIndex(of: "%").flatMap { Double(line[..<$0].trimmingCharacters(in: .whitespaces)) }
            }
        }
        let file = directory.url.appending(path: "a letter.txt")
        try Data("The oven is broken.".utf8).write(to: file)
        let choice = try await chat("/decide @'\(file.path)' What is broken? | the oven | a pan | nothing\n")
        #expect(choice.code == 0 && choice.complaints == "")
        #expect(
            choice.text.split(separator: "\n").map { $0.split(separator: "%  ")[1] } == [
                "the oven", "a pan", "nothing",
            ])
        #expect(abs(shares(choice.text).reduce(0, +) - 100) < 0.2)
        // Nothing of it is in the conversation.
        let plain = try await chat("hello\nand you?\n")
        let between = try await chat("hello\n/decide It is late.\nand you?\n")
        let answers = plain.text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(between.code == 0 && shares(between.text).count == 2)
        #expect(between.text.contains("%  true\n") && between.text.contains("%  false\n"))
        #expect(
            between.text.split(separator: "\n", omittingEmptySubsequences: false).filter { !$0.contains("%  ") }
                == answers)
        for (line, words) in [
            ("/decide It is late.", "no conversation yet"), ("/decide @nowhere It is late.", "nowhere cannot be read"),
            ("/decide @'\(file.path)' a | b", "at least two options"),
            ("/decide @'\(file.path)'", "expected a question"),
            ("/decide @'\(file.path)' a | b |", "at least two options"), ("/decide", "needs QUESTION"),
            ("/decide @'\(file.path)' a | b | b", "two options are the same"),
        ] {
            let refused = try await chat(line + "\n")
            #expect(refused.code == 1 && refused.complaints.contains(words), "\(line): \(refused.complaints)")
        }
    }

    @Test func `a conversation is saved and loaded, and is there as Markdown`() async throws {
        let file = directory.url.appending(path: "talk.json").path
        let text = directory.url.appending(path: "talk.md").path
        let saved = try await chat(
            "-n", "3", "--system", "Be brief.", input: "a\n/save \(file)\n/save \(text)\n/save \(file)\n/list")
        #expect(saved.complaints.contains("talk.json") && saved.code == 1)
        #expect(
            try String(contentsOfFile: text, encoding: .utf8).hasPrefix("**System:**\n\nBe brief.\n\n**User:**\n\na\n"))
        let loaded = try await chat("-n", "3", input: "/load \(file)\n/set\n/list")
        #expect(loaded.code == 0 && loaded.text.contains("system Be brief.\n1 you: a\n2 "))
        // Who answered is not in the file.
        let shown = loaded.text.replacing("2 answer: ", with: "2 local: ").split(separator: "\n")
        #expect(saved.lines.suffix(2) == shown.suffix(2).map(String.init))
        try Data(#"{"messages": [{"role": "tool", "content": "x"}]}"#.utf8).write(to: URL(filePath: file))
        let refused = try await chat(input: "/load \(file)")
        #expect(refused.complaints.contains("messages[0].role") && refused.code == 1)
    }

    @Test func `settings change what follows`() async throws {
        let short = try await chat("-n", "3", input: "/set max-tokens 1\na")
        #expect(short.code == 0)
        #expect(try await short.text == chat("-n", "1", input: "a").text)
        let refused = try await chat(input: "/set temperature 99\n/set colour red")
        #expect(refused.complaints.contains("from 0 to 2") && refused.complaints.contains("colour"))
    }

    @Test func `another model answers the same conversation`() async throws {
        var other = TinyModel()
        other.context = 96
        let file = try other.write(in: directory, as: "other.gguf").path
        let result = try await chat("-n", "3", input: "a\n/model \(file)\n/show\n/list\nb")
        #expect(result.code == 0 && result.text.contains("1 you: a\n"))
        #expect(result.text.contains("context of 96 tokens"))
        // One that cannot be loaded does not take the place of the one that can.
        let missing = try await chat("-n", "3", input: "/model \(file)x\na\n/show")
        #expect(missing.code == 1 && missing.complaints.contains("No such file: \(file)x"))
        #expect(!missing.text.contains("context of 96 tokens") && missing.text.contains("trained for a context"))
    }

    @Test func `a model without a template continues what is typed, and so does any model that is asked to`()
        async throws
    {
        var base = TinyModel()
        base.template = nil
        let file = try base.write(in: directory, as: "base.gguf").path
        let arguments = ["--temperature", "0", "-t", "1", "-n", "5", "--model"]
        let continued = try await Program.chat.run(arguments + [file, "ab"])
        var templated = TinyModel()
        templated.template = "{% for m in messages %}{{ m.role }}: {{ m.content }};{% endfor %}"
        let other = try templated.write(in: directory, as: "other.gguf").path
        let asked = try await Program.chat.run(arguments + [other, "--complete", "ab"])
        #expect(continued.code == 0 && !continued.text.isEmpty && continued.text == asked.text)
        // The same weights answer otherwise where the text is a message.
        #expect(try await Program.chat.run(arguments + [other, "ab"]).text != asked.text)
        let refused = try await Program.chat.run(arguments + [other, "--complete", "--system", "x", "ab"])
        #expect(refused.code == 2 && refused.complaints.contains("--complete and --system exclude each other"))
    }

    @Test func `a server that wants no key gets none`() async throws {
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0)) { request in
            let said = request.headers["Authorization"] ?? "no key"
            let event = #"data: {"choices": [{"delta": {"content": "\#(said)"}, "finish_reason": "stop"}]}"#
            return Response(status: 200, body: .bytes(Array("\(event)\n\ndata: [DONE]\n\n".utf8)))
        }
        let result = try await Program.chat.run(
            ["--cloud", "http://127.0.0.1:\(server.port)", "--cloud-model", "m"], input: "hello",
            environment: ["LOCALLLM_CLOUD_KEY": "", "OPENAI_API_KEY": ""])
        #expect(result.text == "no key\n")
        await server.stop(within: .zero)
    }

    @Test func `quit ends, other commands are refused by name`() async throws {
        let result = try await chat(input: "/nope\n/quit\nhello\n")
        #expect(result.complaints.contains("/nope"))
        #expect(result.output.isEmpty)
        #expect(result.code == 1)
    }

    @Test func `the toggle turns to the cloud, which gets the conversation, and back`() async throws {
        let questions = Mutex<[String]>([])
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0)) { request in
            let body = try await request.body.collect(upTo: .max)
            questions.withLock { $0.append(String(decoding: body, as: UTF8.self)) }
            guard request.headers["authorization"] == "Bearer k3y" else { return Response(status: 401) }
            let event = #"data: {"choices": [{"delta": {"content": "from afar"}, "finish_reason": "stop"}]}"#
            return Response(status: 200, body: .bytes(Array("\(event)\n\ndata: [DONE]\n\n".utf8)))
        }
        let cloud = ["--cloud", "http://127.0.0.1:\(server.port)/v1", "--cloud-model", "m", "--system", "Be brief."]
        let result = try await Program.chat.run(
            ["--model", model, "--temperature", "0", "-t", "1", "-n", "3"] + cloud,
            input: "/cloud\nhello\n/policy cloudOnly\nagain\n/local\n/status\n",
            environment: ["LOCALLLM_CLOUD_KEY": "k3y"])
        await server.stop(within: .zero)
        #expect(result.lines.prefix(2) == ["from afar", "from afar"])
        #expect(result.code == 0)
        let last = try #require(questions.withLock { $0.last })
        for text in ["Be brief.", "hello", "from afar", "again"] { #expect(last.contains(text)) }
        #expect(!result.complaints.contains("k3y"))
    }

    @Test func `where the cloud cannot be reached the model here answers, and the reason is told`() async throws {
        let cloud = ["--cloud", "http://127.0.0.1:1", "--cloud-model", "m", "--policy", "cloudFirst"]
        let result = try await Program.chat.run(
            ["--model", model, "--temperature", "0", "-t", "1", "-n", "3"] + cloud, input: "hello\n",
            environment: ["LOCALLLM_CLOUD_KEY": "k3y"])
        #expect(try await result.output == chat("-n", "3", input: "hello\n").output)
        #expect(result.complaints.contains("Not answered by the cloud engine"))
        #expect(result.code == 0)
    }

    @Test func `options that would do nothing are refused`() async throws {
        for arguments in [
            ["--cloud", "http://127.0.0.1:1", "--cloud-model", "m", "--temperature", "1"],
            ["--cloud", "ftp://x", "--cloud-model", "m"], ["--cloud", "http://127.0.0.1:1"],
            ["--backend", "http://127.0.0.1:1", "--system", "x"],
        ] {
            let result = try await Program.chat.run(arguments, environment: ["LOCALLLM_CLOUD_KEY": "k3y"])
            #expect(result.code == 2)
            #expect(result.complaints.contains("--"))
        }
    }

    @Test func `a wrong command line is exit code 2, a missing file 1`() async throws {
        #expect(try await Program.chat.run("--help").text.contains("usage: chat"))
        #expect(try await Program.chat.run().code == 2)
        let missing = try await Program.chat.run("--model", "/nowhere/model.gguf")
        #expect(missing.complaints.contains("/nowhere/model.gguf"))
        #expect(missing.code == 1)
    }
}
