import HTTP
import LocalLLM
import Synchronization
import Wire

/// Counters of the server for `GET /metrics`. They hold no text of clients.
final class Metrics: Sendable {
    /// A Prometheus histogram: `counts[i]` observations were at most `bounds[i]`.
    struct Histogram: Sendable {
        let bounds: [Double]
        var counts: [Int]
        var sum = 0.0
        var count = 0

        init(_ bounds: [Double]) {
            self.bounds = bounds
            counts = bounds.map { _ in 0 }
        }

        mutating func observe(_ duration: Duration) {
            let seconds = duration / .seconds(1)
            for index in bounds.indices where seconds <= bounds[index] { counts[index] += 1 }
            sum += seconds
            count += 1
        }
    }

    struct RequestKind: Hashable, Sendable {
        /// Name of a route, or `other`: paths sent by clients would be unbounded.
        let route: String
        let status: Int
    }

    /// What is counted for each model.
    struct ModelCounts: Sendable {
        var promptTokens = 0
        var cachedTokens = 0
        var generatedTokens = 0
        /// Draft tokens, and how many of them were accepted.
        var draftedTokens = 0
        var acceptedTokens = 0
        /// Generations before their first token, and after it.
        var waiting = 0
        var running = 0
        var secondsToFirstToken = Histogram([0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100])
    }

    struct Values: Sendable {
        var requests: [RequestKind: Int] = [:]
        /// Answered generation requests, by `AnsweredBy`.
        var engines: [String: Int] = [:]
        /// By the model's id in responses.
        var models: [String: ModelCounts] = [:]
        /// Moving average of a generation's duration, waiting included.
        var recentSeconds = 1.0
        var requestSeconds = Histogram([0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000])
    }

    /// Counting state of one generation.
    struct Progress: Sendable {
        fileprivate let model: String
        fileprivate let began = ContinuousClock.now
        fileprivate var isRunning = false
        fileprivate var hasEnded = false
    }

    private let state = Mutex(Values())

    var values: Values { state.withLock { $0 } }

    /// Counts a request when its response ends, also a streamed one.
    func counting(
        _ route: String, _ trace: RequestTrace, _ answer: () async throws -> Response
    ) async throws -> Response {
        let began = ContinuousClock.now
        var response: Response
        do {
            response = try await answer()
        } catch is CancellationError {
            // The client disconnected, so there is no status; nginx logs 499 for this.
            requestEnds(.init(route: route, status: 499), trace, began)
            throw CancellationError()
        } catch {
            var error = APIError(reporting: error)
            if error.status == 429, error.retryAfter == nil { error.retryAfter = secondsToRetry }
            requestEnds(.init(route: route, status: error.status), trace, began)
            throw error
        }
        let kind = RequestKind(route: route, status: response.status)
        switch response.body {
        case .bytes: requestEnds(kind, trace, began)
        case .stream(let write):
            response.body = .stream { writer in
                defer { self.requestEnds(kind, trace, began) }
                try await write(writer)
            }
        }
        return response
    }

    private func requestEnds(_ kind: RequestKind, _ trace: RequestTrace, _ began: ContinuousClock.Instant) {
        let duration = ContinuousClock.now - began
        let engine = trace.engine
        state.withLock {
            $0.requests[kind, default: 0] += 1
            $0.requestSeconds.observe(duration)
            if let engine { $0.engines[engine.rawValue, default: 0] += 1 }
        }
    }

    /// - Parameter model: The model's id in responses.
    func generationBegins(_ model: String) -> Progress {
        state.withLock { $0.models[model, default: .init()].waiting += 1 }
        return Progress(model: model)
    }

    func generationContinues(_ progress: inout Progress, _ delta: ChoiceDelta) {
        let isFirst = !progress.isRunning
        guard isFirst || delta.finish != nil else { return }
        progress.isRunning = true
        let waited = ContinuousClock.now - progress.began
        update(progress.model) { counts in
            if isFirst {
                counts.waiting -= 1
                counts.running += 1
                counts.secondsToFirstToken.observe(waited)
            }
            guard let usage = delta.finish.map({ TokenUsage($0) }) else { return }
            counts.promptTokens += usage.promptTokens
            counts.cachedTokens += usage.promptTokensDetails.cachedTokens
            let details = usage.completionTokensDetails
            counts.draftedTokens += details.acceptedPredictionTokens + details.rejectedPredictionTokens
            counts.acceptedTokens += details.acceptedPredictionTokens
        }
        progress.hasEnded = delta.finish != nil
    }

    /// Counts tokens that are only read, as for embeddings.
    func read(_ tokens: Int, by model: String) { update(model) { $0.promptTokens += tokens } }

    /// Counts tokens as they are generated, so that interrupted answers count too.
    func generated(_ tokens: Int, _ progress: Progress) { update(progress.model) { $0.generatedTokens += tokens } }

    func generationEnds(_ progress: inout Progress) {
        let seconds = (ContinuousClock.now - progress.began) / .seconds(1)
        state.withLock {
            let count: WritableKeyPath<ModelCounts, Int> = progress.isRunning ? \.running : \.waiting
            $0.models[progress.model]?[keyPath: count] -= 1
            // Refused and cancelled generations do not count for the average.
            if progress.hasEnded { $0.recentSeconds += (seconds - $0.recentSeconds) / 16 }
        }
    }

    private func update(_ model: String, _ change: (inout ModelCounts) -> Void) {
        state.withLock { change(&$0.models[model, default: .init()]) }
    }

    /// `Retry-After` while the queue is full: the average duration of a generation, 1...60 s.
    private var secondsToRetry: Int { state.withLock { Int(min(max(1, $0.recentSeconds.rounded(.up)), 60)) } }
}
