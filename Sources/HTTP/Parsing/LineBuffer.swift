/// Unconsumed input, and how far it was searched for a line end.
///
/// Each byte is scanned once, so a client that sends single bytes costs no more parsing than one that sends all at
/// once.
struct LineBuffer {
    private var bytes: [UInt8] = []
    private var start = 0
    /// Bytes after `start` known to hold no line end.
    private var scanned = 0

    var count: Int { bytes.count - start }

    mutating func append(_ new: some Sequence<UInt8>) {
        // Moves at most as many bytes as were consumed since the last move, so the total cost is linear.
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            start = 0
        } else if start > bytes.count / 2 {
            bytes.removeSubrange(..<start)
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    /// Consumes up to `limit` bytes.
    mutating func take(_ limit: Int) -> ArraySlice<UInt8> {
        let end = start + min(limit, count)
        defer { (start, scanned) = (end, 0) }
        return bytes[start..<end]
    }

    /// The next line without its CR LF, or `nil` while it is incomplete.
    ///
    /// Throws at the first byte beyond `limit`, and at the first invalid one: LF without CR, CR without LF, or a
    /// control character other than tab.
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
