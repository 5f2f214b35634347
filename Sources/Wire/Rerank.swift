/// Body of `POST /v1/rerank`: a query, and documents to rank by relevance.
///
/// Field names: Jina's "Reranker API" and Cohere's "Rerank API v2"; `texts`, `return_text` and `raw_scores` are from
/// Text Embeddings Inference (TEI), which responds with a bare list.
package struct RerankRequest: Decodable, Sendable {
    package var model: String?
    package var query: String
    package var documents: [Document]?
    package var texts: [Document]?
    /// Maximum number of results; `nil`: all.
    package var topN: WholeNumber?
    /// Cohere's field: number of leading tokens of each document to rank by; `nil`: all.
    package var maxTokensPerDocument: WholeNumber?
    /// Whether results include the documents.
    package var returnDocuments: Bool?
    package var returnText: Bool?
    /// TEI's field: whether scores stay as the model computes them. Absent: they do.
    package var rawScores: Bool?
    /// vLLM's field: whether scores are made probabilities. Absent: they are not.
    package var useActivation: Bool?
    /// Unsupported fields in the request that would change the scores.
    private var unsupported: [String] = []

    /// A string, or an object with the field `text`.
    package struct Document: Decodable, Sendable, Equatable {
        package var text: String

        private enum CodingKeys: String, CodingKey { case text }

        package init(from decoder: any Decoder) throws {
            if let object = try? decoder.container(keyedBy: CodingKeys.self) {
                text = try object.decode(String.self, forKey: .text)
            } else {
                text = try decoder.singleValueContainer().decode(String.self)
            }
        }
    }

    private enum CodingKeys: String, CodingKey {
        case model, query, documents, texts
        case topN = "top_n"
        case maxTokensPerDocument = "max_tokens_per_doc"
        case returnDocuments = "return_documents"
        case returnText = "return_text"
        case rawScores = "raw_scores"
        case useActivation = "use_activation"
    }

    private enum UnsupportedKeys: String, CodingKey, CaseIterable {
        case maxChunksPerDocument = "max_chunks_per_doc"
        case rankFields = "rank_fields"
        case truncatePromptTokens = "truncate_prompt_tokens"
        case truncation, truncate, instruction, activation
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        model = try container.decodeIfPresent(String.self, forKey: .model)
        query = try container.decode(String.self, forKey: .query)
        documents = try container.decodeIfPresent([Document].self, forKey: .documents)
        texts = try container.decodeIfPresent([Document].self, forKey: .texts)
        topN = try container.decodeIfPresent(WholeNumber.self, forKey: .topN)
        maxTokensPerDocument = try container.decodeIfPresent(WholeNumber.self, forKey: .maxTokensPerDocument)
        returnDocuments = try container.decodeIfPresent(Bool.self, forKey: .returnDocuments)
        returnText = try container.decodeIfPresent(Bool.self, forKey: .returnText)
        rawScores = try container.decodeIfPresent(Bool.self, forKey: .rawScores)
        useActivation = try container.decodeIfPresent(Bool.self, forKey: .useActivation)
        let others = try decoder.container(keyedBy: UnsupportedKeys.self)
        for key in UnsupportedKeys.allCases where others.contains(key) {
            // `null` and `false` have no effect.
            let asksForNothing =
                try others.decodeNil(forKey: key) || (try? others.decode(Bool.self, forKey: key)) == false
            if !asksForNothing { unsupported.append(key.rawValue) }
        }
    }

    /// Checks what `Decodable` cannot. Errors name fields as the client spelled them.
    package func validated() throws(APIError) -> Self {
        if let field = unsupported.first { throw .unsupported(field) }
        guard documents == nil || texts == nil else { throw .invalid("texts", "cannot be combined with 'documents'") }
        guard documents != nil || texts != nil else { throw APIError(missing: "documents") }
        guard !query.isEmpty else { throw .invalid("query", "must not be empty") }
        guard (1...2048).contains(inputs.count) else {
            throw .invalid(documentsField, "must have 1 to 2048 elements, got \(inputs.count)")
        }
        try checkRange("top_n", topN, 1...Int64.max)
        try checkRange("max_tokens_per_doc", maxTokensPerDocument, 1...Int64.max)
        return self
    }

    /// Whether the request, and so the response, has TEI's form.
    package var isBareList: Bool { texts != nil }
    /// Whether the scores are to be probabilities.
    package var wantsProbabilities: Bool { useActivation == true || rawScores == false }
    package var documentsField: String { isBareList ? "texts" : "documents" }
    package var inputs: [String] { (documents ?? texts ?? []).map(\.text) }
    package var returnsDocuments: Bool { (isBareList ? returnText : returnDocuments) ?? false }
}

/// Response of `POST /v1/rerank`.
package struct RerankResponse: Encodable, Sendable {
    package struct Result: Encodable, Sendable, Equatable {
        /// Index of the document in the request.
        package var index: Int
        package var relevanceScore: Float
        package var document: Document?

        package struct Document: Encodable, Sendable, Equatable { package var text: String }

        enum CodingKeys: String, CodingKey {
            case index, document
            case relevanceScore = "relevance_score"
        }
    }

    /// A result in TEI's form.
    package struct BareResult: Encodable, Sendable, Equatable {
        package var index: Int
        package var score: Float
        package var text: String?
    }

    package var id: String
    package var object = "list"
    package var model: String
    /// The most relevant first.
    package var results: [Result]
    package var usage: EmbeddingList.Usage
    /// Only in Cohere's form.
    package var meta: Meta?

    package struct Meta: Encodable, Sendable, Equatable {
        package var apiVersion = ["version": "2"]
        package var tokens: [String: Int]

        enum CodingKeys: String, CodingKey {
            case tokens
            case apiVersion = "api_version"
        }
    }

    /// The response in the form of Cohere's `/v2/rerank`.
    package var cohere: Self {
        var response = self
        response.meta = Meta(tokens: ["input_tokens": usage.promptTokens, "output_tokens": 0])
        return response
    }

    /// - Parameter scores: Score of each document, in the order of the request.
    package init(_ request: RerankRequest, scores: [Float], id: String, model: String, promptTokens: Int) {
        self.id = id
        self.model = model
        usage = .init(promptTokens: promptTokens, totalTokens: promptTokens)
        let (texts, returnsDocuments) = (request.inputs, request.returnsDocuments)
        // A stable sort: equal scores keep the order of the request.
        let order = scores.indices.sorted { scores[$0] == scores[$1] ? $0 < $1 : scores[$0] > scores[$1] }
        results = order.prefix(request.topN.map { Int(clamping: $0.value) } ?? scores.count).map { index in
            Result(
                index: index, relevanceScore: scores[index],
                document: returnsDocuments ? .init(text: texts[index]) : nil)
        }
    }

    package var bareResults: [BareResult] {
        results.map { BareResult(index: $0.index, score: $0.relevanceScore, text: $0.document?.text) }
    }
}
