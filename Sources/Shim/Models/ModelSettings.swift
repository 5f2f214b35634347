import LocalLLM

/// How a model is loaded and kept.
struct ModelSettings: Sendable {
    var configuration = LocalModel.Configuration()
    /// Whether the model, once loaded, stays in memory until the server ends.
    var isPinned = false
}
