import Foundation
import HTTP
import JSON
import LocalLLM
import Wire

// vLLM's routes for models that generate no text. What they compute is what embeddings and reranking compute.

/// `POST /score`: how well two texts belong together: the relevance that a reranker computes, else the cosine of the angle
/// between the texts' embeddings.
@Sendable func score(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(ScoreRequest.self, from: context.body).validated()
    let lease = try await services.lease(body.model, for: context)
    let (scores, promptTokens): ([Float], Int)
    if lease.model.info.isReranker {
        let pairs = body.second.enumerated().map { index, document in
            TextPair(
                query: body.first.count == 1 ? body.first[0] : body.first[index], document: document,
                field: "\(body.fields.second)[\(index)]")
        }
        try lease.check(body.useActivation)
        let relevance = try await relevance(of: pairs, body.useActivation ?? true, lease, context, services)
        (scores, promptTokens) = (relevance.scores, relevance.promptTokens)
    } else {
        let embedded = try await embed(
            EmbeddingRequest(model: body.model, input: .texts(body.first + body.second)), lease, context, services)
        let (first, second) = (
            embedded.vectors.prefix(body.first.count), embedded.vectors.dropFirst(body.first.count)
        )
        scores = second.enumerated().map { index, vector in
            let other = first[first.count == 1 ? 0 : index]
            return Float(zip(other, vector).reduce(0) { $0 + Double($1.0) * Double($1.1) })
        }
        promptTokens = embedded.promptTokens
    }
    return try .json(ScoreResponse(lease.identity("score-"), scores, promptTokens: promptTokens))
}

/// `POST /classify`: the probabilities of a classifier's classes.
@Sendable func classify(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(PoolingRequest.self, from: context.body).validated()
    guard body.task ?? .classify == .classify else { throw APIError.invalid("task", "expected classify") }
    let lease = try await services.lease(body.input.model, for: context)
    let (scores, promptTokens) = try await classes(of: body, lease, context, services)
    return try .json(
        ClassifyResponse(
            lease.identity("classify-"), scores, labels: lease.model.info.labels, promptTokens: promptTokens))
}

/// `POST /pooling`: the vector or the scores of each input, or a vector of each token.
@Sendable func pool(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(PoolingRequest.self, from: context.body).validated()
    let lease = try await services.lease(body.input.model, for: context)
    let task = body.task ?? (lease.model.info.pooling == .rank ? .classify : .embed)
    if task != .embed, body.input.dimensions != nil {
        throw APIError.invalid("dimensions", "allowed only with the task embed")
    }
    let format = body.input.format
    func response(
        _ promptTokens: Int, count: Int, values: Int,
        _ element: @escaping @Sendable (Int) -> PoolingResponse.Element.Values
    ) throws -> Response {
        try .json(
            PoolingResponse(lease.identity("pool-"), promptTokens: promptTokens),
            filling: [
                "data": [LongList(count: count, values: values) { PoolingResponse.Element(index: $0, element($0)) }]
            ])
    }
    switch task {
    case .embed:
        let embedded = try await embed(
            body.input, lease, normalizes: body.useActivation ?? true, context, services)
        let vectors = embedded.vectors
        return try response(embedded.promptTokens, count: vectors.count, values: vectors.first?.count ?? 0) {
            .one(.init(vectors[$0], format))
        }
    case .classify:
        let (scores, promptTokens) = try await classes(of: body, lease, context, services)
        return try response(promptTokens, count: scores.count, values: scores.first?.count ?? 0) {
            .one(.init(scores[$0], format))
        }
    case .tokenEmbed:
        let inputs = try await body.input.tokens(for: lease, context, services)
        let vectors = try await vectorsOfTokens(
            inputs, normalizes: body.useActivation ?? true, lease, services)
        let longest = vectors.map { $0.count * ($0.first?.count ?? 0) }.max() ?? 0
        return try response(inputs.tokenCount, count: vectors.count, values: longest) { index in
            .many(vectors[index].map { .init($0, format) })
        }
    }
}

/// Maximum numbers of all tokens' vectors in a response.
private let maximumNumbers = 16 << 20

private func vectorsOfTokens(
    _ inputs: [[Int32]], normalizes: Bool, _ lease: ModelLease, _ services: Services
) async throws -> [[[Float]]] {
    let size = lease.model.info.embeddingSize
    guard inputs.tokenCount * size <= maximumNumbers else {
        throw APIError.invalid(
            "input",
            "at most \(maximumNumbers / max(1, size)) tokens have vectors of their own in one response, got "
                + "\(inputs.tokenCount)")
    }
    return try await within(services.requestTimeout) {
        defer { withExtendedLifetime(lease) {} }
        var vectors: [[[Float]]] = []
        for input in inputs {
            let states = try await lease.model.tokenEmbeddings(of: input)
            vectors.append(normalizes ? states.map(\.normalized) : states)
        }
        return vectors
    }
}

/// The scores of each input, one for each class.
private func classes(
    of body: PoolingRequest, _ lease: ModelLease, _ context: RequestContext, _ services: Services
) async throws -> (scores: [[Float]], promptTokens: Int) {
    let info = lease.model.info
    guard info.isReranker else {
        throw APIError(
            status: 400, kind: .invalidRequest, message: "The model '\(lease.id)' has no classifier.", param: "model",
            code: "unsupported_model")
    }
    try lease.check(body.useActivation)
    let inputs = try await body.input.tokens(for: lease, context, services)
    let scores = try await within(services.requestTimeout) {
        defer { withExtendedLifetime(lease) {} }
        return try await lease.model.embeddings(of: inputs, options: .init(pooling: .rank))
    }
    let areDone = body.useActivation == false || info.scoresAreProbabilities
    return (areDone ? scores : scores.map(\.probabilities), inputs.tokenCount)
}

extension [Float] {
    /// Of one score its probability, of several those of one of them being right.
    fileprivate var probabilities: [Float] {
        guard count > 1, let most = self.max() else { return map(sigmoid) }
        let powers = map { expf($0 - most) }
        let sum = powers.reduce(0, +)
        return powers.map { $0 / sum }
    }
}

extension ModelLease {
    fileprivate func identity(_ prefix: String) -> AnswerIdentity { AnswerIdentity(prefix: prefix, id: id, model: nil) }

    /// Refuses to leave scores as they are where the model computes probabilities only.
    fileprivate func check(_ useActivation: Bool?) throws(APIError) {
        guard useActivation == false, model.info.scoresAreProbabilities else { return }
        throw .invalid("use_activation", "the scores of '\(id)' are probabilities; there are no others")
    }
}
