/// The right to use a loaded model, which stays in memory until the lease is released.
///
/// Keep it until the last piece of the answer is sent, with `withExtendedLifetime` if nothing else refers to it.
final class ModelLease: Sendable {
    /// The model's id in responses.
    let id: String
    let model: any LanguageModel
    private let end: @Sendable () -> Void

    init(id: String, model: any LanguageModel, end: @escaping @Sendable () -> Void) {
        self.id = id
        self.model = model
        self.end = end
    }

    deinit { end() }
}
