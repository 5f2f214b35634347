import Synchronization
import Wire

/// Counts bytes that requests hold beyond their bodies, in all and by client.
final class HeldBytes: Sendable {
    /// Maximum bytes of all requests, and of those of one client.
    private let limits: (all: Int, client: Int)
    private let state = Mutex((all: 0, clients: [String: Int]()))

    init(all: Int = 128 << 20, client: Int = 64 << 20) { limits = (all, client) }

    /// What one request holds. Given back when it is released.
    final class Share: Sendable {
        private let owner: HeldBytes
        private let client: String
        private let count = Mutex(0)

        fileprivate init(_ owner: HeldBytes, _ client: String) { (self.owner, self.client) = (owner, client) }

        deinit { owner.release(count.withLock { $0 }, of: client) }

        /// - Throws: A 429 if too much is held already.
        func add(_ bytes: Int) throws(APIError) {
            guard owner.reserve(bytes, of: client) else {
                throw APIError(
                    status: 429, kind: .rateLimit,
                    message:
                        "The images of the requests under way take all memory for fetched images. Please try again "
                        + "in a moment.", code: "too_many_bytes")
            }
            count.withLock { $0 += bytes }
        }
    }

    func part(of client: String) -> Share { Share(self, client) }

    private func reserve(_ bytes: Int, of client: String) -> Bool {
        state.withLock { state in
            let own = state.clients[client, default: 0] + bytes
            guard state.all + bytes <= limits.all, own <= limits.client else { return false }
            state.all += bytes
            state.clients[client] = own
            return true
        }
    }

    private func release(_ bytes: Int, of client: String) {
        state.withLock { state in
            state.all -= bytes
            let own = state.clients[client, default: 0] - bytes
            state.clients[client] = own > 0 ? own : nil
        }
    }
}
