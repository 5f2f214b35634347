import Foundation
import HTTP
import TestSupport
import Testing

/// The program as it is used: in a terminal, with keys.
@Suite(.timeLimit(.minutes(5))) struct TerminalTests {
    private static let interrupt = "\u{3}"
    private static let endOfInput = "\u{4}"

    private let directory: TemporaryDirectory
    private let model: String

    init() throws {
        directory = try TemporaryDirectory()
        model = try TinyModel().write(in: directory).path
    }

    /// - Parameter cloud: Where the other engine is.
    private func terminal(cloud: String? = nil, _ shell: String = "trap : INT; chat") throws -> ChatProcess {
        let cloudOptions = cloud.map { "--cloud \($0) --cloud-model m" } ?? ""
        let command = "\"$CHAT\" --model \"$MODEL\" --temperature 0 -t 1 -n 4 \(cloudOptions)"
        let environment = ["MODEL": model, "XDG_DATA_HOME": directory.url.path, "LOCALLLM_CLOUD_KEY": "k3y"]
        return try ChatProcess(inTerminal: "chat() { \(command); }; \(shell)", environment: environment)
    }

    @Test func `an error that cannot be written ends the program with a status`() throws {
        #expect(try Program.chat.survivesFullDisk("--model", "/missing.gguf", "hello"))
    }

    @Test func `it says who answers, and what the answer took`() async throws {
        let chat = try terminal()
        let start = try #require(await chat.read(to: "/help lists commands."))
        #expect(start.contains("tiny · ") && start.contains(" · context 128 · answers from this machine"))
        // Where there is no cloud, nobody has to know of policies.
        #expect(!start.contains("localFirst"))
        #expect(await chat.read(to: "> ") != nil)
        try chat.type("hello")
        let line = try #require(await chat.read(to: " of the context of 128"))
        #expect(line.contains(" tokens/s · 4 tokens · ") && !line.contains("local ·"))
        #expect(await chat.read(to: "> ") != nil)
        try chat.type("/hlep")
        #expect(await chat.read(to: "unknown command /hlep (did you mean /help?)") != nil)
        #expect(await chat.read(to: "> ") != nil)
        try chat.press(Self.endOfInput)
        // A command has failed.
        #expect(await chat.code() == 1)
    }

    @Test func `of several models it asks for one, and the next start takes that one`() async throws {
        let models = directory.url.appending(path: "localllm/models")
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        for name in ["first", "second"] {
            try FileManager.default.copyItem(atPath: model, toPath: models.appending(path: "\(name).gguf").path)
        }
        let environment = ["XDG_DATA_HOME": directory.url.path, "LOCALLLM_MODEL": ""]
        let shell = "trap : INT; \"$CHAT\" -t 1"
        let chat = try ChatProcess(inTerminal: shell, environment: environment)
        #expect(await chat.read(to: "1  first  ") != nil)
        #expect(await chat.read(to: "Number or name: ") != nil)
        try chat.type("third")
        #expect(await chat.read(to: "No such file: third") != nil)
        #expect(await chat.read(to: "Number or name: ") != nil)
        try chat.type("2")
        #expect(await chat.read(to: "answers from this machine") != nil)
        #expect(await chat.read(to: "> ") != nil)
        try chat.type("/show")
        #expect(await chat.read(to: "second.gguf") != nil)
        #expect(await chat.read(to: "> ") != nil)
        try chat.press(Self.endOfInput)
        #expect(await chat.code() == 0)

        let next = try ChatProcess(inTerminal: shell, environment: environment)
        #expect(await next.read(to: "answers from this machine") != nil)
        #expect(await next.read(to: "> ") != nil)
        try next.type("/model fir")
        #expect(await next.read(to: "The local model is now first.gguf.") != nil)
        #expect(await next.read(to: "> ") != nil)
        try next.type("/quit")
        #expect(await next.code() == 0)
    }

    @Test func `an interruption ends the answer and not the program, and nothing that came is lost`() async throws {
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0)) { _ in
            Response(
                status: 200,
                body: .stream { writer in
                    let event = #"data: {"choices": [{"delta": {"content": "half \u001b[2Jan answer"}}]}"#
                    try await writer.write(Array("\(event)\n\n".utf8))
                    try await Task.sleep(for: .seconds(3600))
                })
        }
        let chat = try terminal(cloud: "http://127.0.0.1:\(server.port)")
        try chat.type("/cloud")
        #expect(await chat.read(to: "The cloud is asked first.") != nil)
        try chat.type("hello")
        // What a model says does not steer the terminal.
        #expect(await chat.read(to: "half [2Jan answer") != nil)
        try chat.press(Self.interrupt)
        let interrupted = try #require(await chat.read(to: "> "))
        #expect(interrupted.contains("interrupted") && !interrupted.contains("^C"))
        try chat.type("/list")
        #expect(await chat.read(to: "1 you: hello\r\n2 cloud (interrupted): half [2Jan answer\r\n") != nil)
        try chat.type("/local")
        #expect(await chat.read(to: "The local model is asked first.") != nil)
        try chat.type("/quit")
        #expect(await chat.code() == 0)
        await server.stop(within: .zero)
        try await goOn()
    }

    /// The next start finds the conversation; what is deleted is gone.
    private func goOn() async throws {
        let chat = try terminal()
        #expect(await chat.read(to: "Resumed a conversation of 2 messages.") != nil)
        #expect(await chat.read(to: "> hello") != nil)
        #expect(await chat.read(to: "half [2Jan answer") != nil)
        try chat.type("/prompt by itself")
        #expect(await chat.read(to: "4 tokens") != nil)
        try chat.type("/search HELL")
        #expect(await chat.read(to: "1 you: hello\r\n") != nil)
        try chat.type("/delete 1")
        #expect(await chat.read(to: "Message 1 is deleted.") != nil)
        try chat.type("/list")
        #expect(await chat.read(to: "1 cloud (interrupted): half") != nil)
        try chat.type("/clear")
        #expect(await chat.read(to: "All messages are deleted.") != nil)
        try chat.type("/list")
        try chat.type("/quit")
        #expect(await chat.read(to: "half") == nil)
        #expect(await chat.code() == 0)
    }

    @Test(arguments: ["TERM=dumb", "TERM=dumb NO_COLOR=1", "TERM="])
    func `a terminal without escape sequences gets none`(settings: String) async throws {
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0)) { _ in
            let events = [#"{"reasoning_content": "hm"}"#, #"{"content": "an answer"}"#]
            return Response(
                status: 200,
                body: .stream { writer in
                    for event in events {
                        try await writer.write(Array(#"data: {"choices": [{"delta": \#(event)}]}\#("\n\n")"#.utf8))
                        try await Task.sleep(for: .milliseconds(300))
                    }
                    try await writer.write(Array("data: [DONE]\n\n".utf8))
                })
        }
        let chat = try terminal(cloud: "http://127.0.0.1:\(server.port)", "export \(settings); trap : INT; chat")
        var shown = try #require(await chat.read(to: "> "))
        try chat.type("/cloud")
        shown += try #require(await chat.read(to: "The cloud is asked first."))
        shown += try #require(await chat.read(to: "> "))
        try chat.type("hello")
        shown += try #require(await chat.read(to: "an answer"))
        shown += try #require(await chat.read(to: "> "))
        try chat.press(Self.interrupt)
        shown += try #require(await chat.read(to: "Ctrl-D ends)"))
        shown += try #require(await chat.read(to: "> "))
        try chat.press(Self.endOfInput)
        while let more = await chat.read(to: "\n") { shown += more }
        #expect(shown.contains("thought for"))
        #expect(!shown.unicodeScalars.contains("\u{1B}"))
        #expect(await chat.code() == 0)
        await server.stop(within: .zero)
    }

    @Test func `NO_COLOR leaves text plain`() async throws {
        let chat = try terminal("export NO_COLOR=1; trap : INT; chat")
        var shown = try #require(await chat.read(to: "> "))
        try chat.type("hello")
        shown += try #require(await chat.read(to: " tokens/s"))
        // What is pressed before the prompt is there can be discarded when the terminal's mode changes.
        shown += try #require(await chat.read(to: "> "))
        try chat.press(Self.endOfInput)
        while let more = await chat.read(to: "\n") { shown += more }
        #expect(!shown.contains("\u{1B}[2m"))
    }

    @Test func `a paste of several lines is one message, and Ctrl-R finds it in the next start`() async throws {
        let chat = try terminal()
        #expect(await chat.read(to: "> ") != nil)
        try chat.press("\u{1B}[200~wörld one\rline two\rline three\u{1B}[201~\r")
        #expect(await chat.read(to: "4 tokens") != nil)
        try chat.type("/list")
        #expect(await chat.read(to: "1 you: wörld one\r\nline two\r\nline three\r\n2 local: ") != nil)
        try chat.type("/clear")
        #expect(await chat.read(to: "All messages are deleted.") != nil)
        try chat.type("/quit")
        #expect(await chat.code() == 0)

        let next = try terminal()
        #expect(await next.read(to: "> ") != nil)
        try next.press("\u{12}wörl")
        #expect(await next.read(to: "line three") != nil)
        try next.press("\r\r")
        #expect(await next.read(to: "4 tokens") != nil)
        try next.type("/list")
        #expect(await next.read(to: "1 you: wörld one\r\nline two\r\nline three\r\n") != nil)
        try next.type("/quit")
        #expect(await next.code() == 0)
    }

    @Test func `a line is corrected with the keys, and Ctrl-C drops it`() async throws {
        let chat = try terminal()
        #expect(await chat.read(to: "> ") != nil)
        try chat.press("dropped" + Self.interrupt)
        #expect(await chat.read(to: "> ") != nil)
        // To the beginning, and one word on, which is deleted.
        try chat.press("one twö three\u{1}\u{1B}f\u{1B}d\r")
        #expect(await chat.read(to: "4 tokens") != nil)
        try chat.type("/list")
        #expect(await chat.read(to: "1 you: one three\r\n") != nil)
        try chat.type("/quit")
        #expect(await chat.code() == 0)
    }

    @Test func `at the prompt the second interruption ends, and the terminal is as it was`() async throws {
        let chat = try terminal("trap : INT; echo \"before $(stty -g).\"; chat; echo \"code $? after $(stty -g).\"")
        #expect(await chat.read(to: "before ") != nil)
        let before = await chat.read(to: ".")
        #expect(await chat.read(to: "> ") != nil)
        try chat.press(Self.interrupt)
        #expect(await chat.read(to: "(Ctrl-C again or Ctrl-D ends)") != nil)
        try chat.press(Self.interrupt)
        #expect(await chat.read(to: "code 0 after ") != nil)
        #expect(await chat.read(to: ".") == before)
        #expect(await chat.code() == 0)
    }
}
