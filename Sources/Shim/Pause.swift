import Dispatch
import Synchronization

/// Sleeps; throws `CancellationError` as soon as the task is cancelled.
///
/// Replaces `Task.sleep`, whose timer keeps a kilobyte until its deadline even if cancelled. With deadlines of an hour,
/// that adds up over all requests of an hour.
func pause(for duration: Duration) async throws {
    let pause = Pause(duration)
    try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { pause.begin($0) }
    } onCancel: {
        pause.end(.failure(CancellationError()))
    }
}

/// `@unchecked Sendable`: Dispatch's sources may be used from any thread.
private final class Pause: @unchecked Sendable {
    private enum State {
        case new
        case waiting(CheckedContinuation<Void, any Error>)
        case over(Result<Void, any Error>)
    }

    private let state = Mutex(State.new)
    private let timer = DispatchSource.makeTimerSource(queue: queue)
    /// One queue for all timers: on Dispatch's global queues each firing timer may get a thread.
    private static let queue = DispatchQueue(label: "pauses")

    init(_ duration: Duration) {
        // Without `@Sendable` it would inherit the caller's isolation and trap on Dispatch's thread.
        timer.setEventHandler { @Sendable [self] in end(.success(())) }
        timer.schedule(deadline: .now() + duration / .seconds(1))
        timer.activate()
    }

    func begin(_ continuation: CheckedContinuation<Void, any Error>) {
        let over = state.withLock { state -> Result<Void, any Error>? in
            if case .over(let result) = state { return result }
            state = .waiting(continuation)
            return nil
        }
        if let over { continuation.resume(with: over) }
    }

    /// Only the first call has an effect.
    func end(_ result: Result<Void, any Error>) {
        timer.cancel()
        let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            if case .over = state { return nil }
            defer { state = .over(result) }
            if case .waiting(let continuation) = state { return continuation }
            return nil
        }
        continuation?.resume(with: result)
    }
}
