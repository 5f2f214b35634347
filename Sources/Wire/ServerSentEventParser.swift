/// Takes a `text/event-stream` apart, however its bytes are cut (HTML Living Standard, "Parsing an event stream").
///
/// Of an event only its data is of interest here: names, ids and comments are skipped, as is an event that the stream's
/// end cuts off.
public struct ServerSentEventParser: Sendable {
    /// An event has more bytes than the reader will hold.
    public struct TooLong: Error, Equatable {
        public let limit: Int
    }

    private let limit: Int
    private var line: [UInt8] = []
    private var data: [UInt8] = []
    /// A line feed now would be the second half of a line's end.
    private var isAfterReturn = false
    private var isFirstLine = true

    /// - Parameter limit: Most bytes of an event, and of a line.
    public init(limit: Int = 1 << 20) { self.limit = limit }

    /// The data of the events that these bytes complete. Bytes that are not UTF-8 become U+FFFD.
    public mutating func push(_ bytes: some Sequence<UInt8>) throws(TooLong) -> [String] {
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

    /// - Returns: The data of an event, if the line is the empty one that ends it.
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
