extension ModelThread {
    /// Counts requests under way by client, and decides whether one more is accepted.
    struct Admission {
        private struct Holder {
            let client: String?
            let group: Int?
        }

        /// Maximum requests under way.
        let limit: Int
        private var places: [Scheduler.ID: Holder] = [:]
        private var counts: [String: Int] = [:]
        /// Places by group.
        private var groups: [Int: Int] = [:]

        init(limit: Int) { self.limit = limit }

        func contains(_ id: Scheduler.ID) -> Bool { places[id] != nil }

        /// A client may hold up to three times as many places as are free; a single client gets three quarters of them. If
        /// `n` clients ask for more than they get, each holds `3 * limit / (3 * n + 1)`, and a third of that number stays
        /// free for other clients. The first request of a group needs free places for the whole group, so that a group is
        /// never refused halfway.
        func hasRoom(for client: String?, group: GenerationGroup? = nil) -> Bool {
            let count = group.map { groups[$0.number] == nil ? $0.size : 1 } ?? 1
            let free = limit - places.count - (count - 1)
            return free > 0 && client.map { counts[$0, default: 0] + count - 1 < 3 * free } ?? true
        }

        mutating func insert(_ id: Scheduler.ID, of client: String?, group: GenerationGroup? = nil) {
            places[id] = Holder(client: client, group: group?.number)
            if let client { counts[client, default: 0] += 1 }
            if let group { groups[group.number, default: 0] += 1 }
        }

        mutating func remove(_ id: Scheduler.ID) {
            guard let place = places.removeValue(forKey: id) else { return }
            if let client = place.client, let count = counts[client] { counts[client] = count == 1 ? nil : count - 1 }
            if let group = place.group, let count = groups[group] { groups[group] = count == 1 ? nil : count - 1 }
        }
    }
}
