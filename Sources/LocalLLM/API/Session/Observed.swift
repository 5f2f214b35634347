import Observation
import Synchronization

/// A value that any thread may read and change, and whose changes observers are told of.
final class Observed<Value: Sendable>: Observable, Sendable {
    private let registrar = ObservationRegistrar()
    fileprivate let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    /// Read inside `withObservationTracking`, it is tracked.
    var value: Value {
        registrar.access(self, keyPath: \.value)
        return state.withLock { $0 }
    }

    /// Observers are told outside the lock and when the value is there: they may read it at once.
    func update<Result>(_ change: (inout sending Value) -> sending Result) -> sending Result {
        defer { registrar.withMutation(of: self, keyPath: \.value) {} }
        return state.withLock(change)
    }
}

extension Observed where Value: Equatable {
    /// Tells nobody where nothing changes.
    func update(to value: Value) {
        if state.withLock({ $0 != value }) { update { $0 = value } }
    }
}
