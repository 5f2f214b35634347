import Foundation
public import LocalLLM

extension SystemLanguageModel {
    /// Whether the model can answer, and if not, why, with the numbers.
    public enum Status: Sendable, Equatable {
        /// The model can answer; it is loaded first if it is not in memory.
        case available
        /// `isEnabled` is false.
        case disabled
        /// The model would need more memory than is free; the estimate has both numbers, in bytes.
        case insufficientMemory(MemoryEstimate)
        /// There is no model file. The text names the places that were searched.
        case missing(String)
        /// A file `NAME.gguf.part` grows at the place where the model is expected.
        case downloading(Download)
        /// Progress, 0...1.
        case loading(Double)
        /// The file cannot be used. The text says why, with the values found and their location.
        case failed(String)

        /// A download in progress.
        public struct Download: Sendable, Equatable {
            /// Bytes downloaded so far.
            public var bytes: Int
            /// Size of the whole file; `nil` until enough of the header has arrived to compute it.
            public var totalBytes: Int?

            /// Downloaded share of the file, 0...1; `nil` while the total is unknown.
            public var fraction: Double? { totalBytes.map { min(1, Double(bytes) / Double(max(1, $0))) } }
        }
    }
}

extension SystemLanguageModel.Status {
    /// The status in FoundationModels' cases.
    public var availability: SystemLanguageModel.Availability {
        switch self {
        // While it loads, requests wait and are then answered.
        case .available, .loading: .available
        case .disabled: .unavailable(.appleIntelligenceNotEnabled)
        case .insufficientMemory: .unavailable(.deviceNotEligible)
        case .missing, .downloading, .failed: .unavailable(.modelNotReady)
        }
    }

    /// A detailed message for a user.
    public var statusMessage: String {
        switch self {
        case .available, .disabled: availability.statusMessage
        case .insufficientMemory(let estimate):
            "\(availability.statusMessage) It needs \(estimate)."
        case .missing(let place): place
        case .downloading(let download):
            "The language model is being downloaded: "
                + (download.fraction.map { "\(Int($0 * 100)) %." } ?? "\(download.bytes / 1_000_000) MB.")
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
