import LocalLLM

/// What the routes need of a language model; tests put a scripted one in its place.
protocol ChatEngine: Sendable {
    var info: LanguageModel.Info { get }
    var contextSize: Int { get }
    var threads: Int { get }
    var kernels: String { get }
    var tier: KernelTier { get }

    func generate(_ messages: [ChatMessage], options: GenerationOptions) -> Generation
}

extension LanguageModel: ChatEngine {}
