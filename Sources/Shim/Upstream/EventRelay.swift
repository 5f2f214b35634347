import Foundation
import JSON
import Wire

/// Splits an event stream into events without changing a byte (HTML Living Standard, "Parsing an event stream"). Checks
/// that each event's data is a JSON object or list, and throws if it is an error.
struct EventRelay: Sendable {
    /// Maximum bytes of an event: a large image as base64.
    static let mostBytes = 8 << 20

    private var bytes: [UInt8] = []
    /// Start of the next event in `bytes`, and the offset up to which its end was searched.
    private var start = 0
    private var searched = 0
    private var lineIsEmpty = true
    /// The last byte was a carriage return, so a line feed now belongs to the same line end.
    private var isAfterReturn = false
    private var reader = ServerSentEventParser(limit: EventRelay.mostBytes)
    /// The stream's last event has come; later bytes are ignored.
    var isDone = false
    /// The upstream's key, removed from errors that repeat it.
    private let key: String?

    init(hiding key: String?) { self.key = key }

    mutating func append(_ new: some Sequence<UInt8>) {
        bytes.removeSubrange(..<start)
        searched -= start
        start = 0
        bytes.append(contentsOf: new)
    }

    /// The next event with the empty line that ends it, or `nil` if more bytes are needed.
    mutating func next() throws(APIError) -> [UInt8]? {
        while searched < bytes.count {
            let byte = bytes[searched]
            searched += 1
            let isLineEnd = byte == UInt8(ascii: "\r") || (byte == UInt8(ascii: "\n") && !isAfterReturn)
            let isSecondHalf = byte == UInt8(ascii: "\n") && isAfterReturn
            isAfterReturn = byte == UInt8(ascii: "\r")
            if isSecondHalf { continue }
            defer { lineIsEmpty = isLineEnd }
            if isLineEnd, lineIsEmpty {
                let event = bytes[start..<searched]
                start = searched
                try check(event)
                return Array(event)
            }
        }
        guard bytes.count - start <= Self.mostBytes else { throw .isNoEvent }
        return nil
    }

    /// Returns the rest at the end of the stream, where the last event may lack its empty line.
    mutating func end() throws(APIError) -> [UInt8] {
        let rest = bytes[start...]
        start = bytes.count
        try check(rest)
        try check(Array("\n\n".utf8)[...])
        return Array(rest)
    }

    private mutating func check(_ event: ArraySlice<UInt8>) throws(APIError) {
        guard String(validating: event, as: UTF8.self) != nil else { throw .isNoEvent }
        let texts: [String]
        do { texts = try reader.push(event) } catch { throw .isNoEvent }
        for text in texts {
            if text.utf8.elementsEqual("[DONE]".utf8) {
                isDone = true
                continue
            }
            guard let value = try? JSON(parsing: text, JSON.answerLimits), value.object != nil || value.array != nil
            else {
                throw .isNoEvent
            }
            let type = value["type"]?.string
            guard type != "error", value["error"] == nil else {
                throw APIError(upstreamEvent: text, hiding: key)
            }
            if let type, Self.lastEvents.contains(type) { isDone = true }
        }
    }

    /// Types of the last event in a stream of the responses and of the messages endpoint.
    private static let lastEvents = [
        "response.completed", "response.incomplete", "response.failed", "message_stop",
    ]
}

extension APIError {
    static let isNoEvent = upstream("The upstream API sent an invalid event.")
}
