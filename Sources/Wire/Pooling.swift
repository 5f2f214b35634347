/// Body of `POST /score` of vLLM's API: two texts, or one text and many, or as many of one as of the other.
package struct ScoreRequest: Decodable, Sendable {
    package var model: String?
    /// Names of the two fields, as the client spelled them.
    package let fields: (first: String, second: String)
    package let first: [String]
    package let second: [String]
    /// Whether a reranker's scores are probabilities. Absent: they are.
    package var useActivation: Bool?
    private let truncates: Bool

    private enum CodingKeys: String, CodingKey {
        case model
        case useActivation = "use_activation"
        case truncatePromptTokens = "truncate_prompt_tokens"
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// In the order of vLLM's documentation.
    private static let names = [
        ("queries", "documents"), ("queries", "items"), ("data_1", "data_2"), ("text_1", "text_2"),
    ]

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        model = try container.decodeIfPresent(String.self, forKey: .model)
        useActivation = try container.decodeIfPresent(Bool.self, forKey: .useActivation)
        truncates =
            try container.contains(.truncatePromptTokens) && !container.decodeNil(forKey: .truncatePromptTokens)
        let all = try decoder.container(keyedBy: Name.self)
        let names =
            Self.names.first { all.contains(Name(stringValue: $0.0)) && all.contains(Name(stringValue: $0.1)) }
            ?? Self.names.first { all.contains(Name(stringValue: $0.0)) } ?? ("text_1", "text_2")
        fields = (names.0, names.1)
        func texts(_ name: String) throws -> [String] {
            try all.decode(OneOrMany<String>.self, forKey: Name(stringValue: name)).elements
        }
        (first, second) = (try texts(names.0), try texts(names.1))
    }

    /// Checks what `Decodable` cannot. Errors name fields as the client spelled them.
    package func validated() throws(APIError) -> Self {
        if truncates { throw .unsupported("truncate_prompt_tokens") }
        for (name, texts) in [(fields.first, first), (fields.second, second)] {
            guard (1...2048).contains(texts.count) else {
                throw .invalid(name, "must have 1 to 2048 elements, got \(texts.count)")
            }
            if let empty = texts.firstIndex(of: "") { throw .invalid("\(name)[\(empty)]", "must not be empty") }
        }
        guard first.count == 1 || first.count == second.count else {
            throw .invalid(
                fields.second, "expected as many texts as \(fields.first) has, \(first.count), got \(second.count)")
        }
        return self
    }
}

/// Response of `POST /score`.
package struct ScoreResponse: Codable, Sendable, Equatable {
    package struct Score: Codable, Sendable, Equatable {
        package var index: Int
        package var object = "score"
        package var score: Float
    }

    package var id: String
    package var object = "list"
    package var created: Int
    package var model: String
    package var data: [Score]
    package var usage: EmbeddingList.Usage

    package init(_ identity: AnswerIdentity, _ scores: [Float], promptTokens: Int) {
        (id, created, model) = (identity.id, identity.created, identity.model)
        data = scores.enumerated().map { Score(index: $0.offset, score: $0.element) }
        usage = .init(promptTokens: promptTokens, totalTokens: promptTokens)
    }
}

/// Body of `POST /pooling` and `POST /classify` of vLLM's API: inputs as for `/v1/embeddings`, and what to compute of them.
package struct PoolingRequest: Decodable, Sendable {
    package enum Task: String, CaseIterable, Sendable {
        /// A vector of each input.
        case embed
        /// The scores of the model's classifier for each input.
        case classify
        /// A vector of each token.
        case tokenEmbed = "token_embed"
    }

    /// The fields that embeddings have, too.
    package let input: EmbeddingRequest
    private let taskName: String?
    /// Whether vectors have length 1, and scores are probabilities. Absent: yes.
    package let useActivation: Bool?

    private enum CodingKeys: String, CodingKey {
        case task
        case useActivation = "use_activation"
    }

    package init(from decoder: any Decoder) throws {
        input = try EmbeddingRequest(from: decoder)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        taskName = try container.decodeIfPresent(String.self, forKey: .task)
        useActivation = try container.decodeIfPresent(Bool.self, forKey: .useActivation)
    }

    /// Checks what `Decodable` cannot. Errors name fields as the client spelled them.
    package func validated() throws(APIError) -> Self {
        _ = try input.validated()
        if let taskName, task == nil {
            let names = Task.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalid("task", "expected one of \(names), found \"\(taskName)\"")
        }
        return self
    }

    /// `nil`: what the model is for.
    package var task: Task? { taskName.flatMap { Task(rawValue: $0) } }
}

/// Response of `POST /pooling`.
package struct PoolingResponse: Encodable, Sendable {
    package struct Element: Encodable, Sendable {
        package enum Values: Sendable {
            case one(EmbeddingList.Vector)
            /// One for each token.
            case many([EmbeddingList.Vector])
        }

        package var index: Int
        package var object = "pooling"
        package var data: Values

        private enum CodingKeys: CodingKey { case index, object, data }

        package init(index: Int, _ data: Values) { (self.index, self.data) = (index, data) }

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(index, forKey: .index)
            try container.encode(object, forKey: .object)
            switch data {
            case .one(let vector): try container.encode(vector, forKey: .data)
            case .many(let vectors): try container.encode(vectors, forKey: .data)
            }
        }
    }

    package var id: String
    package var object = "list"
    package var created: Int
    package var model: String
    package var data: [Element] = []
    package var usage: EmbeddingList.Usage

    package init(_ identity: AnswerIdentity, promptTokens: Int) {
        (id, created, model) = (identity.id, identity.created, identity.model)
        usage = .init(promptTokens: promptTokens, totalTokens: promptTokens)
    }
}

/// Response of `POST /classify`.
package struct ClassifyResponse: Codable, Sendable, Equatable {
    package struct Element: Codable, Sendable, Equatable {
        package var index: Int
        /// The class with the highest score, as the model's file names it.
        @Null package var label: String?
        package var probs: [Float]
        package var numClasses: Int

        enum CodingKeys: String, CodingKey {
            case index, label, probs
            case numClasses = "num_classes"
        }
    }

    package var id: String
    package var object = "list"
    package var created: Int
    package var model: String
    package var data: [Element]
    package var usage: EmbeddingList.Usage

    /// - Parameters:
    ///   - scores: Of each input, one for each class.
    ///   - labels: Of the classes; empty if the file has none.
    package init(_ identity: AnswerIdentity, _ scores: [[Float]], labels: [String], promptTokens: Int) {
        (id, created, model) = (identity.id, identity.created, identity.model)
        data = scores.enumerated().map { index, scores in
            let best = scores.indices.max { scores[$0] < scores[$1] } ?? 0
            return Element(
                index: index, label: labels.indices.contains(best) ? labels[best] : nil, probs: scores,
                numClasses: scores.count)
        }
        usage = .init(promptTokens: promptTokens, totalTokens: promptTokens)
    }
}
