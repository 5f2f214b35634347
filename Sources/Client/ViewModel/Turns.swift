import LocalLLM

extension [Message] {
    /// The conversation for an engine: alternating roles `user` and `assistant`, `user` first.
    ///
    /// Two consecutive messages of one role, after a deletion or crash, are merged. Answers before the first question
    /// are dropped.
    var turns: [ChatMessage] {
        var turns: [ChatMessage] = []
        for message in drop(while: { !$0.isUser }) {
            let role: ChatMessage.Role = message.isUser ? .user : .assistant
            if turns.last?.role == role {
                turns[turns.count - 1].content += "\n\n" + message.messageContent
            } else {
                turns.append(ChatMessage(role: role, content: message.messageContent))
            }
        }
        return turns
    }
}
