/// The signatures of one key's requests that somebody could still send again, by the second that they were made for.
struct SeenSignatures {
    /// Seconds that the clock of whoever signs may be off, either way.
    static let window = 300
    /// Some megabytes. More than 400 signed requests a second, all the time, would fill it.
    static let capacity = 1 << 17

    enum Verdict { case isNew, isKnown, isFull }

    /// Half of a signature, which will do to tell it from any other.
    typealias Mark = UInt128

    static func mark(_ signature: [UInt8]) -> Mark { signature.prefix(16).reduce(0) { $0 << 8 | Mark($1) } }

    private let capacity: Int
    private(set) var bySecond: [Int: Set<Mark>] = [:]
    private(set) var count = 0
    /// Seconds before this one are forgotten, and stay too old should the clock be set back.
    private var floor = Int.min

    init(capacity: Int = Self.capacity) { self.capacity = capacity }

    /// Remembers a signature. Once `isNew`, the same one is `isKnown` until its time is too old to be accepted.
    ///
    /// - Parameter time: When the request says that it was made, in seconds since 1970.
    mutating func insert(_ mark: Mark, time: Int, now: Int) -> Verdict {
        forget(now: now)
        guard time >= floor, bySecond[time]?.contains(mark) != true else { return .isKnown }
        guard count < capacity else { return .isFull }
        bySecond[time, default: []].insert(mark)
        count += 1
        return .isNew
    }

    /// Forgets those whose time is too old to be accepted.
    mutating func forget(now: Int) {
        let second = now - Self.window
        guard second > floor else { return }
        floor = second
        for old in bySecond.keys where old < second { count -= bySecond.removeValue(forKey: old)?.count ?? 0 }
    }
}
