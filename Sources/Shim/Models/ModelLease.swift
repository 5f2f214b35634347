/// The right to use a loaded model, which stays in memory until the lease is released.
///
/// Keep it until the last piece of the answer is sent, with `withExtendedLifetime` if nothing else refers to it.
package final class ModelLease: Sendable {
    /// The model's id in responses.
    let id: String
    package let model: any LanguageModel
    /// Scales of adapters for a request that sets none, since it named an adapter as its model; `nil`: the model's own.
    let adapterScales: [Int: Double]?
    private let end: @Sendable () -> Void

    init(
        id: String, model: any LanguageModel, adapterScales: [Int: Double]? = nil, end: @escaping @Sendable () -> Void
    ) {
        self.id = id
        self.model = model
        self.adapterScales = adapterScales
        self.end = end
    }

    deinit { end() }
}
