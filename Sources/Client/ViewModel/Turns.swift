import LocalLLM

extension [Message] {
    /// The conversation as engines take it: roles `user` and `assistant` in turn, the user's first.
    ///
    /// Where a deletion, or the end of the program, has left two messages of one side in a row, they become one; an
    /// answer whose question was deleted, with no other question before it, stays behind.
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
