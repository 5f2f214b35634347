/// Passes text through up to the first stop string, and holds back what could be the beginning of one.
///
/// Works on UTF-8 bytes: Swift's `String` comparison takes canonically equivalent texts as equal. Each byte of text costs
/// a constant time for each stop string, whatever the strings are (Knuth, Morris and Pratt 1977).
struct StopFilter {
    private var stops: [StopString]
    private var held: [UInt8] = []
    /// Whether a stop string has come. Nothing passes any more.
    private(set) var isStopped = false

    init(_ stops: [String]) { self.stops = stops.filter { !$0.isEmpty }.map(StopString.init) }

    /// - Returns: The text that is certain to come before any stop string.
    mutating func process(_ text: String) -> String {
        guard !isStopped else { return "" }
        guard !stops.isEmpty else { return text }
        for byte in text.utf8 {
            held.append(byte)
            // Of several that end here the longest counts: the text ends before all of them.
            var length = 0
            for index in stops.indices where stops[index].advance(byte) { length = max(length, stops[index].count) }
            if length > 0 {
                isStopped = true
                return release(held.count - length)
            }
        }
        return release(held.count - (stops.map(\.matched).max() ?? 0))
    }

    /// What was held back, now that nothing follows.
    mutating func finish() -> String { isStopped ? "" : release(held.count) }

    /// Gives out the first `count` held bytes: a stop string is whole characters, so this never cuts one.
    private mutating func release(_ count: Int) -> String {
        let text = String(decoding: held[..<count], as: UTF8.self)
        held.removeFirst(count)
        if isStopped { held = [] }
        return text
    }
}

/// A stop string, and how much of it the text so far ends with.
private struct StopString {
    private let bytes: [UInt8]
    /// For each number of matched bytes, less one: how many remain matched when the next byte does not fit.
    private let fallback: [Int32]
    private(set) var matched = 0

    var count: Int { bytes.count }

    /// - Precondition: `text` is not empty.
    init(_ text: String) {
        let bytes = Array(text.utf8)
        var fallback = [Int32](repeating: 0, count: bytes.count)
        var length = 0
        for index in bytes.indices.dropFirst() {
            while length > 0, bytes[index] != bytes[length] { length = Int(fallback[length - 1]) }
            if bytes[index] == bytes[length] { length += 1 }
            fallback[index] = Int32(length)
        }
        self.bytes = bytes
        self.fallback = fallback
    }

    /// - Returns: Whether the text now ends with the whole string; nothing may follow then.
    mutating func advance(_ byte: UInt8) -> Bool {
        while matched > 0, bytes[matched] != byte { matched = Int(fallback[matched - 1]) }
        if bytes[matched] == byte { matched += 1 }
        return matched == bytes.count
    }
}
