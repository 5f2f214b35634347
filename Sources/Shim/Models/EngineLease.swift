/// The right to use a model's engine. The model stays in memory until the lease is released.
///
/// Keep it until the last piece of the answer is sent, with `withExtendedLifetime` if nothing else refers to it.
final class EngineLease: Sendable {
    /// The model's id in responses.
    let model: String
    let engine: any ChatEngine
    private let end: @Sendable () -> Void

    init(model: String, engine: any ChatEngine, end: @escaping @Sendable () -> Void) {
        self.model = model
        self.engine = engine
        self.end = end
    }

    deinit { end() }
}
