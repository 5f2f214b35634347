extension SystemLanguageModel {
    /// Whether the model can answer, with FoundationModels' cases; `Status` gives the details.
    public enum Availability: Sendable, Equatable {
        /// Requests are answered; the first may wait until the model is loaded.
        case available
        /// Requests throw `SystemLanguageModel.Error.assetsUnavailable`.
        case unavailable(UnavailableReason)

        /// Why the model cannot answer.
        public enum UnavailableReason: Sendable, Equatable, CaseIterable {
            /// There is not enough memory for the model.
            case deviceNotEligible
            /// The model is switched off, by the user or by configuration.
            case appleIntelligenceNotEnabled
            /// The model is missing, is being downloaded, or cannot be used as it is.
            case modelNotReady
        }
    }
}

extension SystemLanguageModel.Availability {
    /// One sentence to show to a user.
    public var statusMessage: String {
        switch self {
        case .available: "The language model is ready."
        case .unavailable(let reason): reason.statusMessage
        }
    }

    /// The name of a symbol (SF Symbols) for a user interface.
    public var iconName: String {
        switch self {
        case .available: "checkmark.circle"
        case .unavailable(let reason): reason.iconName
        }
    }
}

extension SystemLanguageModel.Availability.UnavailableReason {
    /// One sentence to show to a user.
    public var statusMessage: String {
        switch self {
        case .deviceNotEligible: "This device has too little memory for the language model."
        case .appleIntelligenceNotEnabled: "The language model is disabled."
        case .modelNotReady: "The language model is not ready yet."
        }
    }

    /// The name of a symbol (SF Symbols) for a user interface.
    public var iconName: String {
        switch self {
        case .deviceNotEligible: "memorychip"
        case .appleIntelligenceNotEnabled: "power"
        case .modelNotReady: "hourglass"
        }
    }
}
