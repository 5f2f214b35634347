package import Template

extension LocalModel {
    /// Renders a conversation. Chat templates differ in what they accept, and clients send the same conversation to all:
    /// where a template refuses one form, the next is tried.
    ///
    /// 1. The conversation as it is.
    /// 2. With a description for tools that have none, which many templates print without looking.
    /// 3. With all system messages joined into one at the start: many templates allow no other.
    /// 4. Without system messages and with alternating roles, the user first: system messages become the user's, and
    ///    consecutive messages of a role are joined.
    ///
    /// - Parameter variables: Template variables; the tools, if any, as `tools`.
    /// - Throws: The error of the first form, if the template refuses all.
    package static func rendering(
        _ messages: [ChatMessage], _ variables: TemplateObject, ending: PromptEnding = .answer,
        render: ([ChatMessage], TemplateObject) throws(LocalModelError) -> String
    ) throws(LocalModelError) -> String {
        let first: LocalModelError
        do {
            return try render(messages, variables)
        } catch {
            guard case .templateFailed = error else { throw error }
            first = error
        }
        var described = variables
        if case .array(let tools)? = variables["tools"] { described["tools"] = .array(tools.map(\.described)) }
        var forms = described == variables ? [] : [messages]
        // A message to be continued stays the last one.
        if ending != .continuation || messages.last?.role != .system { forms.append(messages.withOneSystemMessage) }
        forms.append(messages.alternating)
        var tried = described == variables ? messages : []
        for form in forms where form != tried {
            do {
                return try render(form, described)
            } catch {
                guard case .templateFailed = error else { throw error }
            }
            tried = form
        }
        throw first
    }
}

extension [ChatMessage] {
    fileprivate var withOneSystemMessage: [ChatMessage] {
        let system = filter { $0.role == .system && !$0.content.isEmpty }.map(\.content)
        let others = filter { $0.role != .system }
        return system.isEmpty ? others : [.system(system.joined(separator: "\n\n"))] + others
    }

    fileprivate var alternating: [ChatMessage] {
        var turns: [ChatMessage] = []
        for var message in self {
            if message.role == .system { message.role = .user }
            if turns.isEmpty, message.role != .user { turns.append(.user("")) }
            guard var last = turns.last, last.role == message.role, message.role != .tool, last.toolCalls == nil else {
                turns.append(message)
                continue
            }
            last.content = [last.content, message.content].filter { !$0.isEmpty }.joined(separator: "\n\n")
            last.reasoning = [last.reasoning, message.reasoning].compactMap(\.self).joined(separator: "\n\n")
            if last.reasoning?.isEmpty == true { last.reasoning = nil }
            last.toolCalls = message.toolCalls
            let images = (last.images ?? []) + (message.images ?? [])
            last.images = images.isEmpty ? nil : images
            turns[turns.count - 1] = last
        }
        return turns
    }
}

extension TemplateValue {
    /// A tool with an empty description if it has none.
    fileprivate var described: TemplateValue {
        guard case .object(var tool) = self, case .object(var function)? = tool["function"],
            function["description"] == nil
        else { return self }
        function["description"] = .string("")
        tool["function"] = .object(function)
        return .object(tool)
    }
}
