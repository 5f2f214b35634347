public import Dialects
public import Foundation
import KernelFormats
import Platform
import Synchronization
public import Template
public import Tokenizer

/// A model loaded from a GGUF file, ready to generate.
///
/// One thread runs the model's steps; any number of tasks may call `generate` at once.
public final class LocalModel: Sendable {
    /// A description of the model, from its file.
    public struct Info: Sendable {
        /// `general.name`, or the file's name without its extension.
        public var name: String
        /// The file's `general.architecture`, e.g. `qwen2`; it decides which network is built.
        public var architecture: String
        /// The quantization that the file declares, e.g. `Q4_K_M`, or else the type of most of its bytes.
        public var quantization: String
        /// Bytes of the tensors of each type, most first.
        package var tensorBytes: [(type: String, bytes: Int)] = []
        /// Elements of all tensors of the file.
        public var parameterCount: Int
        /// Bytes of all parts of the file.
        public var fileBytes: Int
        /// Tokens that the model knows; the length of its logits.
        public var vocabularySize: Int
        /// Context length that the model was trained with, in tokens.
        public var trainedContextSize: Int
        /// Whether it generates text or reads whole inputs at once.
        public var kind = ModelKind.decoder
        /// Length of an embedding vector.
        public var embeddingSize = 0
        /// How the states of an input are pooled into its embedding; `nil` if the file does not say.
        public var pooling: Pooling?
        /// Whether the model scores the relevance of a document to a query.
        public var isReranker = false
        /// What the scores of the model's classifier stand for; empty if there is none, or the file does not say.
        package var labels: [String] = []
        /// Whether these scores are probabilities that sum to 1.
        package var scoresAreProbabilities = false
        /// Whether the file has a chat template.
        public var hasChatTemplate = false
        /// `general.license`, e.g. `apache-2.0`.
        public var license: String?
        package var costs = Costs()
    }

    /// What inference costs, to compare a measured speed with the machine's limits.
    package struct Costs: Sendable, Equatable {
        /// Bytes of weights that a step reads, regardless of its number of rows.
        package var bytesOfStep = 0
        /// Parameters that each prompt token is multiplied by, without the output matrix (one row per prompt).
        package var parametersOfPromptToken = 0
        /// Bytes of keys and values per token, which each later token of the sequence reads.
        package var cacheBytesOfToken = 0
        /// Bytes of keys and values per token in layers with a window, by window; read while the token is in it.
        package var cacheBytesOfWindow: [Int: Int] = [:]
        /// Bytes of a sequence's recurrent states, which each of its tokens reads.
        package var recurrentBytes = 0

        /// Bytes of keys, values and recurrent states that a token reads after `context` others.
        package func stateBytes(context: Double) -> Double {
            cacheBytesOfWindow.reduce(context * Double(cacheBytesOfToken) + Double(recurrentBytes)) {
                $0 + min(context, Double($1.key)) * Double($1.value)
            }
        }

        package init() {}
    }

    /// Generations that run at once; further ones wait.
    public static let maximumRunning = ModelThread.concurrency

    /// What the file says of itself.
    public let info: Info
    /// Maximum tokens of a request, prompt and answer together.
    public let contextSize: Int
    /// Threads that compute a step.
    public let threads: Int
    /// The network that drafts tokens, as text for a log; `nil`: none does.
    public let drafter: String?
    /// The kernels chosen for this processor, as one line for a log.
    public let kernels: String
    /// The instruction set of the kernels.
    package let tier: KernelTier
    /// Format of keys and values in the KV cache.
    public let cacheFormat: KVCacheFormat
    let format: TextFormat
    let head: PoolingHead
    private let decoderStart: Int32?
    private let defaults: Sampler.Chain
    let thread: ModelThread
    let loadedAdapters: [LoRAAdapter]
    /// Adapter scales for requests without `adapterScales`.
    let adapterScales: Mutex<[Float]>
    /// `nil`: the model does not accept images.
    let imageReader: ImageReader?
    /// `nil`: slots are not saved.
    let slotFiles: SlotFiles?

    /// Loads a model.
    ///
    /// - Parameter progress: Called with 0...1 from a background thread. Cancel the task to stop loading.
    /// - Throws: `ModelFileError`, `LocalModelError.invalidOption`, `LocalModelError.insufficientMemory`, or
    ///   `CancellationError`.
    public static func load(
        from url: URL, configuration: Configuration = .init(), progress: @escaping @Sendable (Double) -> Void = { _ in }
    ) async throws -> LocalModel {
        // Reading a file blocks: keep it off the cooperative thread pool.
        let loading = Loading(configuration, progress: progress)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                Thread.detachNewThread {
                    continuation.resume(with: Result { try load(from: url, configuration, with: loading) })
                }
            }
        } onCancel: {
            loading.cancel()
        }
    }

    private static func load(
        from url: URL, _ configuration: Configuration, with loading: Loading
    ) throws -> LocalModel {
        let file = try GGUFFile(path: url.path, configuration)
        let format = try TextFormat(file)
        let loaded = try loading.run(file)
        do {
            return try LocalModel(loaded, format, configuration, url: url)
        } catch {
            loaded.compute.pool.stop()
            throw error
        }
    }

    private init(_ loaded: LoadedNetwork, _ format: TextFormat, _ configuration: Configuration, url: URL) throws {
        let (file, network, compute) = (loaded.file, loaded.network, loaded.compute)
        decoderStart = network.decoderStart
        imageReader = loaded.imageReader
        head = try PoolingHead(file, isCausal: network.kind == .decoder)
        info = try Info(file, network, head, fallbackName: url.modelName)
        loadedAdapters = try Self.load(configuration.adapters, for: file, network.kind)
        adapterScales = Mutex(configuration.adapters.map { Float($0.scale) })
        let shape = network.stateShape
        let mappedBytes = loaded.mappedBytes
        let spareBytes = { @Sendable in (SystemMemory.available() - mappedBytes) / 2 }
        let cacheBytes = configuration.cacheTokens.map { shape.bytes(tokens: $0) } ?? max(0, spareBytes())
        contextSize =
            configuration.contextSize
            ?? min(network.trainedContext, max(pageTokens, shape.tokens(in: cacheBytes, limit: network.trainedContext)))
        if let limit = network.longestContext, contextSize > limit {
            throw LocalModelError.invalidOption(
                "contextSize: the model has positions for \(limit) tokens only, found \(contextSize)")
        }
        threads = compute.pool.count
        kernels = loaded.kernels
        tier = compute.kernels.tier
        cacheFormat = network.stateShape.format
        drafter =
            try loaded.draftFile.map {
                try $0.metadata.displayTextIfPresent("general.name") ?? configuration.draftModel?.modelName ?? ""
            } ?? loaded.drafter.map { _ in "multi-token prediction" }
        self.format = format
        markup = format.markup()
        constraints = ConstraintStore(own: markup.markerTokens)
        defaults = try Sampler.Chain(recommendedBy: file).overridden(by: configuration.sampling)
        let keys = PromptKeys(loaded, configuration, adapters: loadedAdapters)
        let files = keys.flatMap { [name = info.name] in PromptFiles($0, configuration, name: name) }
        slotFiles = keys.flatMap { keys in configuration.slotDirectory.map { SlotFiles(directory: $0, keys: keys) } }
        thread = ModelThread(
            network: network, compute: compute, tokenizer: try? format.tokenizer.get(), drafter: loaded.drafter,
            cacheBytes: cacheBytes, spareBytes: spareBytes, queueLimit: configuration.queueLimit, name: info.name,
            store: files.map { ($0.store, { keys?.key($0, salt: $1) }) },
            checkIntact: { [draftFile = loaded.draftFile] () throws(ModelFileError) in
                try file.checkIntact()
                try draftFile?.checkIntact()
            })
    }

    deinit { thread.stop() }

    /// The current load.
    public var activity: ModelActivity {
        var activity = thread.activity
        activity.constraintBytes = constraints.bytes
        return activity
    }

    /// - Throws: `noTokenizer` with the reason, if the file has no usable tokenizer.
    public var tokenizer: TextTokenizer {
        get throws(LocalModelError) { try format.tokenizer.get() }
    }

    /// Answers a conversation, using the model's chat template.
    ///
    /// Errors are thrown when iterating the result: `LocalModelError`; `ImageFileError` for an image that cannot be
    /// decoded.
    public func generate(_ messages: [ChatMessage], options: SamplingOptions = .init()) -> Generation {
        var request = ConversationRequest(.messages(messages))
        request.sampling = options
        guard messages.contains(where: { $0.images?.isEmpty == false }) else {
            return Generation.catching { () throws(LocalModelError) in
                try submit(try prompt(for: request, images: []).prompt, options, nil)
            }
        }
        return Generation.awaiting { [self, request] in try submit(try await prompt(for: request).prompt, options, nil)
        }
    }

    /// Continues a sequence of tokens.
    ///
    /// Errors are thrown when iterating the result: `LocalModelError`.
    public func generate(tokens: [Int32], options: SamplingOptions = .init()) -> Generation {
        generate(tokens: tokens, options: options, group: nil)
    }

    /// - Parameter group: Group for fair sharing of the machine; `nil`: the request is a group of its own.
    package func generate(tokens: [Int32], options: SamplingOptions, group: GenerationGroup?) -> Generation {
        Generation.catching { () throws(LocalModelError) in try submit(ModelPrompt(tokens: tokens), options, group) }
    }

    let constraints: ConstraintStore
    /// How answers to prompts of the model's own template are written.
    package let markup: ChatMarkup
    let markups = MarkupCache()
    /// The markup in which the model writes reasoning and tool calls.
    public var dialect: Dialect { markup.dialect }

    /// Renders a conversation with the chat template.
    ///
    /// - Parameters:
    ///   - variables: Additional template variables, such as `enable_thinking`.
    ///   - ending: How the text ends.
    ///   - template: Replaces the model's own template.
    public func render(
        _ messages: [ChatMessage], variables: TemplateObject = [:], ending: PromptEnding = .answer,
        template: ChatTemplate? = nil
    ) throws(LocalModelError) -> String {
        try format.render(messages, variables, markup(of: template).dialect.history, ending, template)
    }

    /// A rendered conversation as tokens: special tokens where the template wrote them, preceded by the
    /// beginning-of-sequence token if the model needs one and the template left it out.
    ///
    /// Special tokens in message texts are parsed too, so a message can forge turns in any role. `generate` with
    /// messages prevents this by quoting them.
    public func tokens(of rendered: String) throws(LocalModelError) -> [Int32] {
        try format.tokens(of: rendered, isQuoted: false)
    }

    /// A rendered conversation as tokens, for messages that are `quoted(for:)` the model's tokenizer: their texts are
    /// never parsed as control tokens.
    package func tokens(ofQuoted rendered: String) throws(LocalModelError) -> [Int32] {
        try format.tokens(of: rendered, isQuoted: true)
    }

    /// The logits at every position of `tokens`, in steps of `chunk` tokens: `[tokens, vocabulary]`, row-major. Steps
    /// of one token are computed as in decoding, others as in prefill.
    ///
    /// - Parameter input: Input of the encoder in an encoder-decoder model; `tokens` are then the decoder's, its start
    ///   token included.
    public func logits(of tokens: [Int32], encoding input: [Int32]? = nil, chunk: Int = 512) async throws -> [Float] {
        try check(tokens)
        try checkGenerates()
        if let input { try check(input) }
        guard (input != nil) == (info.kind == .encoderDecoder) else {
            throw LocalModelError.wrongKind(
                "The model '\(info.name)' (\(info.architecture)) is \(input == nil ? "an" : "no") encoder-decoder: "
                    + "its encoder \(input == nil ? "needs tokens to read" : "cannot be given any").")
        }
        guard chunk > 0 else { throw LocalModelError.invalidOption("chunk: expected at least 1, found \(chunk)") }
        let adapters = try selection(nil, prompt: tokens)
        return try await thread.perform { network, compute in
            let state = network.makeState(encoding: input.map { SequenceEncoding($0) })
            var result: [Float] = []
            result.reserveCapacity(tokens.count * network.vocabularySize)
            for start in stride(from: 0, to: tokens.count, by: chunk) {
                var step = Step()
                step.append(
                    tokens[start..<min(start + chunk, tokens.count)], to: state, output: .all, isAnswer: chunk == 1,
                    adapters: adapters)
                let logits = network.forward(step, on: compute)
                result.append(contentsOf: UnsafeBufferPointer(start: logits.base, count: logits.rows * logits.columns))
            }
            return result
        }
    }

    /// The options with temperature, filters and repetition penalty resolved: the model's recommendations, or defaults.
    public func settled(_ options: SamplingOptions) -> SamplingOptions {
        let chain = defaults.overridden(by: options)
        var options = options
        (options.temperature, options.topK, options.topP) = (chain.temperature, chain.topK, chain.topP)
        (options.minP, options.typicalP) = (chain.minP, chain.typicalP)
        options.repetitionPenalty = chain.repetitionPenalty
        return options
    }

    func submit(
        _ prompt: ModelPrompt, _ options: SamplingOptions, _ group: GenerationGroup?, finalState: FinalState? = nil
    ) throws(LocalModelError) -> Generation {
        try check(prompt)
        try checkGenerates()
        let tokens = prompt.tokens
        try options.validate(vocabularySize: info.vocabularySize)
        try check(options.constraint)
        guard tokens.count < contextSize else {
            throw .contextSizeExceeded(contextSize: contextSize, tokenCount: tokens.count)
        }
        let room = contextSize - (decoderStart == nil ? tokens.count : 1)
        return thread.submit(
            ModelThread.Request(
                tokens: decoderStart.map { [$0] } ?? tokens, encoding: decoderStart == nil ? nil : tokens,
                media: try sequenceMedia(of: prompt), chain: defaults.overridden(by: options), options: options,
                adapters: try selection(options.adapterScales, prompt: tokens), group: group,
                maximumTokens: min(options.maximumTokens ?? room, room), finalState: finalState,
                slot: slotFiles == nil || finalState != nil ? nil : options.slot ?? 0))
    }

    func checkGenerates() throws(LocalModelError) {
        guard info.kind != .encoder else {
            throw .wrongKind(
                "The model '\(info.name)' (\(info.architecture)) is an encoder: it computes embeddings, and generates no text."
            )
        }
    }

    /// Throws for operations that need prompt and answer in one sequence.
    func checkDecoderOnly() throws(LocalModelError) {
        try checkGenerates()
        guard info.kind == .decoder else {
            throw .wrongKind(
                "The model '\(info.name)' (\(info.architecture)) is an encoder-decoder: its prompts have no logits of their own."
            )
        }
    }

    func check(_ tokens: [Int32]) throws(LocalModelError) {
        guard !tokens.isEmpty else { throw .invalidOption("tokens: expected at least one") }
        if let id = tokens.first(where: { !(0..<Int32(info.vocabularySize)).contains($0) }) {
            throw .invalidOption("tokens: expected ids below \(info.vocabularySize), found \(id)")
        }
    }
}
