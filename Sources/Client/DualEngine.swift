public import Foundation
public import LocalLLM

/// The local engine and one in the cloud, behind one toggle.
///
/// The local engine is passed over where its model is not available, or fails before its first word. A model that is being
/// loaded is available: it is waited for, and a message that waits longer than the app allows ends with `LoadingTookTooLong`
/// instead of leaving the device. What a rule forbids, and a failure in mid-answer, end the stream; if no engine begins, it
/// throws `NoEngineAnswered`.
public struct DualEngine: AnswerEngine {
    private let local: (any LocalLLMServiceProtocol)?
    private let cloud: (any ChatServiceProtocol)?
    private let loadLimit: Duration

    /// - Parameters:
    ///   - local: `nil` if the app is set up for none.
    ///   - cloud: `nil` if the app is set up for none.
    ///   - loadLimit: How long a message waits for the local model to be loaded.
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
            let last = policy.engines.last(where: has) ?? policy.engines.last
            for engine in policy.engines {
                var hasBegun = false
                do {
                    let service = try service(engine, isLast: engine == last)
                    if engine == .local { try await load() }
                    for try await piece in ask(service) {
                        if !hasBegun { continuation.yield(.began(engine, passedOver: passedOver)) }
                        hasBegun = true
                        continuation.yield(AnswerEvent(piece))
                    }
                    try Task.checkCancellation()
                    if !hasBegun { continuation.yield(.began(engine, passedOver: passedOver)) }
                    return
                } catch {
                    if hasBegun || error is ContentBlocked || error is LoadingTookTooLong || Task.isCancelled {
                        throw error
                    }
                    passedOver.append(PassedOver(engine: engine, reason: reason(error)))
                    guard engine != last else {
                        throw NoEngineAnswered(passedOver: passedOver, lastError: error)
                    }
                }
            }
        }
    }

    /// Waits for the local model, as long as the app allows.
    private func load() async throws {
        guard let local else { return }
        try await withThrowingTaskGroup { [loadLimit] group in
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

    /// The last engine is asked whatever its state, since there is nobody else: it waits for a model that is being loaded, and
    /// says best itself why it does not answer.
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

/// No engine of the policy has answered.
public struct NoEngineAnswered: LocalizedError {
    /// In the order they were asked.
    public let passedOver: [PassedOver]
    /// Of the engine that was asked last.
    public let lastError: any Error

    public var errorDescription: String? {
        let reasons = passedOver.map { ($0.engine == .local ? "On this device: " : "In the cloud: ") + $0.reason }
        return (["There is no answer."] + reasons).joined(separator: " ")
    }
}

/// The local model was not in memory in time. The message stayed on the device.
public struct LoadingTookTooLong: LocalizedError {
    public let limit: Duration
    /// How far the loading was, in words.
    public let status: String

    public var errorDescription: String? {
        "The model of this device was not loaded within \(limit.formatted(.units(allowed: [.minutes, .seconds, .milliseconds], width: .wide))). \(status)"
    }
    public var recoverySuggestion: String? { "The message was sent nowhere. Send it again in a moment." }
}

/// An engine that need not be asked.
private struct EngineUnavailable: LocalizedError {
    let errorDescription: String?
    init(_ reason: String) { errorDescription = reason }
}

private func reason(_ error: any Error) -> String {
    guard let error = error as? any LocalizedError, let description = error.errorDescription else { return "\(error)" }
    return [description, error.failureReason].compactMap(\.self).joined(separator: " ")
}

extension FallbackPolicy {
    fileprivate var engines: [EngineKind] {
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
            case .usage(let usage): .finished(usage)
            }
    }
}
