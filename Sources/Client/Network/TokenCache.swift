import Foundation

/// Caches a token until 30 seconds before it expires. Concurrent callers share one fetch, which is cancelled when all
/// of them are.
actor TokenCache {
    typealias Waiter = CheckedContinuation<AccessToken, any Error>

    private static let margin = 30.0  // seconds

    private let fetch: @Sendable () async throws -> AccessToken
    private let now: @Sendable () -> Date
    private var token: AccessToken?
    private var waiters: [UUID: Waiter] = [:]
    /// The running fetch. Its number distinguishes it from an earlier, cancelled one.
    private var fetching: Task<Void, Never>?
    private var fetchNumber = 0

    /// - Parameter token: A stored token, if any.
    init(
        _ token: AccessToken? = nil, now: @escaping @Sendable () -> Date = { Date() },
        fetch: @escaping @Sendable () async throws -> AccessToken
    ) {
        self.token = token
        self.now = now
        self.fetch = fetch
    }

    /// - Parameter refused: A token that the server refused although it has not expired.
    /// - Throws: The error of `fetch`, or `CancellationError`.
    func token(insteadOf refused: String? = nil) async throws -> String {
        if let token, isFresh(token), !hasSameBytes(token.token, refused) { return token.token }
        let id = UUID()
        let fetched = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { wait($0, id) }
        } onCancel: {
            Task { await leave(id) }
        }
        return fetched.token
    }

    private func isFresh(_ token: AccessToken) -> Bool {
        now().addingTimeInterval(Self.margin) < token.expiry
    }

    private func wait(_ waiter: Waiter, _ id: UUID) {
        // `leave` may have been called before.
        guard !Task.isCancelled else { return waiter.resume(throwing: CancellationError()) }
        waiters[id] = waiter
        guard fetching == nil else { return }
        fetchNumber += 1
        fetching = Task { [fetch, fetchNumber] in
            let result: Result<AccessToken, any Error>
            do {
                result = .success(try await fetch())
            } catch {
                result = .failure(error)
            }
            end(fetchNumber, result)
        }
    }

    private func end(_ number: Int, _ result: Result<AccessToken, any Error>) {
        guard number == fetchNumber else { return }
        fetching = nil
        token = try? result.get()
        let waiters = waiters.values
        self.waiters = [:]
        for waiter in waiters { waiter.resume(with: result) }
    }

    private func leave(_ id: UUID) {
        waiters.removeValue(forKey: id)?.resume(throwing: CancellationError())
        guard waiters.isEmpty, let fetching else { return }
        fetching.cancel()
        self.fetching = nil
        fetchNumber += 1
    }
}

/// Compares bytes: `==` would also accept canonically equivalent characters.
private func hasSameBytes(_ left: String, _ right: String?) -> Bool {
    right.map { left.utf8.elementsEqual($0.utf8) } ?? false
}
