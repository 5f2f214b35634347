extension Engine {
    /// Counts requests under way by client, and decides whether one more is accepted.
    struct Admission {
        /// Maximum requests under way.
        let limit: Int
        private var clients: [Scheduler.ID: String?] = [:]
        private var counts: [String: Int] = [:]

        init(limit: Int) { self.limit = limit }

        func contains(_ id: Scheduler.ID) -> Bool { clients[id] != nil }

        /// A client may have up to three times as many places as are free: alone three quarters of all. Of `n` clients that
        /// ask for more than they get, each has `3 * limit / (3 * n + 1)`, and a third of that stays free for those that
        /// ask for less.
        func hasRoom(for client: String?) -> Bool {
            let free = limit - clients.count
            return free > 0 && client.map { counts[$0, default: 0] < 3 * free } ?? true
        }

        mutating func insert(_ id: Scheduler.ID, of client: String?) {
            clients[id] = .some(client)
            if let client { counts[client, default: 0] += 1 }
        }

        mutating func remove(_ id: Scheduler.ID) {
            guard let client = clients.removeValue(forKey: id) ?? nil, let count = counts[client] else { return }
            counts[client] = count == 1 ? nil : count - 1
        }
    }
}
