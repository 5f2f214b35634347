import Shim

/// Signatures of one key that could still be replayed, by the second in their timestamp.
struct SeenSignatures {
    /// Maximum difference between the client's clock and ours, in seconds.
    static let window = 300
    /// Signatures kept, some megabytes: enough for 400 requests a second, or 200 from clocks that are 300 s fast.
    static let capacity = 1 << 17

    enum Verdict { case isNew, isKnown, isFull }

    /// The first half of a signature, enough to tell signatures apart.
    typealias Mark = UInt128

    static func mark(_ signature: [UInt8]) -> Mark { signature.prefix(16).reduce(0) { $0 << 8 | Mark($1) } }

    private let capacity: Int
    private(set) var bySecond: [Int: Set<Mark>] = [:]
    private(set) var count = 0
    /// Earlier seconds are dropped. It never decreases, so they stay too old if the clock is set back.
    private var floor = Int.min

    init(capacity: Int = Self.capacity) { self.capacity = capacity }

    /// Adds a signature. A second insertion gives `isKnown` until the timestamp is too old to be accepted.
    ///
    /// - Parameter time: Timestamp in the request, seconds since 1970.
    mutating func insert(_ mark: Mark, time: Int, now: Int) -> Verdict {
        forget(now: now)
        guard time >= floor, bySecond[time]?.contains(mark) != true else { return .isKnown }
        guard count < capacity else { return .isFull }
        bySecond[time, default: []].insert(mark)
        count += 1
        return .isNew
    }

    /// Drops the signatures whose timestamp is too old to be accepted.
    mutating func forget(now: Int) {
        let second = now - Self.window
        guard second > floor else { return }
        floor = second
        for old in bySecond.keys where old < second { count -= bySecond.removeValue(forKey: old)?.count ?? 0 }
    }
}
