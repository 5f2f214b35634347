import Client
import CommandLineParsing
import Foundation
import LocalLLM
import Synchronization

/// A chat session in the terminal.
@MainActor
final class Session {
    private(set) var chat: ChatViewModel
    let terminal: Terminal
    private(set) var engines: Engines
    private let supervisor: CallSupervisor
    /// What the local model may call.
    private let tools: [CommandTool]
    private let hidesThoughts: Bool
    private let isConversation: Bool
    /// Whether the conversation is stored for the next start.
    private let isStored: Bool
    var isEnded = false
    /// Whether all messages and commands so far succeeded.
    private(set) var hasSucceeded = true

    init(_ arguments: Arguments, _ terminal: Terminal) async throws {
        self.terminal = terminal
        let policy = try arguments.choice("--policy", of: FallbackPolicy.self)
        engines = try await Engines(arguments, terminal, asks: terminal.isInput && arguments.operands.isEmpty)
        hidesThoughts = arguments.has("--hide-thinking")
        isConversation = arguments.operands.isEmpty
        supervisor = CallSupervisor(terminal)
        tools = try Self.tools(arguments, terminal, engines, supervisor)
        let path = try HistoryFile.path(arguments)
        isStored = path != nil && isConversation && terminal.isInput
        let local = engines.makeLocal(tools: tools)
        chat = ChatViewModel(
            engine: engines.makeEngine(local), local: local, history: try await ChatRepository.open(path))
        if isConversation {
            terminal.startEditing(linesIn: HistoryFile.lines(beside: path))
            await chat.resume()
        } else if arguments.has("--tools") {
            terminal.startEditing(linesIn: nil)
        }
        for file in arguments.strings("--image") { try attach(file) }
        // The command line overrides the conversation's stored policy, which may need a cloud that is not there now.
        await chat.setPolicy(policy ?? (engines.canAnswer(chat.policy) ? chat.policy : .localFirst))
        rememberModel()
    }

    private static func tools(
        _ arguments: Arguments, _ terminal: Terminal, _ engines: Engines, _ supervisor: CallSupervisor
    ) throws -> [CommandTool] {
        guard let file = arguments.string("--tools") else { return [] }
        guard !arguments.has("--complete") else {
            throw UsageError("--complete and --tools exclude each other: a text is continued, not a conversation")
        }
        guard engines.has(.local) else { throw UsageError("--tools needs --model: it applies to the local model") }
        guard terminal.isInput else {
            throw UsageError("--tools: each call is asked for, which takes a terminal as input")
        }
        return try ToolFile(reading: file).definitions.map { CommandTool(definition: $0, supervisor: supervisor) }
    }

    /// - Returns: Whether all messages were answered and all commands succeeded.
    func run() async -> Bool {
        await showLoading()
        terminal.status(introduction)
        if let note = engines.completionNote { terminal.status(note) }
        if terminal.isInput { terminal.status("/help lists commands.") }
        showResumed()
        while let line = await terminal.readMessage() {
            let text = line.trimmingCharacters(in: .whitespaces)
            if text.isEmpty { continue }
            // A path in a message for a model that takes no images is text.
            if let dropped = DroppedImages(line), engines.seesImages || dropped.text.isEmpty {
                await send(dropped)
            } else if text.utf8.first == UInt8(ascii: "/"), !text.contains("\n") {
                await Command.run(text, self)
            } else {
                await send(line)
            }
            if isEnded { break }
        }
        return hasSucceeded
    }

    /// Attaches an image to the next message.
    ///
    /// - Throws: `UsageError` as `Engines.image` does.
    func attach(_ path: String) throws {
        chat.attachedImages.append(try engines.image(at: path))
        terminal.status("Attached \(URL(fileURLWithPath: path).lastPathComponent).")
    }

    /// Sends a message with files that were dropped on the terminal. Files alone wait for a message.
    private func send(_ dropped: DroppedImages) async {
        do { for file in dropped.files { try attach(file) } } catch { return fail("\(error)") }
        if dropped.text.isEmpty { return terminal.status("The next message takes it along.") }
        await send(dropped.text)
    }

    /// Answers a single message.
    func answer(_ question: String) async -> Bool {
        await send(question)
        return hasSucceeded
    }

    /// Shows the last turn of a resumed conversation.
    private func showResumed() {
        guard !chat.messages.isEmpty else { return }
        terminal.status("Resumed a conversation of \(chat.messages.count) messages. /new starts another.")
        let turn = chat.messages.lastIndex(where: \.isUser) ?? chat.messages.startIndex
        for message in chat.messages[turn...] {
            terminal.status((message.isUser ? "> " : "") + message.shown)
        }
    }

    func send(_ text: String) async {
        chat.inputText = text
        await show { [chat] in await chat.send()?.messageContent }
        if !chat.inputText.isEmpty || !chat.attachedImages.isEmpty {
            terminal.status("The message was not kept; /retry sends it again.")
        }
    }

    /// Shows an answer while it streams.
    ///
    /// - Parameter answer: Sends the request and returns the whole answer.
    func show(_ answer: @escaping @MainActor () async -> String?) async {
        let interruption = Interruption()
        terminal.interrupts.onInterrupt { [chat] in
            interruption.happen()
            Task { await chat.cancel() }
        }
        terminal.hideTyping()
        defer { terminal.showTyping() }
        let view = AnswerView(terminal, hidesThoughts: hidesThoughts, isConversation: isConversation) { [chat] in
            chat.isLocalOn && chat.statusMessage.contains("load") ? chat.statusMessage : "…"
        }
        supervisor.begin(view) { [chat] in Task { await chat.cancel() } }
        defer { supervisor.end() }
        let changes = Task { [chat, supervisor] in
            let answers = observedValues { (chat.thoughts, chat.currentStreamingContent, chat.toolCallCount) }
            for await (thoughts, content, calls) in answers {
                view.think(thoughts)
                await view.update(content)
                supervisor.announcedCalls = calls
            }
        }
        let answer = await answer()
        changes.cancel()
        await changes.value
        terminal.interrupts.onInterrupt(nil)
        view.think(chat.thoughts)
        await view.update(answer ?? "")
        await view.finish()
        if answer != nil || view.shown > 0 { terminal.write("\n") }
        if let turns = chat.usage?.omittedTurns, turns > 0 {
            terminal.note(
                "The context is full: the \(turns == 1 ? "oldest turn was" : "\(turns) oldest turns were") left out.")
        }
        terminal.note(chat.passedOver, of: engines)
        if let error = chat.errorMessage { return fail(error) }
        let line = (interruption.hasHappened ? ["interrupted"] : []) + (answerLine.isEmpty ? [] : [answerLine])
        if !line.isEmpty { terminal.status(line.joined(separator: " · ")) }
    }

    /// Runs an action of the chat and shows `note`, or the error.
    func attempt(_ note: String, _ body: (ChatViewModel) async -> Void) async {
        await body(chat)
        if let error = chat.errorMessage { fail(error) } else { terminal.note(note) }
    }

    /// Continues the conversation with changed engines or settings.
    func change(_ body: (inout Engines) -> Void) async {
        let before = chat
        await before.cancel()
        body(&engines)
        let local = engines.makeLocal(tools: tools)
        chat = ChatViewModel(
            engine: engines.makeEngine(local), local: local, history: before.history, policy: before.policy)
        (chat.inputText, chat.attachedImages) = (before.inputText, before.attachedImages)
        if let conversation = before.conversation { await chat.open(conversation) }
    }

    /// The next conversation begins with this one's model.
    func rememberModel() {
        if isStored, let file = engines.file { ModelChoice.remember(file) }
    }

    func fail(_ message: String) {
        hasSucceeded = false
        terminal.complain(message)
    }
}

/// Whether Ctrl-C was pressed during an answer.
private final class Interruption: Sendable {
    private let state = Atomic(false)

    var hasHappened: Bool { state.load(ordering: .relaxed) }
    func happen() { state.store(true, ordering: .relaxed) }
}
