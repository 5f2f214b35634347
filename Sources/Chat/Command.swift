import Client
import Foundation

/// What a line that begins with a slash does.
struct Command {
    let name: String
    /// What stands for the argument in the help; `nil` for a command that takes none.
    let argument: String?
    let help: String
    let body: @MainActor (_ session: Session, _ argument: String) async throws -> Void

    init(
        _ name: String, _ argument: String? = nil, _ help: String,
        body: @escaping @MainActor (_ session: Session, _ argument: String) async throws -> Void
    ) {
        self.name = name
        self.argument = argument
        self.help = help
        self.body = body
    }

    @MainActor static func run(_ text: String, _ session: Session) async {
        let words = text.split(separator: " ", maxSplits: 1)
        let argument = words.count > 1 ? words[1].trimmingCharacters(in: .whitespaces) : ""
        guard let command = all.first(where: { $0.name == words[0] }) else {
            return session.fail("there is no command \(words[0]); /help lists them")
        }
        guard argument.isEmpty == (command.argument == nil) else {
            let expected = command.argument.map { "needs \($0)" } ?? "takes nothing more"
            return session.fail("\(command.name) \(expected), found '\(argument)'")
        }
        do { try await command.body(session, argument) } catch { session.fail("\(error)") }
    }
}

extension Command {
    @MainActor private static let all = [
        Command("/local", nil, "asks the model here first") { session, _ in
            await session.attempt("The model here is asked first.") { await $0.setLocal(on: true) }
        },
        Command("/cloud", nil, "asks the model in the cloud first") { session, _ in
            await session.attempt("The cloud is asked first.") { await $0.setLocal(on: false) }
        },
        Command("/policy", "NAME", "who is asked: localFirst, cloudFirst, localOnly or cloudOnly") { session, name in
            guard let policy = FallbackPolicy(rawValue: name) else {
                return session.fail("/policy: expected localFirst, cloudFirst, localOnly or cloudOnly, found '\(name)'")
            }
            await session.attempt("The policy is \(policy).") { await $0.setPolicy(policy) }
        },
        Command("/prompt", "TEXT", "asks by itself, without the conversation") { session, text in
            await session.show { [chat = session.chat] in await chat.ask(text) }
        },
        Command("/retry", nil, "sends the message again that got no answer") { session, _ in
            guard !session.chat.inputText.isEmpty else { return session.fail("there is nothing to send again") }
            await session.send(session.chat.inputText)
        },
        Command("/status", nil, "shows the engine, its speed and how full the context is") { session, _ in
            session.terminal.write(session.statusLine + "\n")
        },
        Command("/list", nil, "shows the conversation") { session, _ in
            for (index, message) in session.chat.messages.enumerated() {
                session.terminal.write("\(index + 1) \(message.speaker): \(message.messageContent)\n")
            }
        },
        Command("/delete", "N", "deletes message N of /list") { session, text in
            guard let number = Int(text), session.chat.messages.indices.contains(number - 1) else {
                return session.fail("there is no message \(text); /list shows their numbers")
            }
            let id = session.chat.messages[number - 1].id
            await session.attempt("Message \(number) is deleted.") { await $0.delete(id) }
        },
        Command("/clear", nil, "deletes the conversation's messages") { session, _ in
            await session.attempt("The conversation starts again.") { await $0.deleteAll() }
        },
        Command("/new", nil, "starts another conversation and keeps this one") { session, _ in
            await session.attempt("A new conversation.") { await $0.startConversation() }
        },
        Command("/conversations", nil, "lists all conversations") { session, _ in
            for conversation in try await session.chat.history.conversations() {
                session.terminal.write("\(conversation.id) \((conversation.beginning ?? "(empty)").excerpt())\n")
            }
        },
        Command("/open", "N", "goes on with conversation N") { session, text in
            guard let number = ConversationID(text) else {
                return session.fail("/open: expected a number of /conversations, found '\(text)'")
            }
            await session.attempt("The conversation goes on.") { await $0.open(number) }
        },
        Command("/search", "TEXT", "finds messages of all conversations") { session, text in
            for result in try await session.chat.history.search(text) {
                let excerpt = result.message.messageContent.excerpt(around: text)
                session.terminal.write("\(result.conversation) \(result.message.speaker): \(excerpt)\n")
            }
        },
        Command("/help", nil, "shows this") { session, _ in session.terminal.note(summary) },
        Command("/quit", nil, "ends") { session, _ in session.isEnded = true },
    ]

    @MainActor private static var summary: String {
        all.map { "\($0.name) \($0.argument ?? "")".padding(toLength: 16, withPad: " ", startingAt: 0) + $0.help }
            .joined(separator: "\n")
    }
}

extension Message {
    fileprivate var speaker: String {
        isUser ? "you" : (engine.map { "\($0)" } ?? "answer") + (isComplete ? "" : " (interrupted)")
    }
}

extension String {
    /// One line of what is around a text, or of the beginning.
    fileprivate func excerpt(around text: String = "") -> String {
        let found = range(of: text, options: .caseInsensitive)?.lowerBound ?? startIndex
        let start = index(found, offsetBy: -30, limitedBy: startIndex) ?? startIndex
        let end = index(start, offsetBy: 100, limitedBy: endIndex) ?? endIndex
        let line = self[start..<end].split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return (start == startIndex ? "" : "…") + line + (end == endIndex ? "" : "…")
    }
}
