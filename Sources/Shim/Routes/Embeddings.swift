import Foundation
import HTTP
import LocalLLM
import Tokenizer
import Wire

/// `POST /v1/embeddings`: of any model, by pooling its last states.
@Sendable func createEmbeddings(_ context: RequestContext, _ services: Services) async throws -> Response {
    try await respondHereOrUpstream(.embeddings, context, services) { (body: EmbeddingRequest) in
        try await embed(body.validated(), context, services)
    }
}

private func embed(_ body: EmbeddingRequest, _ context: RequestContext, _ services: Services) async throws -> Response {
    let pooling = try body.poolingOfTokens()
    let lease = try await services.lease(body.model, for: context)
    let engine = lease.engine
    let inputs = try body.input.inputs(for: engine)
    let promptTokens = inputs.reduce(0) { $0 + $1.count }
    context.trace.addPromptTokens(promptTokens)
    services.metrics.read(promptTokens)
    let dimensions = body.dimensions.map { Int(clamping: $0.value) }
    return try await within(services.requestTimeout) {
        defer { withExtendedLifetime(lease) {} }
        var vectors: [EmbeddingList.Vector] = []
        for tokens in inputs {
            let vector = try await engine.embedding(of: tokens, pooling: pooling)
            vectors.append(.init(try shortened(vector, to: dimensions ?? vector.count), body.format))
        }
        return try .json(EmbeddingList(vectors, model: lease.model, promptTokens: promptTokens))
    }
}

extension EmbeddingRequest {
    /// The mean, unless the client knows better: of a causal model it is the safer choice where nobody trained for one.
    fileprivate func poolingOfTokens() throws(APIError) -> Pooling {
        guard let pooling else { return .mean }
        guard let known = Pooling(rawValue: pooling) else {
            let names = Pooling.allCases.map(\.rawValue).joined(separator: " or ")
            throw .invalid("pooling", "expected \(names), found \"\(pooling)\"")
        }
        return known
    }
}

extension TextInput {
    /// The tokens of each input, each known to fit.
    fileprivate func inputs(for engine: any ChatEngine) throws -> [[Int32]] {
        let path = { (index: Int) in count == 1 ? "input" : "input[\(index)]" }
        let inputs =
            switch self {
            case .texts(let texts):
                // What users wrote: control tokens in it are text.
                try texts.map { try engine.tokenizer.encode($0, addSpecial: true, parseSpecial: false) }
            case .tokens(let lists):
                try lists.enumerated().map { try engine.checked($0.element, at: path($0.offset)) }
            }
        if let index = inputs.firstIndex(where: { $0.count > engine.contextSize }) {
            throw APIError(
                reporting: LocalModelError.contextSizeExceeded(
                    contextSize: engine.contextSize, tokenCount: inputs[index].count), promptField: path(index))
        }
        return inputs
    }
}

/// The first numbers of a vector, again of length 1.
private func shortened(_ vector: [Float], to count: Int) throws(APIError) -> [Float] {
    guard count <= vector.count else {
        throw .invalid("dimensions", "this model's embeddings have \(vector.count) dimensions, got \(count)")
    }
    guard count < vector.count else { return vector }
    let length = vector[..<count].reduce(0.0) { $0 + Double($1) * Double($1) }.squareRoot()
    return vector[..<count].map { length > 0 ? Float(Double($0) / length) : 0 }
}

extension EmbeddingList.Vector {
    fileprivate init(_ values: [Float], _ format: EmbeddingRequest.EncodingFormat) {
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
