package import LocalLLM

/// The language model as the routes use it. Tests replace it by a scripted one.
package protocol LanguageModel: ConversationModel {
    var info: LocalModel.Info { get }
    var threads: Int { get }
    var kernels: String { get }
    var tier: KernelTier { get }
    var activity: ModelActivity { get }
    /// The adapters, with the scales for requests that set none.
    var adapters: [LocalModel.Adapter] { get }
    func setAdapterScales(_ scales: [Int: Double]) throws(LocalModelError)

    func tokens(of rendered: String) throws(LocalModelError) -> [Int32]
    func tokens(ofQuoted rendered: String) throws(LocalModelError) -> [Int32]
    func settled(_ options: SamplingOptions) -> SamplingOptions
    func generate(tokens: [Int32], options: SamplingOptions, group: GenerationGroup?) -> Generation
    func tokenEmbeddings(of input: [Int32]) async throws -> [[Float]]
    func embeddings(of inputs: [[Int32]], options: EmbeddingOptions) async throws -> [[Float]]
    func rerankTokens(query: String, document: String) throws(LocalModelError) -> [Int32]
    func relevance(of pairs: [[Int32]]) async throws -> [Float]
    func decide(
        _ questions: [DecisionQuestion], about messages: [ChatMessage], options: DecisionOptions
    ) async throws -> Decisions
    func saveSlot(_ slot: Int, as name: String) async throws -> SlotTransfer
    func restoreSlot(_ slot: Int, from name: String) async throws -> SlotTransfer
    func eraseSlot(_ slot: Int) async throws -> Int
}

extension LanguageModel {
    var adapters: [LocalModel.Adapter] { [] }

    func setAdapterScales(_ scales: [Int: Double]) throws(LocalModelError) {
        guard scales.isEmpty else { throw .invalidOption("lora: the server has no adapters") }
    }
}

extension LocalModel: LanguageModel {}

/// Defaults for engines whose slots are not saved.
extension LanguageModel {
    func saveSlot(_ slot: Int, as name: String) async throws -> SlotTransfer { throw SlotError.notSupported }
    func restoreSlot(_ slot: Int, from name: String) async throws -> SlotTransfer { throw SlotError.notSupported }
    func eraseSlot(_ slot: Int) async throws -> Int { throw SlotError.notSupported }
}

/// Defaults for engines without image input.
extension LanguageModel {
    func read(_ messages: [ChatMessage], cacheSalt: String?) async throws -> [ModelImage] { [] }

    func prompt(ofQuoted rendered: String, images: [ModelImage]) throws(LocalModelError) -> ModelPrompt {
        ModelPrompt(tokens: try tokens(ofQuoted: rendered))
    }

    func generate(_ prompt: ModelPrompt, options: SamplingOptions, group: GenerationGroup?) -> Generation {
        generate(tokens: prompt.tokens, options: options, group: group)
    }
}
