import HTTP
import JSON
import LocalLLM
import Wire

/// `POST /v1/rerank`: sorts documents by relevance to a query, like Jina, Cohere, vLLM and llama.cpp; with `texts`
/// instead of `documents`, like Text Embeddings Inference.
@Sendable func rerank(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(RerankRequest.self, from: context.body).validated()
    let lease = try await services.lease(body.model, for: context)
    let model = lease.model
    guard model.info.isReranker else {
        throw APIError(
            status: 400, kind: .invalidRequest, message: "The model '\(lease.id)' is not a reranker.",
            param: "model",
            code: "unsupported_model")
    }
    let (pairs, promptTokens) = try await preparing(context) { try body.pairs(for: model) }
    context.trace.addPromptTokens(promptTokens)
    services.metrics.read(promptTokens, by: lease.id)
    return try await within(services.requestTimeout) {
        defer { withExtendedLifetime(lease) {} }
        let response = RerankResponse(
            body, scores: try await model.relevance(of: pairs), id: .unique("rerank-"), model: lease.id,
            promptTokens: promptTokens)
        return try body.isBareList ? .json(response.bareResults) : .json(response)
    }
}

/// Maximum tokens of all pairs of a request: as many as the largest body has bytes.
private let maximumPairTokens = 8 << 20

extension RerankRequest {
    /// The pairs of query and document, and the number of their tokens.
    fileprivate func pairs(for model: any LanguageModel) throws -> (pairs: [[Int32]], tokens: Int) {
        var (pairs, tokens) = ([[Int32]](), 0)
        for (index, document) in inputs.enumerated() {
            // The loop may be long, since every pair repeats the query.
            try Task.checkCancellation()
            let pair = try model.rerankTokens(query: query, document: document)
            try model.checkLengths([pair]) { _ in "\(documentsField)[\(index)]" }
            tokens += pair.count
            guard tokens <= maximumPairTokens else {
                throw APIError.invalid(
                    documentsField,
                    "the query and the documents, each with the query, have over \(maximumPairTokens) tokens together")
            }
            pairs.append(pair)
        }
        return (pairs, tokens)
    }
}
