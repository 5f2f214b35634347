import LocalLLM

extension FairExecutor {
    /// For requests with large bodies. Its threads have lower priority than those that generate and respond.
    static let large = FairExecutor(name: "large requests", niceness: 10, returnsMemory: true)
    /// For rendering the prompts of all other requests.
    static let prompts = FairExecutor(name: "prompts", niceness: 0)

    /// Larger bodies count as large; smaller ones take a few milliseconds to decode.
    static let largeBytes = 1 << 16
}
