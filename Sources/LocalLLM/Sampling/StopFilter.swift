/// Passes text through up to the first stop string, and holds back what could be the beginning of one.
///
/// Works on UTF-8 bytes: Swift's `String` comparison takes canonically equivalent texts as equal.
struct StopFilter {
    private let stops: [[UInt8]]
    private var held: [UInt8] = []
    /// Whether a stop string has come. Nothing passes any more.
    var isStopped: Bool { matched != nil }
    /// The stop string that came.
    private(set) var matched: String?

    init(_ stops: [String]) { self.stops = stops.map { Array($0.utf8) }.filter { !$0.isEmpty } }

    /// - Returns: The text that is certain to come before any stop string.
    mutating func process(_ text: String) -> String {
        guard !isStopped else { return "" }
        guard !stops.isEmpty else { return text }
        held.append(contentsOf: text.utf8)
        if let found = firstStop() {
            matched = String(decoding: held[found], as: UTF8.self)
            return release(found.lowerBound)
        }
        let safe = held.indices.first { start in stops.contains { agrees($0, at: start) } }
        return release(safe ?? held.count)
    }

    /// What was held back, now that nothing follows.
    mutating func finish() -> String { isStopped ? "" : release(held.count) }

    /// Where the stop string is that was completed first.
    private func firstStop() -> Range<Int>? {
        var first: Range<Int>?
        for stop in stops where stop.count <= held.count {
            guard let start = (0...held.count - stop.count).first(where: { agrees(stop, at: $0) }) else { continue }
            let found = start..<start + stop.count
            if first.map({ found.upperBound < $0.upperBound }) ?? true { first = found }
        }
        return first
    }

    /// Whether the held bytes from `start` on are the stop string, or as much of it as has come.
    private func agrees(_ stop: [UInt8], at start: Int) -> Bool {
        held[start...].prefix(stop.count).elementsEqual(stop.prefix(held.count - start))
    }

    /// Gives out the first `count` held bytes: a stop string is whole characters, so this never cuts one.
    private mutating func release(_ count: Int) -> String {
        let text = String(decoding: held[..<count], as: UTF8.self)
        held.removeFirst(count)
        if isStopped { held = [] }
        return text
    }
}
