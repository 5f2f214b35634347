import Client
import Foundation

/// A conversation as a file: JSON in the form of OpenAI's API, which can be loaded again, or Markdown for reading.
struct ConversationFile: Codable {
    struct Entry: Codable {
        let role: String
        let content: String
        /// The images, which stand in front of the text.
        var images: [Data] = []
        var imageURLs: [String] { Message(isUser: true, messageContent: content, images: images).imageURLs }
    }

    /// Error in a file, as text for the user.
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    var messages: [Entry]

    init(system: String?, _ messages: [Message]) {
        self.messages =
            (system.map { [Entry(role: "system", content: $0)] } ?? [])
            + messages.map {
                Entry(role: $0.isUser ? "user" : "assistant", content: $0.messageContent, images: $0.images)
            }
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
            Message(isUser: $0.role == "user", messageContent: $0.content, images: $0.images)
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
        messages.map { message in
            let links = message.imageURLs.map { "![image](\($0))\n\n" }.joined()
            return "**\(message.role.capitalized):**\n\n\(links)\(message.content)\n"
        }.joined(separator: "\n")
    }
}

/// As in OpenAI's API: `content` is a text, or parts where there are images.
extension ConversationFile.Entry {
    fileprivate struct Part: Codable {
        struct Address: Codable { let url: String }

        let type: String
        var text: String?
        var imageURL: Address?

        enum CodingKeys: String, CodingKey {
            case type, text
            case imageURL = "image_url"
        }
    }

    private enum CodingKeys: String, CodingKey { case role, content }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let role = try container.decode(String.self, forKey: .role)
        guard let parts = try? container.decode([Part].self, forKey: .content) else {
            self.init(role: role, content: try container.decode(String.self, forKey: .content))
            return
        }
        var (texts, images): ([String], [Data]) = ([], [])
        for (index, part) in parts.enumerated() {
            if part.type == "text", let text = part.text {
                texts.append(text)
            } else if part.type == "image_url", role == "user", let image = part.imageURL?.file {
                images.append(image)
            } else {
                throw DecodingError.dataCorruptedError(
                    forKey: .content, in: container,
                    debugDescription: "content[\(index)]: expected a text, or a user's image_url with a data: URL")
            }
        }
        self.init(role: role, content: texts.joined(separator: "\n"), images: images)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(role, forKey: .role)
        if images.isEmpty { return try container.encode(content, forKey: .content) }
        let parts = imageURLs.map { Part(type: "image_url", imageURL: .init(url: $0)) }
        try container.encode(parts + [Part(type: "text", text: content)], forKey: .content)
    }
}

extension ConversationFile.Entry.Part.Address {
    /// The decoded bytes of a base64 `data:` URL; `nil` for other URLs.
    fileprivate var file: Data? {
        guard url.hasPrefix("data:image/"), let comma = url.firstIndex(of: ","), url[..<comma].hasSuffix(";base64")
        else { return nil }
        return Data(base64Encoded: String(url[url.index(after: comma)...]))
    }
}
