import Client
import Foundation

/// A conversation as a file: JSON in the form of OpenAI's API, which can be loaded again, or Markdown for reading.
struct ConversationFile: Codable {
    struct Entry: Codable {
        let role: String
        let content: String
    }

    /// Error in a file, as text for the user.
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    var messages: [Entry]

    init(system: String?, _ messages: [Message]) {
        self.messages =
            (system.map { [Entry(role: "system", content: $0)] } ?? [])
            + messages.map { Entry(role: $0.isUser ? "user" : "assistant", content: $0.messageContent) }
    }

    /// - Throws: `Problem`, or a Foundation error if the file cannot be read.
    init(reading path: String) throws {
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        do { self = try JSONDecoder().decode(Self.self, from: data) } catch {
            throw Problem(
                description: "\(path): expected JSON with `messages`, each with `role` and `content`: \(error)")
        }
        for (index, message) in messages.enumerated() {
            let roles = index == 0 ? ["system", "user", "assistant"] : ["user", "assistant"]
            guard roles.contains(message.role) else {
                throw Problem(
                    description: "\(path): messages[\(index)].role: expected \(roles.joined(separator: " or ")), "
                        + "found '\(message.role)'")
            }
        }
    }

    /// The system message.
    var system: String? { messages.first.flatMap { $0.role == "system" ? $0.content : nil } }

    /// The messages of user and assistant.
    var turns: [Message] {
        messages.filter { $0.role != "system" }.map {
            Message(isUser: $0.role == "user", messageContent: $0.content)
        }
    }

    /// Writes Markdown if the path ends in `.md`, else JSON. Throws if the file exists.
    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let isMarkdown = path.lowercased().hasSuffix(".md")
        let data = isMarkdown ? Data(markdown.utf8) : try encoder.encode(self) + Data("\n".utf8)
        try data.write(to: URL(fileURLWithPath: path), options: .withoutOverwriting)
    }

    private var markdown: String {
        messages.map { "**\($0.role.capitalized):**\n\n\($0.content)\n" }.joined(separator: "\n")
    }
}
