public import LocalLLM
import Providers

extension [Message] {
    /// The conversation for an engine: alternating roles `user` and `assistant`, `user` first.
    ///
    /// Two consecutive messages of one role, after a deletion or crash, are merged. Answers before the first question
    /// are dropped.
    public var turns: [ChatMessage] {
        var turns: [ChatMessage] = []
        for message in drop(while: { !$0.isUser }) {
            let role: ChatMessage.Role = message.isUser ? .user : .assistant
            if turns.last?.role == role {
                turns[turns.count - 1].append(message)
            } else if message.images.isEmpty {
                turns.append(ChatMessage(role: role, content: message.messageContent))
            } else {
                turns.append(.user(message.messageContent, images: message.images))
            }
        }
        return turns
    }
}

extension ChatMessage {
    fileprivate mutating func append(_ message: Message) {
        let joined = ChatMessage.user(message.messageContent, images: message.images)
        guard images != nil || !message.images.isEmpty else { return content += "\n\n" + message.messageContent }
        if images == nil { content = content.filter { $0 != Self.imagePlaceholder } }
        content += "\n\n" + joined.content
        images = (images ?? []) + message.images
    }
}

extension Message {
    /// The images as `data:` URLs (RFC 2397), the form in which OpenAI's API takes them.
    public var imageURLs: [String] { images.map(\.imageDataURL) }
}
