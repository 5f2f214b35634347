import Foundation
import HTTP
import LocalLLM
import Tokenizer
import Wire

/// `POST /v1/embeddings`: pools the last hidden states of any model.
@Sendable func createEmbeddings(_ context: RequestContext, _ services: Services) async throws -> Response {
    try await respondHereOrUpstream(.embeddings, context, services) { (body: EmbeddingRequest) in
        let embedded = try await embed(body.validated(), context, services)
        let vectors = embedded.vectors
        let list = EmbeddingList([], model: embedded.model, promptTokens: embedded.promptTokens)
        let data = LongList(count: vectors.count, values: vectors[0].count) {
            EmbeddingList.Element(object: "embedding", index: $0, embedding: .init(vectors[$0], body.format))
        }
        return try .json(list, filling: ["data": [data]])
    }
}

/// The vectors of a request's inputs, in order.
struct Embedded: Sendable {
    let vectors: [[Float]]
    /// The model's id.
    let model: String
    let promptTokens: Int
    /// How long loading the model took.
    let loadTime: Duration
}

/// - Parameters:
///   - body: A validated request.
///   - keepAlive: How long the model stays in memory; `nil`: as the server was told.
func embed(
    _ body: EmbeddingRequest, keepAlive: KeepAlive? = nil, _ context: RequestContext, _ services: Services
) async throws -> Embedded {
    let begin = ContinuousClock.now
    let lease = try await services.lease(body.model, for: context, keepAlive: keepAlive)
    return try await embed(body, lease, loadTime: ContinuousClock.now - begin, context, services)
}

/// - Parameters:
///   - body: A validated request.
///   - normalizes: Whether vectors have length 1.
func embed(
    _ body: EmbeddingRequest, _ lease: ModelLease, normalizes: Bool = true, loadTime: Duration = .zero,
    _ context: RequestContext, _ services: Services
) async throws -> Embedded {
    let (pooling, info) = (try body.poolingOfTokens(), lease.model.info)
    if info.pooling == .rank, pooling == nil {
        throw APIError.invalid("model", "'\(lease.id)' is a reranker: use /v1/rerank")
    }
    let dimensions = body.dimensions.map { Int(clamping: $0.value) }
    if let dimensions, dimensions > info.embeddingSize {
        throw APIError.invalid(
            "dimensions", "this model's embeddings have \(info.embeddingSize) dimensions, got \(dimensions)")
    }
    let inputs = try await body.tokens(for: lease, context, services)
    return try await within(services.requestTimeout) {
        defer { withExtendedLifetime(lease) {} }
        let vectors = try await lease.model.embeddings(
            of: inputs, options: .init(pooling: pooling, dimensions: dimensions, normalizes: normalizes))
        return Embedded(
            vectors: vectors, model: lease.id, promptTokens: inputs.tokenCount, loadTime: loadTime)
    }
}

extension [[Int32]] {
    /// Tokens of all inputs.
    var tokenCount: Int { reduce(0) { $0 + $1.count } }
}

extension EmbeddingRequest {
    /// The tokens of the inputs, counted.
    func tokens(
        for lease: ModelLease, _ context: RequestContext, _ services: Services
    ) async throws -> [[Int32]] {
        let model = lease.model
        var (inputs, path): ([[Int32]], (Int) -> String)
        switch input {
        case .texts(let input):
            path = { input.count == 1 ? "input" : "input[\($0)]" }
            inputs = try input.tokens(for: model, path)
        case .chat(let chat):
            path = { _ in "messages" }
            inputs = [try await preparing(context) { try model.tokens(ofChat: chat) }]
        }
        if let most = truncatePromptTokens {
            let (tokenizer, count) = (try model.tokenizer, most.limit.map { Int(clamping: $0) } ?? model.contextSize)
            inputs = inputs.map { tokenizer.cut($0, to: count) }
        }
        try model.checkLengths(inputs, path)
        context.trace.addPromptTokens(inputs.tokenCount)
        services.metrics.read(inputs.tokenCount, by: lease.id)
        return inputs
    }

    /// The requested pooling; `nil`: the one in the model's file.
    fileprivate func poolingOfTokens() throws(APIError) -> Pooling? {
        guard let pooling else { return nil }
        guard let known = Pooling(rawValue: pooling), [.mean, .cls, .last].contains(known) else {
            throw .invalid("pooling", "expected mean, cls or last, found \"\(pooling)\"")
        }
        return known
    }
}

extension TextInput {
    /// - Parameter path: Request field of the input at an index, for errors.
    fileprivate func tokens(for model: any LanguageModel, _ path: (Int) -> String) throws -> [[Int32]] {
        switch self {
        case .texts(let texts):
            // User text: control tokens in it are not parsed.
            try texts.map { try model.tokenizer.encode($0, addSpecial: true, parseSpecial: false) }
        case .tokens(let lists):
            try lists.enumerated().map { try model.checked($0.element, at: path($0.offset)) }
        }
    }
}

extension LanguageModel {
    /// The tokens of a validated chat. Without the beginning of an answer, unless the client asks for it.
    fileprivate func tokens(ofChat chat: ChatCompletionRequest) throws -> [Int32] {
        var request = try ConversationRequest(rendering: chat)
        if chat.addGenerationPrompt == nil, chat.continueFinalMessage != true { request.rendering.ending = .message }
        return try prompt(ofQuoted: rendered(request, isQuoted: true), images: []).tokens
    }
}

extension TextTokenizer {
    /// The first tokens of an input; a token that ends every text remains its last.
    fileprivate func cut(_ tokens: [Int32], to count: Int) -> [Int32] {
        guard tokens.count > count, let last = tokens.last else { return tokens }
        guard isControl(last), count > 1 else { return Array(tokens.prefix(count)) }
        return tokens.prefix(count - 1) + [last]
    }
}

extension EmbeddingList.Vector {
    init(_ values: [Float], _ format: EmbeddingRequest.EncodingFormat) {
        switch format {
        case .float: self = .floats(values)
        case .base64:
            let bytes = values.flatMap { value in
                (0..<4).map { UInt8(truncatingIfNeeded: value.bitPattern >> ($0 * 8)) }
            }
            self = .base64(Data(bytes).base64EncodedString())
        }
    }
}

extension LanguageModel {
    /// - Parameter path: Request field of the input at an index, for errors.
    /// - Throws: `APIError` for an input without tokens or one that is longer than the context.
    func checkLengths(_ inputs: [[Int32]], _ path: (Int) -> String) throws(APIError) {
        if let index = inputs.firstIndex(of: []) { throw .invalid(path(index), "has no tokens") }
        if let index = inputs.firstIndex(where: { $0.count > contextSize }) {
            throw APIError(
                reporting: LocalModelError.contextSizeExceeded(
                    contextSize: contextSize, tokenCount: inputs[index].count), promptField: path(index))
        }
    }
}
