import Foundation
import FoundationModels
import LocalLLM
import TestSupport
import Testing

@testable import Client

@MainActor @Suite struct ChatViewModelTests {
    private let local = ScriptedLocal()

    private struct Failure: LocalizedError, Equatable { var errorDescription: String? { "the line is dead" } }

    private func chat(
        _ scripts: [ScriptedEngine.Step]..., history: ChatRepository? = nil, policy: FallbackPolicy = .localFirst
    ) async throws -> (chat: ChatViewModel, engine: ScriptedEngine) {
        let engine = ScriptedEngine(scripts)
        let repository = if let history { history } else { try await ChatRepository.open(nil) }
        return (ChatViewModel(engine: engine, local: local, history: repository, policy: policy), engine)
    }

    private func stored(_ chat: ChatViewModel) async throws -> [Message] {
        guard let conversation = chat.conversation else { return [] }
        return try await chat.history.messages(of: conversation)
    }

    private func send(_ text: String, _ chat: ChatViewModel) async {
        chat.inputText = text
        await chat.send()
    }

    // MARK: Asking

    @Test func `an answer streams, joins the conversation and says what it took`() async throws {
        let usage = AnswerUsage(promptTokens: 7, completionTokens: 2, tokensPerSecond: 12, contextSize: 64)
        let passedOver = [PassedOver(engine: .local, reason: "switched off")]
        let (chat, _) = try await chat([
            .event(.began(.cloud, passedOver: passedOver)), .event(.text("Hel")), .event(.text("lo")),
            .event(.finished(usage)),
        ])
        await send("Hi", chat)
        #expect(chat.messages.map(\.messageContent) == ["Hi", "Hello"])
        #expect(chat.messages.map(\.isUser) == [true, false])
        #expect(chat.messages.map(\.engine) == [nil, .cloud])
        #expect(chat.messages.map(\.isComplete) == [true, true])
        #expect(chat.answeredBy == .cloud)
        #expect(chat.passedOver == passedOver)
        #expect(chat.usage == usage)
        #expect((chat.inputText, chat.currentStreamingContent, chat.isResponding) == ("", "", false))
        #expect(chat.errorMessage == nil)
        #expect(try await stored(chat) == chat.messages)
    }

    @Test func `a prompt by itself has a response that grows, and an end`() async throws {
        let (chat, engine) = try await chat(.answer("Hel", "lo") + [.hang], .answer("Yes"), [.fail(Failure())])
        chat.inputText = "Why?"
        let asking = Task { await chat.sendPrompt() }
        await until { chat.response == "Hello" }
        #expect(!chat.finished && chat.inputText == "")
        await chat.cancel()
        await asking.value
        #expect(chat.response == "Hello" && chat.messages.isEmpty)
        chat.inputText = "Really?"
        await chat.sendPrompt()
        #expect(chat.response == "Yes" && chat.finished && chat.inputText == "")
        chat.inputText = "And?"
        await chat.sendPrompt()
        #expect(chat.response == "" && !chat.finished && chat.inputText == "And?")
        #expect(chat.errorMessage == "the line is dead")
        #expect(engine.questions.map(\.prompt) == ["Why?", "Really?", "And?"])
    }

    @Test func `while an answer comes it is shown and stored, and no other is asked for`() async throws {
        let (chat, engine) = try await chat(.answer("Hel", "lo") + [.hang])
        chat.inputText = "Hi"
        let sending = Task { await chat.send() }
        await until { chat.currentStreamingContent == "Hello" }
        #expect(chat.isResponding)
        #expect(chat.messages.map(\.messageContent) == ["Hi"])
        let partial = try #require(try await stored(chat).last)
        // The second part is stored too if half a second has passed.
        #expect(["Hel", "Hello"].contains(partial.messageContent))
        #expect(!partial.isComplete)

        await send("again", chat)
        #expect(chat.inputText == "again")
        #expect(await chat.ask("by itself") == nil)
        #expect(engine.questions.count == 1)
        await chat.cancel()
        _ = await sending.value
    }

    @Test func `the whole history goes along, a prompt by itself has none and leaves it alone`() async throws {
        let (chat, engine) = try await chat(
            .answer("1"), .answer("alone"), .answer("2"), policy: .cloudFirst)
        await send("a", chat)
        #expect(await chat.ask("by itself") == "alone")
        await send("b", chat)
        #expect(
            engine.questions == [
                .init(messages: [.user("a")], policy: .cloudFirst),
                .init(prompt: "by itself", policy: .cloudFirst),
                .init(messages: [.user("a"), .assistant("1"), .user("b")], policy: .cloudFirst),
            ])
        #expect(chat.messages.map(\.messageContent) == ["a", "1", "b", "2"])
        #expect(try await stored(chat) == chat.messages)
    }

    @Test func `an input without a letter is not sent`() async throws {
        let (chat, engine) = try await chat()
        await send(" \n", chat)
        #expect(engine.questions == [])
    }

    @Test func `what an answer took is shown until the next question, and never for another answer`() async throws {
        let usage = [1, 2].map { AnswerUsage(promptTokens: 10 * $0, completionTokens: $0) }
        func answer(_ usage: AnswerUsage) -> [ScriptedEngine.Step] { .answer("1") + [.event(.finished(usage))] }
        let (chat, _) = try await chat(
            answer(usage[0]), answer(usage[1]), .answer("no word of it"), answer(usage[0]), [.fail(Failure())],
            answer(usage[1]), .answer("begun") + [.hang])
        await send("a", chat)
        #expect(chat.usage == usage[0])
        await send("b", chat)
        #expect(chat.usage == usage[1])
        await send("c", chat)
        #expect(chat.usage == nil)
        #expect(await chat.ask("by itself") != nil)
        #expect(chat.usage == usage[0])
        await send("fails", chat)
        #expect(chat.usage == nil)
        await send("d", chat)
        chat.inputText = "e"
        let sending = Task { await chat.send() }
        await until { chat.currentStreamingContent == "begun" }
        #expect(chat.usage == nil)
        await chat.cancel()
        _ = await sending.value
        #expect(chat.usage == nil)
    }

    @Test func `an engine that has nothing to say has answered`() async throws {
        let (chat, _) = try await chat(.answer())
        await send("Hi", chat)
        #expect(chat.messages.map(\.messageContent) == ["Hi", ""])
        #expect(chat.errorMessage == nil)
    }

    // MARK: Failures

    @Test(arguments: [[], .answer("Hel")] as [[ScriptedEngine.Step]])
    func `a failed request takes the message out, puts its text back and shows the error`(
        before: [ScriptedEngine.Step]
    ) async throws {
        let (chat, _) = try await chat(.answer("1"), before + [.fail(Failure())])
        await send("a", chat)
        await send("b", chat)
        #expect(chat.messages.map(\.messageContent) == ["a", "1"])
        #expect(try await stored(chat) == chat.messages)
        #expect(chat.inputText == "b")
        #expect(chat.errorMessage == "the line is dead")
        #expect((chat.currentStreamingContent, chat.isResponding) == ("", false))
    }

    @Test func `what was typed meanwhile is kept, and the next success takes the error away`() async throws {
        let (chat, _) = try await chat(.answer("Hel") + [.hang], .answer("fine"))
        chat.inputText = "a"
        let sending = Task { await chat.send() }
        await until { chat.isResponding }
        chat.inputText = "meanwhile"
        await until { chat.currentStreamingContent == "Hel" }
        // The conversation disappears under the answer: storing it fails.
        try await chat.history.deleteConversation(try #require(chat.conversation))
        await chat.cancel()
        _ = await sending.value
        #expect(chat.inputText == "a\nmeanwhile")
        #expect(chat.errorMessage?.contains("not in the history") == true)
        await chat.startConversation()
        #expect(chat.errorMessage == nil)
        await chat.send()
        #expect(chat.errorMessage == nil)
        #expect(chat.messages.map(\.messageContent) == ["a\nmeanwhile", "fine"])
    }

    @Test func `a prompt by itself that fails says why`() async throws {
        let (chat, _) = try await chat([.fail(Failure())])
        #expect(await chat.ask("by itself") == nil)
        #expect(chat.errorMessage == "the line is dead")
        #expect(chat.inputText == "")
    }

    @Test func `blocked content is said in friendly words`() async throws {
        let (chat, _) = try await chat([.fail(ContentBlocked())])
        await send("a", chat)
        #expect(chat.errorMessage?.hasPrefix("Content blocked") == true)
        #expect(chat.inputText == "a")
    }

    // MARK: Interrupting

    @Test func `an interrupted answer stays as far as it came, and the conversation goes on from it`() async throws {
        let (chat, engine) = try await chat(.answer("Hel") + [.hang], .answer("fine"))
        chat.inputText = "a"
        let sending = Task { await chat.send() }
        await until { chat.currentStreamingContent == "Hel" }
        await chat.cancel()
        _ = await sending.value
        #expect(engine.cancelled == 1)
        #expect(chat.messages.map(\.messageContent) == ["a", "Hel"])
        #expect(chat.messages.last?.isComplete == false)
        #expect(try await stored(chat) == chat.messages)
        #expect(chat.errorMessage == nil)
        await send("b", chat)
        #expect(engine.questions.last?.messages == [.user("a"), .assistant("Hel"), .user("b")])
    }

    @Test func `interrupted before it began, a message goes back into the input`() async throws {
        let (chat, engine) = try await chat([.hang])
        chat.inputText = "a"
        let sending = Task { await chat.send() }
        await until { chat.conversation != nil }
        sending.cancel()
        _ = await sending.value
        #expect(engine.cancelled == engine.questions.count)
        #expect(chat.messages == [])
        #expect(try await stored(chat) == [])
        #expect(chat.inputText == "a")
        #expect(chat.errorMessage == nil)
    }

    // MARK: The toggle

    @Test func `the toggle turns to an available engine only, and warms it up`() async throws {
        let (chat, _) = try await chat(policy: .cloudFirst)
        local.availability = .unavailable(.modelNotReady)
        #expect(!(await chat.setLocal(on: true)))
        #expect(chat.policy == .cloudFirst)
        #expect(!chat.isLocalOn)
        #expect(chat.errorMessage == local.availability.statusMessage)
        #expect(local.prewarms == 0)

        local.availability = .available
        #expect(await chat.setLocal(on: true))
        #expect(chat.policy == .localFirst)
        #expect(chat.errorMessage == nil)
        #expect(local.prewarms == 1)
        #expect(await chat.setLocal(on: false))
        #expect(chat.policy == .cloudFirst)
        #expect(local.prewarms == 1)
    }

    @Test func `the toggle leaves fallback as it is`() async throws {
        let (chat, _) = try await chat(policy: .localOnly)
        await chat.setLocal(on: false)
        #expect(chat.policy == .cloudOnly)
        await chat.setLocal(on: true)
        #expect(chat.policy == .localOnly)
    }

    // MARK: Conversations

    @Test func `after a restart the conversation goes on, engine and all`() async throws {
        let history = try await ChatRepository.open(nil)
        let (before, _) = try await chat(.answer("1"), history: history)
        await send("a", before)
        await before.setPolicy(.cloudOnly)

        let (after, engine) = try await chat(.answer("2"), history: history)
        await after.resume()
        #expect(after.messages == before.messages)
        #expect(after.policy == .cloudOnly)
        await send("b", after)
        #expect(engine.questions == [.init(messages: [.user("a"), .assistant("1"), .user("b")], policy: .cloudOnly)])
    }

    @Test func `a message without an answer goes along with the next one`() async throws {
        let history = try await ChatRepository.open(nil)
        let id = try await history.newConversation(policy: .localFirst)
        try await history.save(Message(isUser: true, messageContent: "a"), in: id)
        let (chat, engine) = try await chat(.answer("1"), history: history)
        await chat.resume()
        await send("b", chat)
        #expect(engine.questions.last?.messages == [.user("a\n\nb")])
    }

    @Test func `messages are deleted one by one or all, here and in the history`() async throws {
        let (chat, engine) = try await chat(.answer("1"), .answer("2"), .answer("3"))
        await send("a", chat)
        await send("b", chat)
        await chat.delete(chat.messages[0].id)
        #expect(chat.messages.map(\.messageContent) == ["1", "b", "2"])
        #expect(try await stored(chat) == chat.messages)
        // Templates of models begin with the user.
        await send("c", chat)
        #expect(engine.questions.last?.messages == [.user("b"), .assistant("2"), .user("c")])
        await chat.deleteAll()
        #expect(chat.messages == [])
        #expect(try await stored(chat) == [])
        #expect(local.resets == 1)
    }

    @Test func `deleting all ends the answer that is coming`() async throws {
        let (chat, engine) = try await chat(.answer("Hel") + [.hang])
        chat.inputText = "a"
        let sending = Task { await chat.send() }
        await until { chat.currentStreamingContent == "Hel" }
        await chat.deleteAll()
        _ = await sending.value
        #expect(engine.cancelled == 1)
        #expect(chat.messages == [])
        #expect(try await stored(chat) == [])
    }

    @Test func `several conversations, each with its own messages`() async throws {
        let (chat, _) = try await chat(.answer("1"), .answer("2"))
        await send("a", chat)
        let first = try #require(chat.conversation)
        await chat.startConversation()
        #expect(chat.messages == [])
        await send("b", chat)
        #expect(chat.conversation != first)
        #expect(await chat.open(first))
        #expect(chat.messages.map(\.messageContent) == ["a", "1"])
        #expect(!(await chat.open(99)))
        #expect(chat.conversation == first)
        #expect(chat.errorMessage?.contains("99") == true)
    }
}
