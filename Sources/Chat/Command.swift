import Client
import CommandLineParsing
import Foundation
import FoundationModels
import LocalLLM

/// A command, typed as a line that begins with a slash.
struct Command {
    let name: String
    /// Placeholder of the argument in the help, in brackets if optional; `nil`: no argument.
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
            let near = nearestWord(to: String(words[0]), in: all.map(\.name)).map { " (did you mean \($0)?)" } ?? ""
            return session.fail("unknown command \(words[0])\(near); /help lists the commands")
        }
        let isOptional = command.argument?.hasPrefix("[") ?? false
        guard isOptional || argument.isEmpty == (command.argument == nil) else {
            let expected = command.argument.map { "needs \($0)" } ?? "takes nothing more"
            return session.fail("\(command.name) \(expected), found '\(argument)'")
        }
        do { try await command.body(session, argument) } catch { session.fail("\(error)") }
    }
}

extension Command {
    @MainActor private static let all =
        conversation + engines + [
            Command("/help", nil, "shows this") { session, _ in
                session.terminal.note(summary(session.terminal.width ?? 80, isChoice: session.engines.isChoice))
            },
            Command("/quit", nil, "ends") { session, _ in session.isEnded = true },
        ]

    @MainActor private static let engines = [
        Command("/local", nil, "asks the local model first") { session, _ in
            await session.attempt("The local model is asked first.") { await $0.setLocal(on: true) }
        },
        Command("/cloud", nil, "asks the cloud first") { session, _ in
            guard session.engines.has(.cloud) else { return session.fail("/cloud: \(Engines.noCloud)") }
            await session.attempt("The cloud is asked first.") { await $0.setLocal(on: false) }
        },
        Command("/policy", "NAME", "which engine is asked: localFirst, cloudFirst, localOnly or cloudOnly") {
            session, name in
            guard let policy = FallbackPolicy(rawValue: name) else {
                return session.fail("/policy: expected localFirst, cloudFirst, localOnly or cloudOnly, found '\(name)'")
            }
            guard session.engines.canAnswer(policy) else {
                return session.fail(
                    "/policy \(name): \(policy == .cloudOnly ? Engines.noCloud : "there is no local model")")
            }
            await session.attempt("The policy is \(policy).") { await $0.setPolicy(policy) }
        },
        Command("/model", "NAME", "switches to another local model: a file, or a part of a downloaded one's name") {
            session, name in
            var engines = session.engines
            let file = try DownloadedModels(ProcessInfo.processInfo.environment).find(name)
            let status = engines.use(file)
            if case .unavailable = status.availability {
                return session.fail("/model \(name): \(status.statusMessage)")
            }
            await session.change { $0 = engines }
            session.rememberModel()
            session.terminal.note("The local model is now \(file.lastPathComponent).")
            if let note = session.engines.completionNote { session.terminal.note(note) }
        },
        Command("/show", nil, "describes the local model") { session, _ in
            guard let file = session.engines.file else { return session.fail("/show: there is no local model") }
            let info = try LocalModel.info(of: file)
            session.terminal.writeWrapped(
                """
                \(info.name): \(info.architecture), \(info.quantization), \(rounded(info.parameterCount)) parameters, \
                \(size(info.fileBytes)), trained for a context of \(info.trainedContextSize) tokens
                \(file.path)\n
                """)
        },
        Command("/set", "[NAME VALUE]", "sets temperature, seed, max-tokens or system; alone, shows them") {
            session, text in
            guard !text.isEmpty else { return session.terminal.write(session.engines.settings.description + "\n") }
            let words = text.split(separator: " ", maxSplits: 1).map(String.init)
            var settings = session.engines.settings
            try settings.set(words[0], to: words.count > 1 ? words[1] : "")
            await session.change { $0.settings = settings }
            session.terminal.note(settings.description)
        },
        Command("/status", nil, "shows the engine, its speed and how full the context is") { session, _ in
            session.terminal.writeWrapped(session.status + "\n")
        },
    ]

    @MainActor private static let conversation = [
        Command("/prompt", "TEXT", "sends one prompt without the conversation") { session, text in
            await session.show { [chat = session.chat] in await chat.ask(text) }
        },
        Command("/retry", nil, "sends the last message again if it got no answer") { session, _ in
            guard !session.chat.inputText.isEmpty || !session.chat.attachedImages.isEmpty else {
                return session.fail("there is nothing to send again")
            }
            await session.send(session.chat.inputText)
        },
        Command("/image", "[FILE]", "attaches an image to the next message; alone, removes what is attached") {
            session, path in
            if path.isEmpty {
                session.chat.attachedImages = []
                session.terminal.note("No image is attached.")
            } else {
                try session.attach(DroppedImages(path)?.files.first ?? (path as NSString).expandingTildeInPath)
            }
        },
        Command(
            "/decide", "QUESTION",
            "prints how likely each answer is: /decide Is it urgent? | yes | no; without options how likely a statement is true; "
                + "@FILE before it asks about a file's text instead of the conversation"
        ) { session, text in try await session.decide(text) },
        Command("/thoughts", nil, "shows the reasoning of the latest answer") { session, _ in
            guard !session.chat.thoughts.isEmpty else { return session.fail("the latest answer has no reasoning") }
            session.terminal.note(session.chat.thoughts)
        },
        Command("/list", nil, "shows the conversation") { session, _ in
            guard !session.chat.messages.isEmpty else { return session.terminal.note("The conversation is empty.") }
            for (index, message) in session.chat.messages.enumerated() {
                session.terminal.writeWrapped("\(index + 1) \(message.speaker): \(message.shown)\n")
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
            await session.attempt("All messages are deleted.") { await $0.deleteAll() }
        },
        Command("/new", nil, "starts a new conversation and keeps this one") { session, _ in
            await session.attempt("A new conversation.") { await $0.startConversation() }
        },
        Command("/conversations", nil, "lists all conversations") { session, _ in
            for conversation in try await session.chat.history.conversations() {
                let beginning = conversation.beginning ?? "(empty)"
                let rest = beginning.unicodeScalars.count < ConversationSummary.beginningLength ? "" : "…"
                session.terminal.writeWrapped("\(conversation.id) \(beginning.excerpt())\(rest)\n")
            }
        },
        Command("/open", "N", "resumes conversation N") { session, text in
            guard let number = ConversationID(text) else {
                return session.fail("/open: expected a number of /conversations, found '\(text)'")
            }
            guard try await session.chat.history.conversations().contains(where: { $0.id == number }) else {
                return session.fail("there is no conversation \(number); /conversations lists them")
            }
            await session.attempt("The conversation is resumed.") { await $0.open(number) }
        },
        Command("/search", "TEXT", "finds messages of all conversations") { session, text in
            let results = try await session.chat.history.search(text)
            guard !results.isEmpty else { return session.terminal.note("No message contains '\(text)'.") }
            for result in results {
                let excerpt = result.message.messageContent.excerpt(around: text)
                session.terminal.writeWrapped("\(result.conversation) \(result.message.speaker): \(excerpt)\n")
            }
        },
        Command("/save", "FILE", "writes the conversation: Markdown for .md, else JSON") { session, path in
            try ConversationFile(system: session.engines.settings.system, session.chat.messages).write(to: path)
            session.terminal.note("Saved to \(path).")
        },
        Command("/load", "FILE", "starts a conversation from a JSON file that /save wrote") { session, path in
            let file = try ConversationFile(reading: path)
            let id = try await session.chat.history.newConversation(policy: session.chat.policy)
            for message in file.turns { try await session.chat.history.save(message, in: id) }
            await session.change { if let system = file.system { $0.settings.system = system } }
            await session.attempt("Loaded \(file.turns.count) messages.") { await $0.open(id) }
        },
    ]

    /// - Parameters:
    ///   - width: Columns of a line.
    ///   - isChoice: Whether there is more than one engine.
    @MainActor private static func summary(_ width: Int, isChoice: Bool) -> String {
        let shown = all.filter { isChoice || !["/local", "/cloud", "/policy"].contains($0.name) }
        let lines = shown.map { (usage: "\($0.name) \($0.argument ?? "")", help: $0.help) }
        let indent = (lines.map(\.usage.count).max() ?? 0) + 2
        return lines.map { line in
            line.usage.padding(toLength: indent, withPad: " ", startingAt: 0)
                + line.help.wrapped(to: width, indent: indent)
        }.joined(separator: "\n")
    }
}

extension Engines.Settings: CustomStringConvertible {
    /// The settings as shown by `/set`.
    var description: String {
        [
            "temperature \(temperature.map { "\($0)" } ?? "default")", "seed \(seed.map { "\($0)" } ?? "default")",
            "max-tokens \(maximumTokens.map { "\($0)" } ?? "default")", "system \(system ?? "default")",
        ].joined(separator: "\n")
    }

    /// - Parameter value: Value as typed; `default` resets the setting.
    mutating func set(_ name: String, to value: String) throws(UsageError) {
        let isDefault = value == "default"
        func number<Number>(_ read: (String) -> Number?, _ expected: String) throws(UsageError) -> Number? {
            if isDefault { return nil }
            guard let number = read(value) else {
                throw UsageError("/set \(name): expected \(expected) or default, found '\(value)'")
            }
            return number
        }
        switch name {
        case "temperature":
            temperature = try number({ Double($0).flatMap { (0...2).contains($0) ? $0 : nil } }, "a number from 0 to 2")
        case "seed": seed = try number({ Int($0).flatMap { $0 < 0 ? nil : $0 } }, "a whole number")
        case "max-tokens": maximumTokens = try number({ Int($0).flatMap { $0 < 1 ? nil : $0 } }, "a number from 1")
        case "system": system = isDefault ? nil : value
        default:
            throw UsageError("/set: expected temperature, seed, max-tokens or system, found '\(name)'")
        }
    }
}

extension Message {
    /// The text, with a word for each image.
    var shown: String { String(repeating: "[image] ", count: images.count) + messageContent }

    fileprivate var speaker: String {
        isUser ? "you" : (engine.map { "\($0)" } ?? "answer") + (isComplete ? "" : " (interrupted)")
    }
}

extension String {
    /// An excerpt on one line, around a text or from the beginning.
    fileprivate func excerpt(around text: String = "") -> String {
        let found = range(of: text, options: .caseInsensitive)?.lowerBound ?? startIndex
        let start = index(found, offsetBy: -30, limitedBy: startIndex) ?? startIndex
        let end = index(start, offsetBy: 100, limitedBy: endIndex) ?? endIndex
        let line = self[start..<end].split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return (start == startIndex ? "" : "…") + line + (end == endIndex ? "" : "…")
    }
}
