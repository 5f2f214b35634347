public import Foundation
public import LocalLLM
public import Observation
import Synchronization

/// Apple's larger model, which runs on Apple's servers. They answer only devices of Apple's, so this model is
/// unavailable, unless the app names a server that stands for it (`server`).
public final class PrivateCloudComputeLanguageModel: Observable, Sendable {
    /// A service that answers for Private Cloud Compute.
    public struct Server: Sendable {
        let provider: any Provider
        let contextSize: Int
        let languages: Set<Locale.Language>

        /// - Parameters:
        ///   - contextSize: Tokens that the service's model holds.
        ///   - languages: Languages of the service's model; empty: any.
        public init(_ provider: any Provider, contextSize: Int = 32768, languages: Set<Locale.Language> = []) {
            (self.provider, self.contextSize, self.languages) = (provider, contextSize, languages)
        }
    }

    /// The server that answers for all models of this type; `nil`: they are unavailable.
    public static var server: Server? {
        get { named.value }
        set { named.update { $0 = newValue } }
    }

    private static let named = Observed<Server?>(nil)

    /// The model of `server`; all values of this type are the same one.
    public init() {}

    /// Whether a server is named. Observable; says nothing of whether the server can be reached.
    public var availability: Availability { Self.server == nil ? .unavailable(.deviceNotEligible) : .available }
    /// Whether `availability` is `.available`.
    public var isAvailable: Bool { availability == .available }

    /// The server's quota is not known here: a request that exceeds it throws `LanguageModelError.rateLimited`.
    public var quotaUsage: QuotaUsage {
        QuotaUsage(status: .belowLimit(.init(isApproachingLimit: false)), limitIncreaseSuggestion: nil, resetDate: nil)
    }

    /// Tokens that the server's model holds.
    ///
    /// - Throws: `Error.serviceUnavailable` if there is none.
    public var contextSize: Int { get async throws { try Self.needServer().contextSize } }

    /// The languages that the app named for the server; empty without a server, and if it named none.
    public var supportedLanguages: Set<Locale.Language> { Self.server?.languages ?? [] }

    /// Whether the server's languages include the locale's; regions are not compared. Without a list every locale is
    /// supported.
    public func supportsLocale(_ locale: Locale = .current) -> Bool {
        guard let server = Self.server else { return false }
        return server.languages.isEmpty
            || server.languages.contains { $0.languageCode == locale.language.languageCode }
    }

    fileprivate static func needServer() throws -> Server {
        guard let server else {
            throw Error.serviceUnavailable(
                .init(
                    debugDescription: "Private Cloud Compute answers only devices of Apple's. Set "
                        + "PrivateCloudComputeLanguageModel.server to a service that stands for it."))
        }
        return server
    }
}

extension PrivateCloudComputeLanguageModel {
    /// Whether the model can be asked.
    public enum Availability: Equatable, Sendable {
        /// A server is named.
        case available
        /// Requests throw `Error.serviceUnavailable`.
        case unavailable(UnavailableReason)

        /// Why it cannot be asked.
        public enum UnavailableReason: Hashable, Sendable {
            /// No server is named.
            case deviceNotEligible
            /// Never the reason here.
            case systemNotReady
        }
    }

    /// How much of the quota is used.
    public struct QuotaUsage: Sendable {
        /// Whether requests are accepted. Always below the limit here.
        public var status: Status
        /// Where the user can raise the limit; always `nil` here.
        public var limitIncreaseSuggestion: LimitIncreaseSuggestion?
        /// When the quota is renewed; always `nil` here.
        public var resetDate: Date?

        /// Whether `status` is `.limitReached`.
        public var isLimitReached: Bool { if case .limitReached = status { true } else { false } }

        /// Where the use stands to the limit.
        public enum Status: Sendable {
            /// Requests are accepted.
            case belowLimit(BelowLimit)
            /// Requests are refused until the quota is renewed.
            case limitReached(LimitReached)

            /// Requests are accepted.
            public struct BelowLimit: Sendable {
                /// Whether little of the quota is left; always false here.
                public var isApproachingLimit: Bool
            }

            /// Requests are refused.
            public struct LimitReached: Sendable {}
        }

        /// Where a user can raise the limit. A server that stands for Private Cloud Compute has none.
        public struct LimitIncreaseSuggestion: Sendable {
            private let open: @Sendable () -> Void
            init(open: @escaping @Sendable () -> Void) { self.open = open }
            /// Opens the place where the limit can be raised.
            public func show() { open() }
        }
    }

    /// Errors of the service; `localizedDescription` says what to do.
    public enum Error: LocalizedError {
        /// The server could not be reached.
        case networkFailure(NetworkFailure)
        /// The server's quota is used up.
        case quotaLimitReached(QuotaLimitReached)
        /// No server is named, or it failed.
        case serviceUnavailable(ServiceUnavailable)

        /// The service could not be reached.
        public struct NetworkFailure: Sendable {
            public var debugDescription: String
            /// For tests of an app's handling of the error.
            public init(debugDescription: String) { self.debugDescription = debugDescription }
        }

        /// The service refuses more requests for now.
        public struct QuotaLimitReached: Sendable {
            /// Where the user can raise the limit; `nil` if there is no such place.
            public var limitIncreaseSuggestion: QuotaUsage.LimitIncreaseSuggestion?
            /// When the quota is renewed; `nil` if the server does not tell.
            public var resetDate: Date?
            public var debugDescription: String

            /// For tests of an app's handling of the error.
            public init(
                limitIncreaseSuggestion: QuotaUsage.LimitIncreaseSuggestion? = nil, resetDate: Date? = nil,
                debugDescription: String
            ) {
                self.limitIncreaseSuggestion = limitIncreaseSuggestion
                self.resetDate = resetDate
                self.debugDescription = debugDescription
            }
        }

        /// The service failed, or there is none.
        public struct ServiceUnavailable: Sendable {
            public var debugDescription: String
            /// For tests of an app's handling of the error.
            public init(debugDescription: String) { self.debugDescription = debugDescription }
        }

        public var errorDescription: String? {
            switch self {
            case .networkFailure: "The server does not answer."
            case .quotaLimitReached: "The quota of requests is used up."
            case .serviceUnavailable: "Private Cloud Compute is not available."
            }
        }

        public var failureReason: String? { debugDescription }
    }
}

extension PrivateCloudComputeLanguageModel.Error: CustomDebugStringConvertible {
    public var debugDescription: String {
        switch self {
        case .networkFailure(let details): details.debugDescription
        case .quotaLimitReached(let details): details.debugDescription
        case .serviceUnavailable(let details): details.debugDescription
        }
    }
}

extension PrivateCloudComputeLanguageModel: LanguageModel {
    public var capabilities: LanguageModelCapabilities {
        .init([.guidedGeneration, .reasoning, .toolCalling, .vision])
    }

    public var executorConfiguration: Executor.Configuration { .init() }

    /// Asks the service that stands for Apple's.
    public struct Executor: LanguageModelExecutor {
        /// All models of this type are the same.
        public struct Configuration: Hashable, Sendable {}

        public init(configuration: Configuration) {}

        public func prewarm(model: PrivateCloudComputeLanguageModel, transcript: Transcript) {}

        /// - Throws: `Error.serviceUnavailable` if no server is named; its errors.
        public func respond(
            to request: LanguageModelExecutorGenerationRequest, model: PrivateCloudComputeLanguageModel,
            streamingInto channel: LanguageModelExecutorGenerationChannel
        ) async throws {
            let server = try PrivateCloudComputeLanguageModel.needServer()
            try await ProviderExecution(provider: server.provider).respond(to: request, into: channel)
        }
    }
}
