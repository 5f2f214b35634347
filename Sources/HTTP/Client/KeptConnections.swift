import Synchronization

/// Connections whose last answer is whole and that may be asked anew. The process has one collection of them.
final class KeptConnections: Sendable {
    /// What makes connections interchangeable.
    struct Origin: Hashable, Sendable {
        let host: String
        let port: UInt16
        let trust: ObjectIdentifier?
        let proxy: Proxy?
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
    /// Of all origins.
    private static let most = 32
    /// Shorter than servers wait for a next request: Node's wait 5 s by default, most others longer.
    private static let patience: Duration = .seconds(4)

    private let state = Mutex(State())

    /// The newest connection to an origin that still seems to be open. It is the caller's from now on.
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
