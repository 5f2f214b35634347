import HTTP
import Synchronization
import Wire

/// Responses that are computed after their requests were answered, and their events.
final class BackgroundResponses: Sendable {
    /// Maximum jobs that have not ended: of all clients, and of one.
    private static let limits = (all: 64, client: 16)
    /// Maximum bytes of the events of all jobs that have ended, and of such jobs. Older ones are forgotten: the store of
    /// responses has their results.
    private static let kept = (bytes: 64 << 20, jobs: 256)

    /// Oldest first.
    private let jobs = Mutex<[Job]>([])

    subscript(id: String) -> Job? { jobs.withLock { $0.first { $0.id == id } } }

    /// - Parameters:
    ///   - response: A response that is queued.
    ///   - events: Its first events.
    /// - Throws: A 429 if too many have not ended.
    func begin(_ response: ModelResponse, _ events: [UInt8], client: String) throws(APIError) -> Job {
        let job = Job(response, client: client, events)
        try jobs.withLock { jobs throws(APIError) in
            Self.forget(&jobs)
            let open = jobs.filter { !$0.hasEnded }
            guard open.count < Self.limits.all, open.count(where: { $0.client == client }) < Self.limits.client else {
                throw APIError(
                    status: 429, kind: .rateLimit,
                    message:
                        "Too many responses are computed in the background: at most \(Self.limits.client) for a client "
                        + "and \(Self.limits.all) in all. Please try again when one has ended.",
                    code: "rate_limit_exceeded")
            }
            jobs.append(job)
        }
        return job
    }

    private static func forget(_ jobs: inout [Job]) {
        let ended = jobs.filter(\.hasEnded)
        var (bytes, count) = (ended.reduce(0) { $0 + $1.bytes }, ended.count)
        for job in ended where bytes > kept.bytes || count > kept.jobs {
            (bytes, count) = (bytes - job.bytes, count - 1)
            jobs.removeAll { $0 === job }
        }
    }

    /// Ends a job and forgets it.
    func remove(_ id: String) async {
        guard let job = self[id] else { return }
        _ = await job.cancel()
        jobs.withLock { $0.removeAll { $0 === job } }
    }

    /// A response that is computed, and its events so far.
    final class Job: Sendable {
        private struct State {
            var response: ModelResponse
            /// By sequence number.
            var events: [[UInt8]]
            var bytes: Int
            var hasEnded = false
            var task: Task<Void, Never>?
            var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
            var lastListener = 0
        }

        let id: String
        let client: String
        private let state: Mutex<State>

        fileprivate init(_ response: ModelResponse, client: String, _ events: [UInt8]) {
            (id, self.client) = (response.id, client)
            state = Mutex(
                State(response: response, events: ServerSentEvent.split(events), bytes: events.count))
        }

        /// The response so far.
        var response: ModelResponse { state.withLock { $0.response } }
        var hasEnded: Bool { state.withLock { $0.hasEnded } }
        var bytes: Int { state.withLock { $0.bytes } }

        /// - Parameters:
        ///   - compute: Adds events; throws if the job was cancelled.
        ///   - ended: Gets the response if it did not complete by itself.
        func run(
            _ compute: @escaping @Sendable () async throws -> Void, ended: @escaping @Sendable (ModelResponse) -> Void
        ) {
            let task = Task {
                do {
                    try await compute()
                } catch {
                    state.withLock { $0.response.cancel() }
                }
                let response = response
                if response.status == .cancelled || response.status == .failed { ended(response) }
                let listeners = state.withLock { state in
                    state.hasEnded = true
                    state.task = nil
                    return state.listeners.values
                }
                for listener in listeners { listener.yield() }
            }
            state.withLock { if !$0.hasEnded { $0.task = task } }
        }

        /// Adds the next events, after which the response is this one.
        func add(_ events: [UInt8], _ response: ModelResponse) {
            let listeners = state.withLock { state in
                state.response = response
                state.events += ServerSentEvent.split(events)
                state.bytes += events.count
                return state.listeners.values
            }
            for listener in listeners { listener.yield() }
        }

        /// Ends the job, unless it has ended.
        ///
        /// - Returns: The response, which has ended.
        func cancel() async -> ModelResponse {
            let task = state.withLock { $0.task }
            task?.cancel()
            await task?.value
            return response
        }

        /// The events after a sequence number, as they come.
        ///
        /// - Parameter pingInterval: How long the stream may be silent before a comment keeps the connection open.
        func stream(startingAfter: Int = -1, pingInterval: Duration) -> Response {
            Response(
                status: 200, headers: .ofEventStream,
                body: .stream { [self] writer in
                    let (signals, listener) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
                    let number = state.withLock { state in
                        state.lastListener += 1
                        state.listeners[state.lastListener] = listener
                        return state.lastListener
                    }
                    let pings = Task {
                        while true {
                            try await pause(for: pingInterval)
                            listener.yield()
                        }
                    }
                    defer {
                        pings.cancel()
                        state.withLock { $0.listeners[number] = nil }
                    }
                    var next = startingAfter + 1
                    var iterator = signals.makeAsyncIterator()
                    while true {
                        let (events, hasEnded) = state.withLock { ($0.events.dropFirst(next), $0.hasEnded) }
                        next += events.count
                        if !events.isEmpty { try await writer.write(Array(events.joined())) }
                        if hasEnded { return }
                        guard await iterator.next() != nil else { return }
                        let isSilent = state.withLock { $0.events.count <= next && !$0.hasEnded }
                        if isSilent { try await writer.write(ServerSentEvent.ping) }
                    }
                })
        }
    }
}
