/// Passes text through up to the first stop string, and holds back text that could be the beginning of one.
///
/// Works on UTF-8 bytes, since Swift's `String` comparison treats canonically equivalent texts as equal. Takes constant
/// time per byte of text and stop string (Knuth, Morris and Pratt 1977).
struct StopFilter {
    private var stops: [StopString]
    private var held: [UInt8] = []
    /// Whether a stop string was found. No text passes afterwards.
    var isStopped: Bool { stop != nil }
    /// The stop string that was found.
    private(set) var stop: String?

    init(_ stops: [String]) { self.stops = stops.filter { !$0.isEmpty }.map(StopString.init) }

    /// - Returns: The text that certainly precedes any stop string.
    mutating func process(_ text: String) -> String {
        guard !isStopped else { return "" }
        guard !stops.isEmpty else { return text }
        for byte in text.utf8 {
            held.append(byte)
            // If several end here, the longest counts: the text ends before all of them.
            var length = 0
            for index in stops.indices where stops[index].advance(byte) { length = max(length, stops[index].count) }
            if length > 0 {
                stop = String(decoding: held.suffix(length), as: UTF8.self)
                return release(held.count - length)
            }
        }
        return release(held.count - (stops.map(\.matched).max() ?? 0))
    }

    /// The text held back, now that the text has ended.
    mutating func finish() -> String { isStopped ? "" : release(held.count) }

    /// Returns the first `count` held bytes: stop strings are whole characters, so no character is cut.
    private mutating func release(_ count: Int) -> String {
        let text = String(decoding: held[..<count], as: UTF8.self)
        held.removeFirst(count)
        if isStopped { held = [] }
        return text
    }
}

/// A stop string, and the length of its prefix that the text so far ends with.
private struct StopString {
    private let bytes: [UInt8]
    /// For each number of matched bytes, less one: the number that stay matched if the next byte does not fit.
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

    /// - Returns: Whether the text now ends with the whole string; must not be called again then.
    mutating func advance(_ byte: UInt8) -> Bool {
        while matched > 0, bytes[matched] != byte { matched = Int(fallback[matched - 1]) }
        if bytes[matched] == byte { matched += 1 }
        return matched == bytes.count
    }
}
