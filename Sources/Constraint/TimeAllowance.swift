import Platform
import Synchronization

/// Processor time for work on constraints: to compile those of a request, or to follow one text.
///
/// Limits of states and steps do not bound time. Work that a `run` calls, directly or not, looks at its allowance now and
/// then; when the time is used up, or the work is cancelled, it ends with a `ConstraintError` of kind `budget`.
package final class TimeAllowance: Sendable {
    /// The allowance of the innermost `run`.
    @TaskLocal static var current: TimeAllowance?

    private struct State {
        var seconds: Double
        var used = 0.0
        /// Processor time of the working thread when the current work began; `nil` between two pieces of work.
        var began: Double?
        var isCancelled = false

        var usedNow: Double { used + (began.map { ThreadTime.seconds - $0 } ?? 0) }
    }

    private let state: Mutex<State>

    package init(seconds: Double = 10) { state = Mutex(State(seconds: seconds)) }

    /// Counts the processor time of `body`. Pieces of work run one at a time.
    package func run<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        state.withLock { $0.began = ThreadTime.seconds }
        defer {
            state.withLock { state in
                state.used = state.usedNow
                state.began = nil
            }
        }
        return try Self.$current.withValue(self) {
            Swift.Result { () throws(Failure) in try body() }
        }.get()
    }

    package func extend(by seconds: Double) { state.withLock { $0.seconds += seconds } }

    /// Ends the work under way soon: nobody wants its result. May be called from any thread.
    package func cancel() { state.withLock { $0.isCancelled = true } }

    /// Whether the time is used up or the work is cancelled. Only the working thread may ask.
    package var isOver: Bool {
        state.withLock { $0.isCancelled || $0.usedNow > $0.seconds } || Task.isCancelled
    }

    /// Why the work ended.
    package var error: ConstraintError {
        let (seconds, isUsedUp) = state.withLock { ($0.seconds, $0.usedNow > $0.seconds) }
        return ConstraintError(
            .budget, "",
            isUsedUp ? "it takes more than \(Int(seconds)) s of processor time" : "the work was cancelled")
    }
}

/// Counts units of work, each at most about a microsecond, and asks after some thousands whether to go on.
///
/// Not thread-safe: each belongs to one machine or one compilation.
final class WorkMeter {
    private static let interval = 4_096

    private var allowance = TimeAllowance.current
    private var left = WorkMeter.interval
    /// Whether the work has to end. What was computed since is not exact.
    private(set) var isStopped = false

    /// Begins a piece of work, under the allowance of its caller.
    func begin() { allowance = .current }

    @inline(__always)
    func spend(_ units: Int = 1) {
        left -= units
        if left < 0 { look() }
    }

    @inline(never)
    private func look() {
        left = Self.interval
        if allowance?.isOver ?? Task.isCancelled { isStopped = true }
    }

    /// Why it is stopped.
    var error: ConstraintError { allowance?.error ?? ConstraintError(.budget, "", "the work was cancelled") }
}
