public import Foundation
import FoundationModels
public import LocalLLM

/// Combines the local engine and a cloud service.
///
/// The local engine is passed over if its model is unavailable or fails before its first output. A loading model counts
/// as available: after waiting longer than `loadLimit`, the stream throws `LoadingTookTooLong` and the message does not
/// leave the device. A refusal by a guardrail or a failure after the first output ends the stream. If no engine
/// answers, it throws `NoEngineAnswered`.
public struct DualEngine: AnswerEngine {
    private let local: (any LocalLLMServiceProtocol)?
    private let cloud: (any ChatServiceProtocol)?
    private let loadLimit: Duration

    /// - Parameters:
    ///   - local: The local service; `nil` if none is configured.
    ///   - cloud: The cloud service; `nil` if none is configured.
    ///   - loadLimit: Maximum time to wait for the local model to load.
    public init(
        local: (any LocalLLMServiceProtocol)?, cloud: (any ChatServiceProtocol)?, loadLimit: Duration = .seconds(300)
    ) {
        self.local = local
        self.cloud = cloud
        self.loadLimit = loadLimit
    }

    public func answer(
        _ messages: [ChatMessage], policy: FallbackPolicy
    ) -> AsyncThrowingStream<AnswerEvent, any Error> {
        answer(policy) { $0.stream(messages) }
    }

    public func answer(prompt: String, policy: FallbackPolicy) -> AsyncThrowingStream<AnswerEvent, any Error> {
        answer(policy) { $0.stream(prompt: prompt) }
    }

    private func answer(
        _ policy: FallbackPolicy,
        _ ask: @escaping @Sendable (any ChatServiceProtocol) -> AsyncThrowingStream<AnswerPiece, any Error>
    ) -> AsyncThrowingStream<AnswerEvent, any Error> {
        .task { continuation in
            var passedOver: [PassedOver] = []
            var hasBegun = false
            let last = policy.engines.last(where: has) ?? policy.engines.last
            try await firstAnswer(of: policy.engines) { engine in
                let service = try service(engine, isLast: engine == last)
                if engine == .local { try await load() }
                for try await piece in ask(service) {
                    if !hasBegun { continuation.yield(.began(engine, passedOver: passedOver)) }
                    hasBegun = true
                    continuation.yield(AnswerEvent(piece))
                }
                try Task.checkCancellation()
                if !hasBegun { continuation.yield(.began(engine, passedOver: passedOver)) }
            } goesOn: { engine, error in
                if hasBegun || error is ContentBlocked || error is LoadingTookTooLong { return false }
                passedOver.append(PassedOver(engine: engine, reason: reason(error)))
                guard engine != last else { throw NoEngineAnswered(passedOver: passedOver, lastError: error) }
                return true
            }
        }
    }

    /// Waits for the local model, at most `loadLimit`.
    private func load() async throws {
        guard let local else { return }
        try await withThrowingTaskGroup(of: Void.self) { [loadLimit] group in
            group.addTask { try await local.load() }
            group.addTask {
                try await Task.sleep(for: loadLimit)
                throw LoadingTookTooLong(limit: loadLimit, status: local.statusMessage)
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func has(_ engine: EngineKind) -> Bool { engine == .local ? local != nil : cloud != nil }

    /// The service of an engine; throws if it is unavailable. The last engine is asked even if unavailable, since its
    /// own error is the most precise.
    private func service(_ engine: EngineKind, isLast: Bool) throws(EngineUnavailable) -> any ChatServiceProtocol {
        switch engine {
        case .local:
            guard let local else { throw EngineUnavailable("No model of this device is set up.") }
            guard isLast || local.availability == .available else { throw EngineUnavailable(local.statusMessage) }
            return local
        case .cloud:
            guard let cloud else { throw EngineUnavailable("No cloud service is set up.") }
            return cloud
        }
    }
}

/// No engine of the policy answered.
public struct NoEngineAnswered: LocalizedError {
    /// The engines in the order in which they were tried.
    public let passedOver: [PassedOver]
    /// Error of the last engine tried.
    public let lastError: any Error

    public var errorDescription: String? {
        let reasons = passedOver.map { ($0.engine == .local ? "On this device: " : "In the cloud: ") + $0.reason }
        return (["No engine answered."] + reasons).joined(separator: " ")
    }
}

/// The local model did not load in time. The message did not leave the device.
public struct LoadingTookTooLong: LocalizedError {
    /// The time that the engine waited.
    public let limit: Duration
    /// Loading progress, as text.
    public let status: String

    public var errorDescription: String? {
        "The local model did not load within \(limit.formatted(.units(allowed: [.minutes, .seconds, .milliseconds], width: .wide))). \(status)"
    }
    public var recoverySuggestion: String? { "The message was not sent. Try again in a moment." }
}

/// Why an engine is not tried.
private struct EngineUnavailable: LocalizedError {
    let errorDescription: String?
    init(_ reason: String) { errorDescription = reason }
}

private func reason(_ error: any Error) -> String {
    guard let error = error as? any LocalizedError, let description = error.errorDescription else { return "\(error)" }
    return [description, error.failureReason].compactMap(\.self).joined(separator: " ")
}

extension FallbackPolicy {
    /// The engines that may be asked, in that order.
    public var engines: [EngineKind] {
        switch self {
        case .localFirst: [.local, .cloud]
        case .cloudFirst: [.cloud, .local]
        case .localOnly: [.local]
        case .cloudOnly: [.cloud]
        }
    }
}

extension AnswerEvent {
    fileprivate init(_ piece: AnswerPiece) {
        self =
            switch piece {
            case .thought(let text): .thought(text)
            case .text(let text): .text(text)
            case .toolCalls(let count): .toolCalls(count)
            case .usage(let usage): .finished(usage)
            }
    }
}
