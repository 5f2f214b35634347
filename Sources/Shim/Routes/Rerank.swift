import Foundation
import HTTP
import JSON
import LocalLLM
import Tokenizer
import Wire

/// `POST /v1/rerank`: sorts documents by relevance to a query, like Jina, Cohere, vLLM and llama.cpp; with `texts`
/// instead of `documents`, like Text Embeddings Inference.
@Sendable func rerank(_ context: RequestContext, _ services: Services) async throws -> Response {
    let (body, response) = try await ranking(context, services)
    return try body.isBareList ? .json(response.bareResults) : .json(response)
}

/// `POST /v2/rerank`: the same in the form of Cohere's API.
@Sendable func rerankLikeCohere(_ context: RequestContext, _ services: Services) async throws -> Response {
    try .json(try await ranking(context, services).response.cohere)
}

private func ranking(
    _ context: RequestContext, _ services: Services
) async throws -> (request: RerankRequest, response: RerankResponse) {
    let body = try JSON.decode(RerankRequest.self, from: context.body).validated()
    let lease = try await services.lease(body.model, for: context)
    var documents = body.inputs
    if let most = body.maxTokensPerDocument {
        let (tokenizer, whole) = (try lease.model.tokenizer, documents)
        documents = try await preparing(context) {
            whole.map { tokenizer.beginning(of: $0, tokens: Int(clamping: most.value)) }
        }
    }
    let pairs = documents.enumerated().map { index, document in
        TextPair(query: body.query, document: document, field: "\(body.documentsField)[\(index)]")
    }
    let relevance = try await relevance(of: pairs, body.wantsProbabilities, lease, context, services)
    return (
        body,
        RerankResponse(
            body, scores: relevance.scores, id: .unique("rerank-"), model: lease.id,
            promptTokens: relevance.promptTokens)
    )
}

extension TextTokenizer {
    /// The text of the first `count` tokens, without a character that they hold only a part of.
    fileprivate func beginning(of text: String, tokens count: Int) -> String {
        let tokens = encode(text, addSpecial: false, parseSpecial: false)
        guard tokens.count > count else { return text }
        var end = count
        while decode(Array(tokens[..<end])).unicodeScalars.last == "\u{fffd}", end > max(1, count - 4) { end -= 1 }
        return decode(Array(tokens[..<end]))
    }
}

/// A query and a document, and the request's field that errors name.
struct TextPair: Sendable {
    let query: String
    let document: String
    let field: String
}

/// Scores of pairs, in their order.
struct Relevance: Sendable {
    let scores: [Float]
    let promptTokens: Int
}

/// Maximum tokens of all pairs of a request: as many as the largest body has bytes.
private let maximumPairTokens = 8 << 20

/// How relevant the documents are to their queries, by a reranker.
///
/// - Parameter asProbabilities: Whether scores are between 0 and 1, else as the model computes them.
func relevance(
    of pairs: [TextPair], _ asProbabilities: Bool, _ lease: ModelLease, _ context: RequestContext, _ services: Services
) async throws -> Relevance {
    let model = lease.model
    guard model.info.isReranker else {
        throw APIError(
            status: 400, kind: .invalidRequest, message: "The model '\(lease.id)' is not a reranker.",
            param: "model",
            code: "unsupported_model")
    }
    let (inputs, promptTokens) = try await preparing(context) { try tokens(of: pairs, for: model) }
    context.trace.addPromptTokens(promptTokens)
    services.metrics.read(promptTokens, by: lease.id)
    return try await within(services.requestTimeout) {
        defer { withExtendedLifetime(lease) {} }
        let scores = try await model.relevance(of: inputs)
        let areDone = !asProbabilities || model.info.scoresAreProbabilities
        return Relevance(scores: areDone ? scores : scores.map(sigmoid), promptTokens: promptTokens)
    }
}

/// The pairs as inputs of the model, and the number of their tokens.
private func tokens(of pairs: [TextPair], for model: any LanguageModel) throws -> (inputs: [[Int32]], count: Int) {
    var (inputs, count) = ([[Int32]](), 0)
    for pair in pairs {
        // The loop may be long, since every pair repeats the query.
        try Task.checkCancellation()
        let input = try model.rerankTokens(query: pair.query, document: pair.document)
        try model.checkLengths([input]) { _ in pair.field }
        count += input.count
        guard count <= maximumPairTokens else {
            let field = pair.field.prefix { $0 != "[" }
            throw APIError.invalid(
                String(field),
                "the query and the documents, each with the query, have over \(maximumPairTokens) tokens together")
        }
        inputs.append(input)
    }
    return (inputs, count)
}

func sigmoid(_ score: Float) -> Float { 1 / (1 + expf(-score)) }
