/// Parses a `text/event-stream` from pieces of any size (HTML Living Standard, "Parsing an event stream").
///
/// Only the data of events is returned. Names, ids, comments and an incomplete last event are skipped.
package struct ServerSentEventParser: Sendable {
    /// An event or line exceeds the limit.
    package struct TooLong: Error, Equatable {
        package let limit: Int
    }

    private let limit: Int
    private var line: [UInt8] = []
    private var data: [UInt8] = []
    /// The last byte was a carriage return, so a line feed now belongs to the same line end.
    private var isAfterReturn = false
    private var isFirstLine = true

    /// - Parameter limit: Maximum bytes of an event's data and the current line together.
    package init(limit: Int = 1 << 20) { self.limit = limit }

    /// Returns the data of the events that these bytes complete. Invalid UTF-8 becomes U+FFFD.
    package mutating func push(_ bytes: some Sequence<UInt8>) throws(TooLong) -> [String] {
        var events: [String] = []
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\n") where isAfterReturn: break
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                if let event = endLine() { events.append(event) }
            default:
                line.append(byte)
                guard line.count + data.count <= limit else { throw TooLong(limit: limit) }
            }
            isAfterReturn = byte == UInt8(ascii: "\r")
        }
        return events
    }

    /// - Returns: The data of the event that the line ends, if it is empty.
    private mutating func endLine() -> String? {
        defer { line.removeAll(keepingCapacity: true) }
        if isFirstLine, line.starts(with: [0xef, 0xbb, 0xbf]) { line.removeFirst(3) }
        isFirstLine = false
        guard !line.isEmpty else {
            guard !data.isEmpty else { return nil }
            defer { data.removeAll(keepingCapacity: true) }
            return String(decoding: data.dropLast(), as: UTF8.self)
        }
        let name = line.prefix { $0 != UInt8(ascii: ":") }
        guard name.elementsEqual("data".utf8) else { return nil }
        var value = line.dropFirst(name.count + 1)
        if value.first == UInt8(ascii: " ") { value.removeFirst() }
        data += value
        data.append(UInt8(ascii: "\n"))
        return nil
    }
}
