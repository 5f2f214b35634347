import HTTP
import LocalLLM
import Wire

/// `POST /v1/rerank`: sorts documents by relevance to a query, like Jina, Cohere, vLLM and llama.cpp; with `texts`
/// instead of `documents`, like Text Embeddings Inference.
@Sendable func rerank(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(RerankRequest.self, from: context.request.body).validated()
    let lease = try await services.lease(body.model, for: context)
    let model = lease.model
    guard model.info.isReranker else {
        throw APIError(
            status: 400, kind: .invalidRequest, message: "The model '\(lease.id)' is not a reranker.",
            param: "model",
            code: "unsupported_model")
    }
    let pairs = try body.inputs.enumerated().map { index, document in
        // The loop may be long, since every pair repeats the query.
        try Task.checkCancellation()
        let pair = try model.rerankTokens(query: body.query, document: document)
        try model.checkLengths([pair]) { _ in "\(body.documentsField)[\(index)]" }
        return pair
    }
    let promptTokens = pairs.reduce(0) { $0 + $1.count }
    context.trace.addPromptTokens(promptTokens)
    services.metrics.read(promptTokens)
    return try await within(services.requestTimeout) {
        defer { withExtendedLifetime(lease) {} }
        let response = RerankResponse(
            body, scores: try await model.relevance(of: pairs), id: uniqueID("rerank-"), model: lease.id,
            promptTokens: promptTokens)
        return try body.isBareList ? .json(response.bareResults) : .json(response)
    }
}
