import Constraint
import Dialects
import Foundation
import Synchronization
import Template
import Tokenizer

@testable import Engine
@testable import LocalLLM
@testable import Shim

/// An engine that says what it is told to, and remembers what it was asked. Its tokens are bytes.
final class ScriptedLanguageModel: LanguageModel {
    struct Script: Sendable {
        var texts = ["Hello", ", ", "wörld"]
        /// In place of `texts`, where it depends on the request.
        var speak: (@Sendable ([Int32], SamplingOptions) -> [String])?
        var reason = FinishReason.stop
        /// The tokens of the last piece, which has no text.
        var lastTokens: [Int32] = [ScriptedLanguageModel.endToken]
        var cachedTokens = 0
        /// Tokens that were guessed.
        var drafted = (accepted: 0, rejected: 0)
        /// Before the first piece, and between any two.
        var prefill = Duration.zero
        var pause = Duration.zero
        /// Thrown after the texts, instead of finishing.
        var error: LocalModelError?
        var dialect = Dialect()
        var isReranker = false
        /// Of the classifier, for each input, and what they stand for.
        var scores: [Float] = [1, 3]
        var labels: [String] = []
        var scoresAreProbabilities = false
        /// What the prompt ends with, after the messages.
        var promptEnd = ""
        var allowsManySystemMessages = true
        /// Whether the template refuses system messages, and two messages of a role in a row, as Gemma 2's.
        var wantsAlternation = false
        /// Thrown by each rendering.
        var renderingError: LocalModelError?
        var contextSize = 128
        var isFull = false
    }

    /// What the template was given. No tuple, which Swift 6.0 cannot return from a lock.
    struct Rendering: Sendable {
        let messages: [ChatMessage]
        let variables: TemplateObject
    }

    /// What was to be generated.
    struct Asked: Sendable {
        let tokens: [Int32]
        let options: SamplingOptions
    }

    static let endToken: Int32 = 2

    var info: LocalModel.Info {
        var info = LocalModel.Info(
            name: "Scripted Model", architecture: "llama", quantization: "Q4_K", parameterCount: 1_000_000,
            fileBytes: 500_000, vocabularySize: 259, trainedContextSize: 128, embeddingSize: 4,
            pooling: script.isReranker ? .rank : nil, isReranker: script.isReranker)
        (info.labels, info.scoresAreProbabilities) = (script.labels, script.scoresAreProbabilities)
        return info
    }
    var contextSize: Int { script.contextSize }
    let threads = 2
    var activity: ModelActivity {
        ModelActivity(
            running: 1, waiting: 2, cachedTokens: 96, cacheUse: 0.25, cacheBlocks: 640, isFull: script.isFull)
    }
    let kernels = "scripted"
    let tier = KernelTier.portable
    let tokenizer: TextTokenizer
    private let vocabulary: TokenVocabulary

    let script: Script
    let rendered = Mutex<[Rendering]>([])
    /// Whether rendering and tokenizing ran on an executor of its own, not on the pool that all requests share.
    let ranApart = Mutex<Set<Bool>>([])
    let endings = Mutex<[PromptEnding]>([])
    let asked = Mutex<[Asked]>([])
    let cancellations = Mutex(0)
    /// How many inputs each call for embeddings had.
    let embedded = Mutex<[Int]>([])

    /// - Parameter extraTokens: Control tokens with the ids from 259.
    init(_ script: Script = .init(), extraTokens: [String] = []) {
        self.script = script
        let bytes = (0..<256).map { String(format: "<0x%02X>", $0) }
        var description = TokenizerDescription(
            model: "llama", tokens: (["<unk>", "<s>", "</s>"] + bytes + extraTokens).map { Array($0.utf8) })
        description.types = [2, 3, 3] + bytes.map { _ in 6 } + extraTokens.map { _ in 3 }
        description.scores = description.types?.map { _ in 0 }
        description.endOfSequence = Self.endToken
        description.addBeginningOfSequence = false
        description.addSpacePrefix = false
        tokenizer = try! TextTokenizer(description)
        vocabulary = TokenVocabulary(tokenizer)
    }

    static func tokens(_ text: String) -> [Int32] { text.utf8.map { Int32($0) + 3 } }

    var toolTemplate: ChatTemplate? { nil }

    func vocabulary(in markup: ChatMarkup) -> TokenVocabulary { vocabulary }

    func markup(of template: ChatTemplate?) -> ChatMarkup {
        ChatMarkup(template.map { Dialect(template: $0) } ?? script.dialect)
    }

    func render(
        _ messages: [ChatMessage], variables: TemplateObject, ending: PromptEnding, template: ChatTemplate?
    ) throws(LocalModelError) -> String {
        endings.withLock { $0.append(ending) }
        noteExecutor()
        if let error = script.renderingError { throw error }
        if let template { return (try? template.render(variables)) ?? "?" }
        rendered.withLock { $0.append(Rendering(messages: messages, variables: variables)) }
        if !script.allowsManySystemMessages, messages.dropFirst().contains(where: { $0.role == .system }) {
            throw .templateFailed("System message must be at the beginning.")
        }
        let roles = messages.map(\.role)
        if script.wantsAlternation, roles.contains(.system) || zip(roles, roles.dropFirst()).contains(where: ==) {
            throw .templateFailed("Conversation roles must alternate.")
        }
        return messages.map { "\($0.role.rawValue): \($0.content)\n" }.joined() + script.promptEnd
    }

    func tokens(of rendered: String) throws(LocalModelError) -> [Int32] {
        tokenizer.encode(rendered, addSpecial: false, parseSpecial: true)
    }

    func tokens(ofQuoted rendered: String) throws(LocalModelError) -> [Int32] { tokenizer.encode(quoted: rendered) }

    /// The likeliest token after any other is the next one in order.
    private func logprob(of token: Int32, top: Int) -> TokenLogprob {
        var logits = [Float](repeating: 0, count: info.vocabularySize)
        logits[Int(token)] = 2
        logits[(Int(token) + 1) % logits.count] = 3
        return logits.withUnsafeBufferPointer { TokenLogprob(of: token, in: $0, top: top) }
    }

    func logprobs(of tokens: [Int32], top: Int) async throws -> [TokenLogprob] {
        tokens.dropFirst().map { logprob(of: $0, top: top) }
    }

    /// Length 1, and as many dimensions as there are bytes in 256 bits: the text's length and its sum.
    func tokenEmbeddings(of input: [Int32]) async throws -> [[Float]] { input.map { [Float($0), 0, 3, 4] } }

    func embeddings(of inputs: [[Int32]], options: EmbeddingOptions) async throws -> [[Float]] {
        embedded.withLock { $0.append(inputs.count) }
        return inputs.map { tokens in
            // A classifier has raw scores.
            if options.pooling == .rank { return script.scores }
            let vector = [3, 4, Float(tokens.count), options.pooling == .last ? 1 : 0]
                .prefix(options.dimensions ?? 4)
            let length = vector.reduce(0) { $0 + $1 * $1 }.squareRoot()
            return options.normalizes ? vector.map { $0 / length } : Array(vector)
        }
    }

    private func noteExecutor() {
        let isApart = withUnsafeCurrentTask { $0?.unownedTaskExecutor != nil }
        _ = ranApart.withLock { $0.insert(isApart) }
    }

    func rerankTokens(query: String, document: String) throws(LocalModelError) -> [Int32] {
        noteExecutor()
        return tokenizer.encode(query + "|" + document, addSpecial: false, parseSpecial: false)
    }

    /// The shorter, the more relevant.
    func relevance(of pairs: [[Int32]]) async throws -> [Float] { pairs.map { 1 / Float($0.count) } }

    /// The longer an option, the more likely. A question about a secret is refused.
    func decide(
        _ questions: [DecisionQuestion], about messages: [ChatMessage], options: DecisionOptions
    ) async throws -> Decisions {
        let answers = questions.map { question in
            guard !question.instructions.contains("secret") else { return DecisionAnswer.refusal }
            let lengths = question.options.map { Double($0.text.count) }
            return DecisionAnswer(question.kind, lengths.map { $0 / lengths.reduce(0, +) })
        }
        return Decisions(answers: answers, promptTokens: 100, cachedTokens: 64, newlyCachedTokens: 32)
    }

    func settled(_ options: SamplingOptions) -> SamplingOptions {
        var options = options
        options.temperature = options.temperature ?? 0.8
        options.topP = options.topP ?? 1
        return options
    }

    func constraint(_ source: Constraint.Source, in markup: ChatMarkup) throws -> Constraint {
        try Constraint.compile(source, vocabulary: vocabulary)
    }

    func constraint(_ shape: ConstraintGraph.Shape, in markup: ChatMarkup) throws -> ConstraintGraph {
        try ConstraintGraph(shape, vocabulary: vocabulary)
    }

    func generate(tokens: [Int32], options: SamplingOptions, group: GenerationGroup?) -> Generation {
        asked.withLock { $0.append(Asked(tokens: tokens, options: options)) }
        let (stream, continuation) = AsyncThrowingStream<GenerationPiece, any Error>.makeStream()
        let texts = script.speak?(tokens, options) ?? script.texts
        let piece = { [self] (text: String, tokens: [Int32], finish: GenerationPiece.Finish?) in
            let logprobs = options.topLogprobs.map { top in tokens.map { logprob(of: $0, top: top) } } ?? []
            return GenerationPiece(text: text, tokens: tokens, logprobs: logprobs, finish: finish)
        }
        let work = Task { [script] in
            do {
                try await Task.sleep(for: script.prefill)
                for text in texts {
                    continuation.yield(piece(text, Self.tokens(text), nil))
                    try await Task.sleep(for: script.pause)
                }
                if let error = script.error { return continuation.finish(throwing: error) }
                let usage = Usage(
                    promptTokens: 7, cachedTokens: script.cachedTokens, completionTokens: texts.count,
                    draftedTokens: script.drafted.accepted + script.drafted.rejected,
                    acceptedTokens: script.drafted.accepted, secondsToFirstToken: 0, decodeSeconds: 0)
                continuation.yield(piece("", script.lastTokens, .init(reason: script.reason, usage: usage)))
                continuation.finish()
            } catch {
                cancellations.withLock { $0 += 1 }
                continuation.finish()
            }
        }
        continuation.onTermination = { reason in if case .cancelled = reason { work.cancel() } }
        return Generation(stream) { work.cancel() }
    }

    /// Whether so many generations are cancelled within a time.
    func isCancelled(_ count: Int = 1, within limit: Duration) async -> Bool {
        let deadline = ContinuousClock.now + limit
        while cancellations.withLock({ $0 < count }), .now < deadline { try? await Task.sleep(for: .milliseconds(5)) }
        return cancellations.withLock { $0 == count }
    }
}
