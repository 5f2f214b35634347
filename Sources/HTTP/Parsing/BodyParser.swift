/// What follows a message's head until the message ends, by its framing (RFC 9112, sections 6 and 7).
struct BodyParser: Sendable {
    private enum State: Sendable {
        /// Inside a body of known length.
        case fixed(remaining: Int)
        /// Before a line with a chunk's size.
        case chunkSize(ChunkTally)
        case chunkData(remaining: Int, ChunkTally)
        /// Before the CR LF after a chunk's data.
        case chunkEnd(ChunkTally)
        case trailers(HeaderLines)
        /// All that comes until the other end closes.
        case untilClose
        case complete
    }

    enum Step {
        /// Some of the body, chunked framing removed. Never empty.
        case bytes(ArraySlice<UInt8>)
        case moreBytesNeeded
        case end
        case again
    }

    private var state: State

    /// Whether the other end's last byte is the body's.
    var endsWithConnection: Bool { if case .untilClose = state { true } else { false } }

    static let untilClose = BodyParser(state: .untilClose)

    private init(state: State) { self.state = state }

    init(_ framing: RequestHead.Framing, _ limits: Limits) throws(RequestError) {
        switch framing {
        case .none, .length(0): state = .complete
        case .length(let length):
            guard length <= limits.bodyBytes else { throw .bodyTooLarge(limits.bodyBytes) }
            state = .fixed(remaining: length)
        case .chunked: state = .chunkSize(ChunkTally())
        }
    }

    mutating func step(_ buffer: inout LineBuffer, _ limits: Limits) throws(RequestError) -> Step {
        switch state {
        case .fixed(let remaining):
            let bytes = buffer.take(remaining)
            guard !bytes.isEmpty else { return .moreBytesNeeded }
            state = bytes.count == remaining ? .complete : .fixed(remaining: remaining - bytes.count)
            return .bytes(bytes)

        case .chunkSize(var tally):
            guard let line = try buffer.line(upTo: ChunkTally.lineLimit, or: .chunkLineTooLong) else {
                return .moreBytesNeeded
            }
            let size = try tally.begin(line, bodyLimit: limits.bodyBytes)
            state = size == 0 ? .trailers(HeaderLines()) : .chunkData(remaining: size, tally)
            return .again

        case .chunkData(let remaining, let tally):
            let bytes = buffer.take(remaining)
            guard !bytes.isEmpty else { return .moreBytesNeeded }
            state =
                bytes.count == remaining ? .chunkEnd(tally) : .chunkData(remaining: remaining - bytes.count, tally)
            return .bytes(bytes)

        case .chunkEnd(let tally):
            guard try buffer.line(upTo: 0, or: .chunkOverrun) != nil else { return .moreBytesNeeded }
            state = .chunkSize(tally)
            return .again

        case .trailers(var lines):
            // Checked like headers and dropped: nothing here acts on a trailer.
            guard try lines.collect(from: &buffer, limits) else {
                state = .trailers(lines)
                return .moreBytesNeeded
            }
            state = .complete
            return .again

        case .untilClose:
            let bytes = buffer.take(.max)
            return bytes.isEmpty ? .moreBytesNeeded : .bytes(bytes)

        case .complete:
            return .end
        }
    }
}
