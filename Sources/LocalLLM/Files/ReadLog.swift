import Synchronization

/// Which names of a file have been asked for, so that what nobody asked for can be refused.
final class ReadLog: Sendable {
    private let names = Mutex<Set<String>>([])

    func note(_ name: String) { _ = names.withLock { $0.insert(name) } }
    func contains(_ name: String) -> Bool { names.withLock { $0.contains(name) } }
}
