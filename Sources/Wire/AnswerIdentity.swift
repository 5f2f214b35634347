/// Fields that all chunks of one answer share.
public struct AnswerIdentity: Sendable {
    /// Unique id, with a prefix for the kind of answer.
    public var id: String
    /// Unix seconds.
    public var created: Int
    public var model: String
    /// Identifies model and build: if it changes, the same seed may give another text.
    public var systemFingerprint: String

    public init(id: String, created: Int, model: String, systemFingerprint: String) {
        self.id = id
        self.created = created
        self.model = model
        self.systemFingerprint = systemFingerprint
    }
}
