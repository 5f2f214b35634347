/// Events of a `text/event-stream` (HTML Living Standard, "Server-sent events").
package enum ServerSentEvent {
    /// One event. Encoded JSON has no line breaks, so it is one `data:` line.
    package static func data(_ json: [UInt8]) -> [UInt8] { Array("data: ".utf8) + json + Array("\n\n".utf8) }

    /// One event with a name.
    package static func named(_ name: String, _ json: [UInt8]) -> [UInt8] {
        Array("event: \(name)\n".utf8) + data(json)
    }

    /// The events of a stream's part, one by one.
    package static func split(_ bytes: [UInt8]) -> [[UInt8]] {
        var (events, begin) = ([[UInt8]](), bytes.startIndex)
        for index in bytes.indices.dropFirst()
        where bytes[index] == UInt8(ascii: "\n") && bytes[index - 1] == UInt8(ascii: "\n") {
            events.append(Array(bytes[begin...index]))
            begin = index + 1
        }
        return events
    }

    /// Ends a complete stream.
    package static let done = data(Array("[DONE]".utf8))

    /// A comment, which clients skip. Keeps a silent connection from timing out.
    package static let ping = Array(": ping\n\n".utf8)
}
