extension Engine {
    /// Counts requests under way by client, and decides whether one more is accepted.
    struct Admission {
        /// Maximum requests under way.
        let limit: Int
        private var clients: [Scheduler.ID: String?] = [:]
        private var counts: [String: Int] = [:]

        init(limit: Int) { self.limit = limit }

        func contains(_ id: Scheduler.ID) -> Bool { clients[id] != nil }

        /// A quarter of the capacity is reserved for clients without requests, so that no client excludes the others.
        func hasRoom(for client: String?) -> Bool {
            let isFirst = client.map { counts[$0] == nil } ?? true
            return clients.count < (isFirst ? limit : limit - limit / 4)
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
