/// Something that a client asked to store.
protocol SharedEntry: Sendable {
    var id: String { get }
    /// The client that asked for it.
    var client: String { get }
    /// Roughly what it takes in memory.
    var bytes: Int { get }
}

/// Stored entries by id, oldest first, within limits of which every client has its share.
struct SharedEntries<Entry: SharedEntry>: Sendable {
    private struct Share {
        var count = 0
        var bytes = 0
    }

    private let maximumCount: Int
    private let maximumBytes: Int
    private var entries: [String: Entry] = [:]
    /// Oldest first.
    private var order: [String] = []
    private(set) var bytes = 0
    private var shares: [String: Share] = [:]

    init(maximumCount: Int, maximumBytes: Int) {
        (self.maximumCount, self.maximumBytes) = (maximumCount, maximumBytes)
    }

    var count: Int { order.count }
    /// Oldest first.
    var all: [Entry] { order.compactMap { entries[$0] } }

    subscript(id: String) -> Entry? { entries[id] }

    /// - Returns: Whether the id was stored.
    @discardableResult
    mutating func remove(_ id: String) -> Bool {
        guard let entry = entries.removeValue(forKey: id) else { return false }
        order.removeAll { $0 == id }
        bytes -= entry.bytes
        shares[entry.client]?.count -= 1
        shares[entry.client]?.bytes -= entry.bytes
        if shares[entry.client]?.count == 0 { shares[entry.client] = nil }
        return true
    }

    /// Adds an entry, in place of one with its id, and drops the oldest ones of the client with the most if necessary.
    mutating func add(_ entry: Entry) {
        remove(entry.id)
        entries[entry.id] = entry
        order.append(entry.id)
        bytes += entry.bytes
        shares[entry.client, default: Share()].count += 1
        shares[entry.client, default: Share()].bytes += entry.bytes
        while order.count > maximumCount { removeOldest(by: \.count) }
        while bytes > maximumBytes { removeOldest(by: \.bytes) }
    }

    /// Drops the oldest entry of the client with the most, so that no client pushes out the entries of others.
    private mutating func removeOldest(by size: KeyPath<Share, Int>) {
        let client = shares.max { ($0.value[keyPath: size], $0.key) < ($1.value[keyPath: size], $1.key) }?.key
        if let id = order.first(where: { entries[$0]?.client == client }) { remove(id) }
    }
}
