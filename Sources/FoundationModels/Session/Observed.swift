import Observation
import Synchronization

/// A value that any thread may read and change, with observable changes.
final class Observed<Value: Sendable>: Observable, Sendable {
    private let registrar = ObservationRegistrar()
    fileprivate let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    /// Reading it inside `withObservationTracking` registers the observer.
    var value: Value {
        registrar.access(self, keyPath: \.value)
        return state.withLock { $0 }
    }

    /// Observers are notified after the change and outside the lock, so they may read the value at once.
    func update<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
        defer { registrar.withMutation(of: self, keyPath: \.value) {} }
        return state.withLock { change(&$0) }
    }
}

extension Observed where Value: Equatable {
    /// Notifies observers only if the value changes.
    func update(to value: Value) {
        if state.withLock({ $0 != value }) { update { $0 = value } }
    }
}
