import Foundation

extension SystemLanguageModel {
    /// What keeps the model from answering, with the numbers.
    public enum Status: Sendable, Equatable {
        /// It answers; if it is not in memory yet, it is loaded first.
        case available
        /// `isEnabled` is false.
        case disabled
        case insufficientMemory(MemoryEstimate)
        /// There is no file. The text says where one was looked for.
        case missing(String)
        case downloading(Download)
        /// 0...1
        case loading(Double)
        /// The file cannot be used. The text says why, and what was found where.
        case failed(String)

        /// A file that is there in part.
        public struct Download: Sendable, Equatable {
            public var bytes: Int
            /// Of the whole file; `nil` before the beginning has come, which says how long that is.
            public var totalBytes: Int?

            public var fraction: Double? { totalBytes.map { min(1, Double(bytes) / Double(max(1, $0))) } }
        }
    }
}

extension SystemLanguageModel.Status {
    public var availability: SystemLanguageModel.Availability {
        switch self {
        // Whoever asks it is answered, once it is in memory.
        case .available, .loading: .available
        case .disabled: .unavailable(.appleIntelligenceNotEnabled)
        case .insufficientMemory: .unavailable(.deviceNotEligible)
        case .missing, .downloading, .failed: .unavailable(.modelNotReady)
        }
    }

    /// For a user, with the details.
    public var statusMessage: String {
        switch self {
        case .available, .disabled: availability.statusMessage
        case .insufficientMemory(let estimate):
            "\(availability.statusMessage) It needs \(estimate)."
        case .missing(let place): "There is no language model yet. \(place)"
        case .downloading(let download):
            "The language model is being downloaded: "
                + (download.fraction.map { "\(Int($0 * 100)) %." } ?? "\(download.bytes / 1_000_000) MB have come.")
        case .loading(let fraction): "The language model is loading: \(Int(fraction * 100)) %."
        case .failed(let reason): "The language model cannot be used. \(reason)"
        }
    }

    /// The name of a symbol (SF Symbols) for a user interface.
    public var iconName: String {
        switch self {
        case .available, .disabled, .insufficientMemory: availability.iconName
        case .loading: SystemLanguageModel.Availability.unavailable(.modelNotReady).iconName
        case .missing: "questionmark.folder"
        case .downloading: "arrow.down.circle"
        case .failed: "exclamationmark.triangle"
        }
    }
}
