package import JSON

/// Body of `POST /v1/decisions`.
///
/// Field names and ranges: OpenAI API reference, "Create a decision" (public beta).
package struct DecisionRequest: Codable, Sendable {
    package var model: String?
    package var input: ResponseInput
    package var questions: [Question]
    /// Orders in which the options of choices are shown; their probabilities are averaged. An extension of this server.
    package var rotations: WholeNumber?
    /// As in chats. An extension of vLLM.
    package var cacheSalt: String?

    package struct Question: Codable, Sendable {
        package enum Kind: String, Codable, Sendable { case predicate, choice, score }

        package var type: Kind
        package var name: String?
        package var instructions: MessageContent
        package var choices: [Choice]?
        package var levels: [Level]?
    }

    package struct Choice: Codable, Sendable {
        package var value: ChoiceValue
        package var description: String?
    }

    package struct Level: Codable, Sendable {
        package var label: String
        package var description: String?
    }

    enum CodingKeys: String, CodingKey {
        case model, input, questions, rotations
        case cacheSalt = "cache_salt"
    }

    package var hasImage: Bool { input.hasImage || questions.contains { $0.instructions.hasImage } }
}

/// The value of a choice: `true` and `"true"` are two values.
package enum ChoiceValue: Codable, Sendable, Hashable {
    case text(String)
    case bool(Bool)

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else {
            self = .text(try container.decode(String.self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .bool(let value): try container.encode(value)
        }
    }
}

extension DecisionRequest {
    /// Checks what `Decodable` cannot.
    package func validated(seesImages: Bool) throws(APIError) -> Self {
        try input.validate(seesImages, textTypes: ["input_json"])
        try input.validateCalls()
        guard (1...400).contains(questions.count) else {
            throw .invalid("questions", "must have 1 to 400 elements, got \(questions.count)")
        }
        for (index, question) in questions.enumerated() { try question.validate(at: "questions[\(index)]", seesImages) }
        try checkRange("rotations", rotations, 1...255)
        return self
    }
}

extension DecisionRequest.Question {
    fileprivate func validate(at path: String, _ seesImages: Bool) throws(APIError) {
        try instructions.validate(
            at: "\(path).instructions", textTypes: ["input_text", "input_json"], images: seesImages ? .seen : .unseen)
        guard !instructions.text.isEmpty || instructions.hasImage else {
            throw .invalid("\(path).instructions", "must not be empty")
        }
        switch type {
        case .predicate: break
        case .choice:
            guard let choices else { throw .init(missing: "\(path).choices") }
            try check(choices.map(\.value), 2...255, at: "\(path).choices", field: "value") {
                if case .text(let text) = $0 { text.isEmpty } else { false }
            }
        case .score:
            guard let levels else { throw .init(missing: "\(path).levels") }
            try check(levels.map(\.label), 2...10, at: "\(path).levels", field: "label", isEmpty: \.isEmpty)
        }
    }

    private func check<Option: Hashable>(
        _ options: [Option], _ range: ClosedRange<Int>, at path: String, field: String, isEmpty: (Option) -> Bool
    ) throws(APIError) {
        guard range.contains(options.count) else {
            throw .invalid(path, "must have \(range.lowerBound) to \(range.upperBound) elements, got \(options.count)")
        }
        var known: Set<Option> = []
        for (index, option) in options.enumerated() {
            let path = "\(path)[\(index)].\(field)"
            guard !isEmpty(option) else { throw .invalid(path, "must not be empty") }
            guard known.insert(option).inserted else { throw .invalid(path, "appears before: each must be unique") }
        }
    }
}

extension ResponseInput {
    /// Each output of a tool has to belong to a call before it.
    fileprivate func validateCalls() throws(APIError) {
        guard case .items(let items) = self else { return }
        var calls: Set<String> = []
        for (index, item) in items.enumerated() {
            guard let id = item.callID else { continue }
            if item.output == nil {
                calls.insert(id)
            } else if !calls.contains(id) {
                throw .invalid("input[\(index)].call_id", "no call before it has the id '\(id)'")
            }
        }
    }
}

/// Response of `POST /v1/decisions`.
package struct DecisionResponse: Codable, Sendable, Equatable {
    package var model: String
    /// In the order of the questions.
    package var answers: [Answer]
    package var usage: ModelResponse.Usage

    package struct Answer: Codable, Sendable, Equatable {
        /// `predicate`, `choice`, `score` or `refusal`.
        package var type: String
        @Null package var name: String?
        /// Of a predicate.
        package var probability: Double?
        /// The most likely value of a choice.
        package var choice: ChoiceValue?
        /// The expected level, from 0 on.
        package var score: Double?
        package var confidence: Double?
        package var probabilities: [Share]?

        package init(_ type: String, name: String?) { (self.type, self.name) = (type, name) }
    }

    /// The probability of an option.
    package struct Share: Codable, Sendable, Equatable {
        package var value: JSON
        /// Of a level.
        package var label: String?
        package var probability: Double

        package init(value: JSON, label: String? = nil, probability: Double) {
            (self.value, self.label, self.probability) = (value, label, probability)
        }
    }

    package init(model: String, answers: [Answer], usage: ModelResponse.Usage) {
        (self.model, self.answers, self.usage) = (model, answers, usage)
    }
}
