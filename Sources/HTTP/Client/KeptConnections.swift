import Synchronization

/// The process-wide pool of idle keep-alive connections.
final class KeptConnections: Sendable {
    /// Connections with equal origins are interchangeable.
    struct Origin: Hashable, Sendable {
        let host: String
        let port: UInt16
        let trust: ObjectIdentifier?
        let proxy: Proxy?
        /// A connection to an internal address serves nobody who may not ask those.
        let reach: ClientReach
    }

    private struct Entry {
        let id: UInt64
        let origin: Origin
        let connection: ClientConnection
    }

    private struct State {
        var entries: [Entry] = []
        var nextID: UInt64 = 0
    }

    static let shared = KeptConnections()
    /// Maximum connections of all origins together.
    private static let most = 32
    /// Shorter than servers' keep-alive timeouts: 5 s for Node by default, longer for most others.
    private static let patience: Duration = .seconds(4)

    private let state = Mutex(State())

    /// Removes and returns the newest connection to an origin that still seems open. The caller owns it.
    func take(_ origin: Origin) async -> ClientConnection? {
        while let connection = remove(where: { $0.origin == origin }) {
            if await connection.isOpen() { return connection }
            await connection.close()
        }
        return nil
    }

    func keep(_ connection: ClientConnection, _ origin: Origin) async {
        let (id, surplus) = state.withLock { state in
            defer { state.nextID += 1 }
            state.entries.append(Entry(id: state.nextID, origin: origin, connection: connection))
            return (state.nextID, state.entries.count > Self.most ? state.entries.removeFirst().connection : nil)
        }
        await surplus?.close()
        Task {
            try? await Task.sleep(for: Self.patience)
            await remove { $0.id == id }?.close()
        }
    }

    private func remove(where matches: (Entry) -> Bool) -> ClientConnection? {
        state.withLock { state in
            state.entries.lastIndex(where: matches).map { state.entries.remove(at: $0).connection }
        }
    }
}
