/// One event of a streamed chat completion.
///
/// A stream is a chunk with the role, chunks with text, one with the finish reason and an empty delta, and, where the
/// client asked for it, one with the usage and no choices. All have the same id, time and model.
public struct ChatCompletionChunk: Codable, Sendable, Equatable {
    public struct Choice: Codable, Sendable, Equatable {
        public var index: Int
        public var delta: Delta
        /// `null` in all chunks but the last of a choice.
        @Null public var finishReason: String? = nil
        @Null public var logprobs: JSONValue? = nil

        enum CodingKeys: String, CodingKey {
            case index, delta, logprobs
            case finishReason = "finish_reason"
        }
    }

    public struct Delta: Codable, Sendable, Equatable {
        public var role: String?
        public var content: String?
    }

    public var id: String
    public var object: String
    /// Unix seconds.
    public var created: Int
    public var model: String
    public var choices: [Choice]
    public var systemFingerprint: String
    /// Left out unless the client asked for usage; then `null` in all chunks but the last.
    public var usage: Null<TokenUsage>?

    enum CodingKeys: String, CodingKey {
        case id, object, created, model, choices, usage
        case systemFingerprint = "system_fingerprint"
    }
}

/// Encodes the chunks of one stream as server-sent events.
///
/// The chunk with a token's text is the only one there are many of. All of it but the text is encoded once.
public struct ChatCompletionChunkEncoder: Sendable {
    private var template: ChatCompletionChunk
    private let beforeText: [UInt8]
    private let afterText: [UInt8]

    public init(id: String, created: Int, model: String, systemFingerprint: String, includeUsage: Bool) throws {
        template = ChatCompletionChunk(
            id: id, object: "chat.completion.chunk", created: created, model: model,
            choices: [.init(index: 0, delta: .init(content: ""))], systemFingerprint: systemFingerprint,
            usage: includeUsage ? Null(wrappedValue: nil) : nil)
        let event = ServerSentEvent.data(try JSON.encode(template))
        // Nothing else can hold these bytes: inside a string the quotes would be escaped.
        let marker = Array(#""content":"""#.utf8)
        let start = event.indices.first { event[$0...].starts(with: marker) } ?? event.startIndex
        beforeText = Array(event[..<(start + marker.count - 2)])
        afterText = Array(event[(start + marker.count)...])
    }

    public func role() throws -> [UInt8] { try event(.init(role: "assistant", content: "")) }

    public func text(_ text: String) throws -> [UInt8] { try beforeText + JSON.encode(text) + afterText }

    public func finish(_ reason: String) throws -> [UInt8] { try event(.init(), finishReason: reason) }

    public func usage(_ usage: TokenUsage) throws -> [UInt8] {
        var chunk = template
        chunk.choices = []
        chunk.usage = Null(wrappedValue: usage)
        return ServerSentEvent.data(try JSON.encode(chunk))
    }

    private func event(_ delta: ChatCompletionChunk.Delta, finishReason: String? = nil) throws -> [UInt8] {
        var chunk = template
        chunk.choices = [.init(index: 0, delta: delta, finishReason: finishReason)]
        return ServerSentEvent.data(try JSON.encode(chunk))
    }
}

/// Events of a `text/event-stream` (HTML Living Standard, "Server-sent events").
public enum ServerSentEvent {
    /// One event. JSON has no line breaks outside of escapes, so it is one `data:` line.
    public static func data(_ json: [UInt8]) -> [UInt8] { Array("data: ".utf8) + json + Array("\n\n".utf8) }

    /// Ends a stream that is whole.
    public static let done = data(Array("[DONE]".utf8))

    /// A comment, which clients skip: it keeps a silent connection from being taken for a dead one.
    public static let ping = Array(": ping\n\n".utf8)
}
