import JSON
import LocalLLM
import Wire

/// Builds a message in Anthropic's form from deltas, and emits the stream's events for each step.
struct MessagesEncoder: AnswerEncoder {
    private var message: MessagesAnswer
    /// JSON arguments of the current call.
    private var input = ""
    private var isOpen = false

    init(_ message: MessagesAnswer) { self.message = message }

    mutating func whole(_ choices: [ChoiceDelta]) throws -> MessagesAnswer {
        for delta in choices { _ = try encode(delta) }
        return message
    }

    mutating func begin() throws -> [UInt8] {
        let begun = message
        return try event("message_start") { $0.message = begun }
    }

    mutating func encode(_ delta: ChoiceDelta) throws -> [UInt8] {
        var events: [UInt8] = []
        if !delta.reasoning.isEmpty {
            events += try open("thinking")
            message.content[message.content.count - 1].thinking? += delta.reasoning
            events += try piece("thinking_delta") { $0.thinking = delta.reasoning }
        }
        if !delta.content.isEmpty {
            events += try open("text")
            message.content[message.content.count - 1].text? += delta.content
            events += try piece("text_delta") { $0.text = delta.content }
        }
        for call in delta.calls {
            if let name = call.name { events += try open(.init(toolUse: call.id ?? "", name: name)) }
            guard !call.arguments.isEmpty else { continue }
            input += call.arguments
            events += try piece("input_json_delta") { $0.partialJSON = call.arguments }
        }
        guard let finish = delta.finish else { return events }
        events += try close()
        message.stopReason =
            switch finish.reason {
            case .length: "max_tokens"
            case .stop: finish.hasCalls ? "tool_use" : finish.stopString == nil ? "end_turn" : "stop_sequence"
            }
        message.stopSequence = finish.stopString
        message.usage = .init(TokenUsage(finish))
        return events
    }

    mutating func end(_ choices: [ChoiceDelta.Finish]) throws -> [UInt8] {
        let whole = message
        return try event("message_delta") {
            $0.delta = .init()
            $0.delta?.stopReason = whole.stopReason
            $0.delta?.stopSequence = Null(wrappedValue: whole.stopSequence)
            $0.usage = whole.usage
        } + event("message_stop") { _ in }
    }

    static func failure(_ error: APIError) throws -> [UInt8] {
        ServerSentEvent.named("error", try JSON.encode(MessagesErrorBody(error)))
    }

    private mutating func open(_ type: String) throws -> [UInt8] {
        isOpen && message.content.last?.type == type ? [] : try open(MessagesAnswer.Block(type: type))
    }

    private mutating func open(_ block: MessagesAnswer.Block) throws -> [UInt8] {
        let closed = try close()
        message.content.append(block)
        isOpen = true
        input = ""
        let index = message.content.count - 1
        return try closed
            + event("content_block_start") {
                $0.index = index
                $0.contentBlock = block
            }
    }

    private mutating func close() throws -> [UInt8] {
        guard isOpen else { return [] }
        isOpen = false
        let index = message.content.count - 1
        // The form requires an object, which truncated arguments are not.
        if message.content[index].type == "tool_use", let input = try? JSON(parsing: input, JSON.Limits(depth: 128)),
            case .object = input
        {
            message.content[index].input = input
        }
        return try event("content_block_stop") { $0.index = index }
    }

    private func piece(_ type: String, _ fill: (inout MessagesEvent.Delta) -> Void) throws -> [UInt8] {
        var delta = MessagesEvent.Delta(type: type)
        fill(&delta)
        return try event("content_block_delta") {
            $0.index = message.content.count - 1
            $0.delta = delta
        }
    }

    private func event(_ type: String, _ fill: (inout MessagesEvent) -> Void) throws -> [UInt8] {
        var event = MessagesEvent(type)
        fill(&event)
        return ServerSentEvent.named(type, try JSON.encode(event))
    }
}
