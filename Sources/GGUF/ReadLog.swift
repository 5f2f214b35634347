import Synchronization

/// Records which names of a file were read, so that unknown ones can be rejected.
package final class ReadLog: Sendable {
    private let names = Mutex<Set<String>>([])

    package init() {}

    package func note(_ name: String) { _ = names.withLock { $0.insert(name) } }
    package func contains(_ name: String) -> Bool { names.withLock { $0.contains(name) } }
}
