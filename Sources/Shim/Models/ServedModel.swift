import Foundation
import LocalLLM
import Synchronization
import Wire

/// A model of this server: its file, its engine while loaded, its leases and the requests that wait for it.
package final class ServedModel: Sendable {
    private typealias Waiter = CheckedContinuation<any LanguageModel, any Error>

    private enum Phase {
        case unloaded
        case loading(progress: Double, [Int: Waiter])
        case loaded(any LanguageModel)
        case failed(any Error)
    }

    private struct State {
        var phase = Phase.unloaded
        var wasLoaded = false
        var leases = 0
        /// Number of calls of `lease` so far. A changed number means that the model was requested meanwhile.
        var requests = 0
        var lastUse = ContinuousClock.now
        /// Set by the last request; `nil`: the server's.
        var keepAlive: KeepAlive?
        /// Unloads the model after the idle time.
        var idling: Task<Void, any Error>?
    }

    package let file: ModelFile
    /// Whether the model stays in memory when it is idle, also if another needs the room.
    let isPinned: Bool
    private let state: Mutex<State>
    /// How long an idle model stays loaded unless a request says otherwise.
    private let keepAlive: KeepAlive
    private let sleep: @Sendable (Duration) async throws -> Void

    init(
        _ file: ModelFile, isPinned: Bool, keepAlive: KeepAlive,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.file = file
        self.isPinned = isPinned
        self.keepAlive = keepAlive
        self.sleep = sleep
        var state = State()
        if case .failure(let error) = file.info { state.phase = .failed(error) }
        self.state = Mutex(state)
    }

    /// The engine, if loaded.
    var loaded: (any LanguageModel)? {
        state.withLock { if case .loaded(let loaded) = $0.phase { loaded } else { nil } }
    }

    /// Requests that wait until the model is loaded.
    var waiting: Int {
        state.withLock { state in
            if case .loading(_, let waiters) = state.phase { waiters.count } else { 0 }
        }
    }

    /// Whether the model was loaded at any time.
    var wasLoaded: Bool { state.withLock { $0.wasLoaded } }

    /// Whether the model is neither loaded nor loading, so that it can be replaced.
    var isOutOfUse: Bool {
        state.withLock { state in
            switch state.phase {
            case .unloaded, .failed: true
            case .loading, .loaded: false
            }
        }
    }

    /// When the last lease ended; `nil` while leased or not loaded.
    var idleSince: ContinuousClock.Instant? {
        state.withLock { state in
            if case .loaded = state.phase, state.leases == 0 { state.lastUse } else { nil }
        }
    }

    /// When the engine is unloaded if nobody uses it again; `nil`: never, or it is not loaded.
    var unloadsAt: Date? {
        let state = state.withLock { $0 }
        guard case .loaded = state.phase, !isPinned, case .limited(let time) = state.keepAlive ?? keepAlive else {
            return nil
        }
        let idle = state.leases == 0 ? ContinuousClock.now - state.lastUse : .zero
        return Date(timeIntervalSinceNow: (time - idle) / .seconds(1))
    }

    var card: ModelCard {
        var card = ModelCard(id: file.id, created: file.created, ownedBy: "local")
        card.meta = try? file.info.map {
            ModelCard.Meta(
                vocabularySize: $0.vocabularySize, trainedContextSize: $0.trainedContextSize,
                parameterCount: $0.parameterCount, size: $0.fileBytes)
        }.get()
        card.capabilities = try? file.info.map(\.capabilities).get()
        switch state.withLock({ $0.phase }) {
        case .unloaded: card.state = .unloaded
        case .loading(let progress, _): (card.state, card.progress) = (.loading, progress)
        case .loaded: card.state = .loaded
        case .failed(let error): (card.state, card.reason) = (.failed, APIError(reporting: error).message)
        }
        return card
    }

    // MARK: Using

    /// Waits until the engine is loaded and leases it.
    ///
    /// - Parameters:
    ///   - wait: Returns when the caller's patience is over; `nil`: no limit.
    ///   - keepAlive: How long the engine stays in memory when it is idle again; `nil`: as the server was told.
    ///   - load: Called if loading has not begun; must end in `finishLoading`.
    /// - Throws: The error of loading; `CancellationError`; `APIError.stillLoading` when `wait` returns first.
    func lease(
        wait: (@Sendable () async throws -> Void)?, keepAlive: KeepAlive? = nil, load: () -> Void
    ) async throws -> ModelLease {
        let number = state.withLock { state in
            state.requests += 1
            state.keepAlive = keepAlive
            return state.requests
        }
        let patience = wait.map { wait in
            Task {
                try await wait()
                abandon(number, APIError.stillLoading)
            }
        }
        defer { patience?.cancel() }
        let loaded = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                enqueue(waiter, number, load)
                // A cancellation before `enqueue` found no waiter to resume.
                if Task.isCancelled { abandon(number, CancellationError()) }
            }
        } onCancel: {
            abandon(number, CancellationError())
        }
        // Made here and not where the waiter is resumed: no other thread then holds the lease, and it ends with its user.
        return ModelLease(id: file.id, model: loaded) { [self] in giveBack() }
    }

    /// Resumes the waiter at once if the engine is loaded. Each waiter that gets an engine counts as a lease.
    private func enqueue(_ waiter: Waiter, _ number: Int, _ load: () -> Void) {
        let (loaded, isFirst) = state.withLock { state -> ((any LanguageModel)?, Bool) in
            switch state.phase {
            case .loaded(let loaded):
                state.leases += 1
                return (loaded, false)
            case .loading(let progress, var waiters):
                waiters[number] = waiter
                state.phase = .loading(progress: progress, waiters)
                return (nil, false)
            case .unloaded, .failed:
                state.phase = .loading(progress: 0, [number: waiter])
                return (nil, true)
            }
        }
        if let loaded { waiter.resume(returning: loaded) }
        if isFirst { load() }
    }

    /// Resumes a waiter with `error`, unless it was resumed already.
    private func abandon(_ number: Int, _ error: any Error) {
        let waiter = state.withLock { state -> Waiter? in
            guard case .loading(let progress, var waiters) = state.phase else { return nil }
            defer { state.phase = .loading(progress: progress, waiters) }
            return waiters.removeValue(forKey: number)
        }
        waiter?.resume(throwing: error)
    }

    private func giveBack() {
        let requests = state.withLock { state -> Int? in
            state.leases -= 1
            state.lastUse = .now
            return state.leases == 0 ? state.requests : nil
        }
        if let requests { startIdling(since: requests) }
    }

    /// Sets how long the engine stays in memory when it is idle again.
    func keep(for keepAlive: KeepAlive?) { state.withLock { $0.keepAlive = keepAlive } }

    private func startIdling(since requests: Int) {
        let keepAlive = state.withLock { $0.keepAlive } ?? keepAlive
        guard !isPinned, case .limited(let time) = keepAlive else { return }
        let idling = Task { [sleep] in
            try await sleep(time)
            unload(ifUnusedSince: requests)
        }
        let previous = state.withLock { state in
            defer { state.idling = idling }
            return state.idling
        }
        previous?.cancel()
    }

    // MARK: Loading

    func report(progress: Double) {
        state.withLock { state in
            if case .loading(_, let waiters) = state.phase { state.phase = .loading(progress: progress, waiters) }
        }
    }

    /// Ends loading and resumes every waiter.
    func finishLoading(_ result: Result<any LanguageModel, any Error>) {
        let (waiters, requests) = state.withLock { state -> ([Waiter], Int) in
            var waiters: [Waiter] = []
            if case .loading(_, let waiting) = state.phase { waiters = Array(waiting.values) }
            switch result {
            case .success(let loaded):
                state.phase = .loaded(loaded)
                state.wasLoaded = true
                state.leases += waiters.count
                state.lastUse = .now
            case .failure(let error): state.phase = .failed(error)
            }
            return (waiters, state.requests)
        }
        for waiter in waiters { waiter.resume(with: result) }
        // All waiters may have given up meanwhile.
        if waiters.isEmpty { startIdling(since: requests) }
    }

    /// Unloads the engine unless it is leased.
    ///
    /// - Parameter requests: Unload only if there were no requests since this count.
    /// - Returns: Whether an engine was unloaded.
    @discardableResult
    func unload(ifUnusedSince requests: Int? = nil) -> Bool {
        let loaded = state.withLock { state -> (any LanguageModel)? in
            guard case .loaded(let loaded) = state.phase, state.leases == 0,
                state.requests == requests ?? state.requests
            else { return nil }
            state.phase = .unloaded
            return loaded
        }
        return loaded != nil  // released outside the lock
    }
}

extension ServedModel {
    /// Unloads the engine if it is loaded.
    ///
    /// - Throws: A 409 if it is answering.
    func unloadForOperator() throws(APIError) {
        guard loaded == nil || unload() else {
            throw APIError(
                status: 409, kind: .invalidRequest,
                message: "The model `\(file.id)` is answering; try again later.", param: "model", code: "model_in_use")
        }
    }
}

extension LocalModel.Info {
    /// A decoder whose file names a pooling was trained for embeddings and does not generate sensible text.
    fileprivate var capabilities: [ModelCard.Capability] {
        if isReranker { return [.rerank] }
        let isPooled = kind == .decoder && pooling != nil && pooling != Pooling.none
        return kind == .encoder || isPooled ? [.embedding] : [.completion]
    }
}

extension APIError {
    static let stillLoading = APIError(
        status: 503, kind: .server, message: "The model is still loading; try again in a moment.", code: "model_loading"
    )
}
