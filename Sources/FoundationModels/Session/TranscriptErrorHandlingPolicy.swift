/// What happens to a session's transcript when a request fails or is cancelled.
public struct TranscriptErrorHandlingPolicy: Sendable, Equatable {
    private let keepsTranscript: Bool

    /// The transcript becomes what it was before the request. The default.
    public static let revertTranscript = Self(keepsTranscript: false)
    /// The transcript stays as it is; its last entry may be a part of a response.
    public static let preserveTranscript = Self(keepsTranscript: true)
}
