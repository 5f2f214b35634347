import Client
import Foundation
import TestSupport
import Testing

/// What the program keeps, and finds again after whatever end.
@Suite struct HistoryTests {
    private let directory: TemporaryDirectory
    private let model: String
    private let history: String

    init() throws {
        directory = try TemporaryDirectory()
        model = try TinyModel().write(in: directory).path
        history = directory.url.appending(path: "history").path
    }

    private var arguments: [String] {
        ["--model", model, "--history", history, "--temperature", "0", "-t", "1", "-n", "4"]
    }

    private func chat(_ input: String) async throws -> Program.Result {
        try await Program.chat.run(arguments, input: input)
    }

    private func stored() async throws -> [Message] {
        let repository = try await ChatRepository.open(history)
        var messages: [Message] = []
        for conversation in try await repository.conversations().reversed() {
            messages += try await repository.messages(of: conversation.id)
        }
        return messages
    }

    @Test func `the conversation goes on after a restart, as if there had been none`() async throws {
        let whole = try await Program.chat.run(
            ["--model", model, "--temperature", "0", "-t", "1", "-n", "4"], input: "a\nb\n")
        let first = try await chat("a\n")
        let second = try await chat("b\n")
        #expect(first.output + second.output == whole.output)
        #expect(try await stored().filter(\.isUser).map(\.messageContent) == ["a", "b"])
    }

    @Test func `messages are listed, found, deleted and cleared`() async throws {
        _ = try await chat("needle\nhay\n")
        let lists = try await chat("/list\n/delete 3\n/search NEED\n/clear\n/search need\n")
        #expect(lists.lines.contains("1 you: needle"))
        #expect(lists.lines.contains("3 you: hay"))
        #expect(lists.lines.last == "1 you: needle")
        #expect(lists.code == 0)
        #expect(try await stored() == [])
    }

    @Test func `conversations are left and taken up again`() async throws {
        let result = try await chat("one\n/new\ntwo\n/conversations\n/open 1\n/list\n/open 9\n")
        #expect(result.lines.contains("1 one"))
        #expect(result.lines.contains("2 two"))
        #expect(result.lines.contains("1 you: one"))
        #expect(!result.lines.contains("1 you: two"))
        #expect(result.complaints.contains("conversation 9"))
        // It was used last.
        #expect(try await chat("/list\n").lines.contains("1 you: one"))
    }

    @Test func `a prompt by itself is answered and not kept`() async throws {
        let result = try await chat("/prompt a\n")
        #expect(try await result.output == chat("a\n").output)
        #expect(try await stored().map(\.messageContent).first == "a")
        #expect(try await stored().count == 2)
    }

    @Test func `wrong commands are told what they need`() async throws {
        let result = try await chat(
            "/delete\n/delete 7\n/clear all\n/policy both\n/cloud\n/policy cloudOnly\n/retry\n/open x\n")
        for text in [
            "/delete needs N", "no message 7", "'all'", "'both'", "/cloud: there is no cloud",
            "/policy cloudOnly: there is no cloud", "nothing to send", "'x'",
        ] {
            #expect(result.complaints.contains(text))
        }
        #expect(result.output.isEmpty)
        #expect(result.code == 1)
    }

    @Test func `commands that find nothing say so`() async throws {
        let result = try await chat("/list\n/search needle\n")
        #expect(result.complaints.contains("The conversation is empty."))
        #expect(result.complaints.contains("No message contains 'needle'."))
        #expect(result.output.isEmpty && result.code == 0)
    }

    @Test func `a conversation that asks a cloud only is answered here where there is no cloud`() async throws {
        let repository = try await ChatRepository.open(history)
        _ = try await repository.newConversation(policy: .cloudOnly)
        let result = try await chat("hello\n")
        #expect(!result.output.isEmpty && result.code == 0)
    }

    @Test func `a long first message is cut in the list of conversations`() async throws {
        let repository = try await ChatRepository.open(history)
        let id = try await repository.newConversation(policy: .localFirst)
        let message = Message(isUser: true, messageContent: String(repeating: "long ", count: 20))
        try await repository.save(message, in: id)
        let result = try await chat("/conversations\n")
        #expect(result.lines.contains { $0.hasPrefix("1 long long") && $0.hasSuffix("…") })
    }

    @Test func `without a terminal nothing is kept but where a file is named`() async throws {
        let home = directory.url.appending(path: "home").path
        let result = try await Program.chat.run(
            ["--model", model, "-n", "1"], input: "a\n", environment: ["XDG_DATA_HOME": home, "HOME": home])
        #expect(result.code == 0)
        #expect(!FileManager.default.fileExists(atPath: home))
    }

    @Test func `a history that is none is refused by name`() async throws {
        _ = try directory.write(Array("no database, whatever its name may say".utf8), as: "history")
        let result = try await chat("a\n")
        #expect(result.complaints.contains(history))
        #expect(result.code == 1)
    }

    @Test(.timeLimit(.minutes(5)))
    func `kill -9 in mid-conversation loses nothing that was stored`() async throws {
        var sent: [String] = []
        for round in 1...4 {
            // Long enough that the kill comes in the middle of an answer.
            let chat = try ChatProcess(arguments + ["-n", "100"])
            for number in 1...2 {
                sent.append("message \(round).\(number).")
                try chat.type(sent.last!)
                try chat.type("/list")
                #expect(await chat.read(to: "you: message \(round).\(number).") != nil)
            }
            sent.append("message \(round).last.")
            try chat.type(sent.last!)
            try await waitUntilStored(sent.last!)
            chat.kill()
            _ = await chat.code()
        }
        let messages = try await stored()
        #expect(messages.filter(\.isUser).map(\.messageContent) == sent)
        #expect(messages.filter { !$0.isUser && $0.isComplete }.count >= 8)
    }

    private func waitUntilStored(_ text: String) async throws {
        let repository = try await ChatRepository.open(history)
        while try await repository.search(text).isEmpty { await Task.yield() }
    }

    @Test func `two programs use a history at once`() async throws {
        let chats = [try ChatProcess(arguments), try ChatProcess(arguments)]
        for number in 1...5 {
            for (index, chat) in chats.enumerated() { try chat.type("\(index): \(number)") }
        }
        for chat in chats { #expect(try await chat.end() == 0) }
        let messages = try await stored()
        for index in 0...1 {
            let own = messages.filter { $0.isUser && $0.messageContent.hasPrefix("\(index)") }
            #expect(own.map(\.messageContent) == (1...5).map { "\(index): \($0)" })
        }
        #expect(messages.filter { !$0.isUser && $0.isComplete }.count == 10)
    }
}
