/// The right to use a model's engine: the model stays in memory for as long as this exists.
///
/// Hold on to it until the last piece has been sent, with `withExtendedLifetime` where nothing else uses it that long.
final class EngineLease: Sendable {
    /// The model's name as clients are told it.
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
