/// Fields that all chunks of one answer share.
package struct AnswerIdentity: Sendable {
    /// Unique id, with a prefix for the kind of answer.
    package var id: String
    /// Unix seconds.
    package var created: Int
    package var model: String
    /// Identifies model and build: if it changes, the same seed may give another text.
    package var systemFingerprint: String

    package init(id: String, created: Int, model: String, systemFingerprint: String) {
        self.id = id
        self.created = created
        self.model = model
        self.systemFingerprint = systemFingerprint
    }
}
