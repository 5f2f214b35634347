/// Parses a message's body by its framing (RFC 9112, sections 6 and 7).
struct BodyParser: Sendable {
    private enum State: Sendable {
        /// In a body with `Content-Length`.
        case fixed(remaining: Int)
        /// Before the line with a chunk's size.
        case chunkSize(ChunkTally)
        case chunkData(remaining: Int, ChunkTally)
        /// Before the CR LF after a chunk's data.
        case chunkEnd(ChunkTally)
        case trailers(HeaderLines)
        /// In a body that ends when the peer closes.
        case untilClose
        case complete
    }

    enum Step {
        /// Part of the body without chunk framing, never empty.
        case bytes(ArraySlice<UInt8>)
        case moreBytesNeeded
        case end
        case again
    }

    private var state: State

    /// Whether the body ends when the peer closes.
    var endsWithConnection: Bool { if case .untilClose = state { true } else { false } }

    /// Bytes of the chunks that have begun.
    var chunkBytes: Int {
        switch state {
        case .chunkSize(let tally), .chunkData(_, let tally), .chunkEnd(let tally): tally.bodyBytes
        case .fixed, .trailers, .untilClose, .complete: 0
        }
    }

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

    /// - Parameter bodyLimit: Maximum bytes of all chunks.
    mutating func step(
        _ buffer: inout LineBuffer, _ limits: Limits, upTo bodyLimit: Int
    ) throws(RequestError) -> Step {
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
            let size = try tally.begin(line, bodyLimit: bodyLimit)
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
            // Trailers are checked like headers and dropped.
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
