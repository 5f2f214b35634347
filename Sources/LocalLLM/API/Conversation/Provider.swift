/// What answers conversations: a model of this machine, or a service.
///
/// A session takes any provider. Providers of services are in the module Client; an app's own provider can hand requests
/// on to others.
public protocol Provider: Sendable {
    /// Begins to answer. A service's error before its first output is thrown here.
    ///
    /// - Parameter guardrail: Reviews the user's messages and holds back the text of the answer until it has passed.
    /// - Throws: `GuardrailViolation`; the provider's own errors.
    func begin(_ request: ConversationRequest, guardrail: (any Guardrail)?) async throws -> Conversation
}

/// A part of a request that a service's API cannot express, and that decides what the answer is.
package struct NotSentError: Error, CustomStringConvertible {
    /// The part, as the field of a request is called.
    package let field: String
    package let reason: String
    package var description: String { "\(field): \(reason)" }

    package init(_ field: String, _ reason: String) { (self.field, self.reason) = (field, reason) }
}

/// Providers in order of preference: each is asked if those before it have failed before their first output.
///
/// A refusal by the guardrail is final.
public struct FallbackProvider: Provider {
    private let providers: [any Provider]

    /// The preferred provider first.
    public init(_ first: any Provider, _ others: any Provider...) { providers = [first] + others }

    /// - Throws: The error of the last provider that was asked.
    public func begin(
        _ request: ConversationRequest, guardrail: (any Guardrail)?
    ) async throws -> Conversation {
        try await firstAnswer(of: providers) { provider in
            let answer = try await provider.begin(request, guardrail: guardrail)
            // A model of this machine may refuse a prompt as late as its first step.
            return try await Conversation(answer.options, count: answer.count, warnings: answer.warnings) { send in
                answer.given.forEach(send)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for stream in answer.streams {
                        group.addTask { for try await delta in stream { send(delta) } }
                    }
                    try await group.waitForAll()
                }
            }
        } goesOn: { _, error in
            !(error is GuardrailViolation)
        }
    }
}

/// Asks engines in order until one answers.
///
/// - Parameters:
///   - engines: At least one.
///   - ask: Throws if the engine does not answer. Output that has reached a reader cannot be taken back.
///   - goesOn: Whether the next engine may be asked after this one's error. Called for the last one, too; may throw
///     another error instead.
/// - Throws: The error after which no further engine is asked; `CancellationError`.
package func firstAnswer<Engine, Answer>(
    of engines: some Sequence<Engine>, _ ask: (Engine) async throws -> Answer,
    goesOn: (Engine, any Error) throws -> Bool
) async throws -> Answer {
    var last: any Error = CancellationError()
    for engine in engines {
        do {
            return try await ask(engine)
        } catch {
            try Task.checkCancellation()
            guard try goesOn(engine, error) else { throw error }
            last = error
        }
    }
    throw last
}

/// An error of a provider that tells what would help.
package protocol ProviderError: Error {
    var problem: ProviderProblem { get }
}

package enum ProviderProblem: Sendable {
    /// A shorter conversation would have been answered.
    case conversationTooLong
    /// The request may be answered later.
    case tooManyRequests
    case tooSlow
    case other
}
