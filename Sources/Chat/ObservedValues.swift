import Observation

/// The value of an expression over observable objects, now and after its changes. A reader that is busy meanwhile gets the
/// latest. `Observations` does the same from Swift 6.2 on.
@MainActor
func observedValues<Value: Sendable>(_ value: @escaping @MainActor () -> Value) -> AsyncStream<Value> {
    let (stream, continuation) = AsyncStream<Value>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let observer = Observer(value, continuation)
    continuation.onTermination = { _ in Task { @MainActor in observer.value = nil } }
    observer.observe()
    return stream
}

@MainActor
private final class Observer<Value: Sendable> {
    /// `nil` once nobody reads: the objects, which keep their observer until they change, would else keep themselves.
    var value: (@MainActor () -> Value)?
    private let continuation: AsyncStream<Value>.Continuation

    init(_ value: @escaping @MainActor () -> Value, _ continuation: AsyncStream<Value>.Continuation) {
        (self.value, self.continuation) = (value, continuation)
    }

    func observe() {
        guard let value else { return }
        // Called before the change: what it changes to is read when the main actor is free.
        let now = withObservationTracking {
            value()
        } onChange: {
            Task { @MainActor in self.observe() }
        }
        continuation.yield(now)
    }
}
