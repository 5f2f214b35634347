import HTTP
import Synchronization
import Wire

/// Cancels a user's previous request when the next one arrives, for routes where only the latest answer matters.
package final class LatestRequests: Sendable {
    /// One person in one app, as far as the request tells.
    package struct User: Hashable, Sendable {
        let principal: Principal?
        let app: String?
        /// Where nothing else tells one device from another: the name is whatever a client says.
        let address: String?
        let name: String

        /// - Parameter name: The app's name for the user; `nil`: users are told apart by network.
        package init(_ context: RequestContext, name: String?) {
            let request = context.request
            principal = context.principal
            app = request.headers["X-App-Identifier"]
            address = principal?.isManyDevices ?? true ? request.network : nil
            self.name = name ?? "address \(request.network)"
        }
    }

    private struct Running {
        let number: Int
        let cancel: @Sendable () -> Void
    }

    private let state = Mutex((running: [User: Running](), last: 0))

    /// Runs `body` after cancelling the user's previous call.
    ///
    /// - Throws: `APIError` with code `superseded` if the user's next request cancels this one.
    package func run<Result: Sendable>(
        for user: User, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let work = Task(operation: body)
        let (number, previous) = state.withLock { state in
            state.last += 1
            return (state.last, state.running.updateValue(.init(number: state.last, cancel: work.cancel), forKey: user))
        }
        previous?.cancel()
        defer {
            state.withLock { state in
                if state.running[user]?.number == number { state.running[user] = nil }
            }
        }
        do {
            return try await withTaskCancellationHandler {
                try await work.value
            } onCancel: {
                work.cancel()
            }
        } catch  where work.isCancelled && !Task.isCancelled {
            throw APIError(
                status: 409, kind: .invalidRequest,
                message: "Superseded by a later request of the same user.",
                code: "superseded")
        }
    }
}
