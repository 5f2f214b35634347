/// Received bytes that have not been consumed, and how far they have been searched for a line's end.
///
/// Each byte is looked at once however the bytes arrive, so that a client who sends them one by one costs no more
/// than one who sends them at once.
struct LineBuffer {
    private var bytes: [UInt8] = []
    private var start = 0
    /// Bytes after `start` known to hold no line end.
    private var scanned = 0

    var count: Int { bytes.count - start }

    mutating func append(_ new: some Sequence<UInt8>) {
        // Moves at most as many bytes as were consumed since the last move: linear in total.
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            start = 0
        } else if start > bytes.count / 2 {
            bytes.removeSubrange(..<start)
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    /// Up to `limit` bytes, whatever they are.
    mutating func take(_ limit: Int) -> ArraySlice<UInt8> {
        let end = start + min(limit, count)
        defer { (start, scanned) = (end, 0) }
        return bytes[start..<end]
    }

    /// The next line without its CR LF, or `nil` while it is incomplete.
    ///
    /// Throws at the first byte over `limit`, and at the first that no line may have: LF without CR before it, CR
    /// without LF after it, and every control character but tab.
    mutating func line(
        upTo limit: Int, or tooLong: RequestError
    ) throws(RequestError) -> ArraySlice<UInt8>? {
        while start + scanned < bytes.count {
            let byte = bytes[start + scanned]
            let followsCR = scanned > 0 && bytes[start + scanned - 1] == 0x0d
            guard (byte == 0x0a) == followsCR else { throw .malformed("a line must end with CR LF") }
            scanned += 1
            if byte == 0x0a {
                let line = bytes[start..<(start + scanned - 2)]
                (start, scanned) = (start + scanned, 0)
                return line
            }
            guard byte == 0x0d || scanned <= limit else { throw tooLong }
            guard byte == 0x0d || isValueCharacter(byte) else { throw .malformed("a control character in a line") }
        }
        return nil
    }
}
