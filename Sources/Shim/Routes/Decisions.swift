import HTTP
import JSON
import LocalLLM
import Wire

/// `POST /v1/decisions`: the probabilities of given answers to questions about an input, for any chat model.
@Sendable func decide(_ context: RequestContext, _ services: Services) async throws -> Response {
    try await respondHereOrUpstream(.decisions, context, services, hasImage: \DecisionRequest.hasImage) { request in
        let seesImages = services.models.seesImages(request.model)
        let body = try await services.fetchingImages(of: request, context).validated(seesImages: seesImages)
        let lease = try await services.lease(body.model, for: context)
        var options = DecisionOptions()
        options.rotations = Int(body.rotations?.value ?? 1)
        options.cacheSalt = body.cacheSalt
        options.guardrail = services.guardrail
        return try await within(services.requestTimeout) { [options] in
            defer { withExtendedLifetime(lease) {} }
            let decisions: Decisions
            do {
                decisions = try await lease.model.decide(
                    body.questions.map { DecisionQuestion($0) }, about: body.input.messages.map { ChatMessage($0) },
                    options: options)
            } catch let error as LocalModelError {
                throw APIError(reporting: error, promptField: "input")
            }
            context.trace.addPromptTokens(decisions.promptTokens)
            services.metrics.read(decisions.promptTokens, by: lease.id)
            return try .json(DecisionResponse(body.questions, decisions, model: lease.id))
        }
    }
}

extension DecisionQuestion {
    fileprivate init(_ question: DecisionRequest.Question) {
        let kind: Kind =
            switch question.type {
            case .predicate: .predicate
            case .choice: .choice((question.choices ?? []).options)
            case .score: .score((question.levels ?? []).map { Option($0.label, description: $0.description) })
            }
        let message = ChatMessage(RequestMessage(role: "user", content: question.instructions))
        self.init(kind, message.content)
        images = message.images ?? []
    }
}

extension [DecisionRequest.Choice] {
    /// As the model reads them: where a boolean and a string would look alike, strings have quotes.
    fileprivate var options: [DecisionQuestion.Option] {
        let hasBoth = [true, false].contains { value in
            contains { $0.value == .bool(value) } && contains { $0.value == .text("\(value)") }
        }
        return map { choice in
            let text =
                switch choice.value {
                case .bool(let value): "\(value)"
                case .text(let text): hasBoth ? "\"\(text)\"" : text
                }
            return DecisionQuestion.Option(text, description: choice.description)
        }
    }
}

extension DecisionResponse {
    fileprivate init(_ questions: [DecisionRequest.Question], _ decisions: Decisions, model: String) {
        var usage = ModelResponse.Usage(
            TokenUsage(promptTokens: decisions.promptTokens, cachedTokens: decisions.cachedTokens))
        usage.inputTokensDetails.cacheWriteTokens = decisions.newlyCachedTokens
        self.init(
            model: model, answers: zip(questions, decisions.answers).map { Answer(of: $0, $1) }, usage: usage)
    }
}

extension DecisionResponse.Answer {
    fileprivate init(of question: DecisionRequest.Question, _ answer: DecisionAnswer) {
        guard answer != .refusal else {
            self.init("refusal", name: question.name)
            return
        }
        self.init(question.type.rawValue, name: question.name)
        switch answer {
        case .refusal: break
        case .predicate(let probability): self.probability = probability
        case .choice(let index, let shares):
            let choices = question.choices ?? []
            choice = choices[index].value
            confidence = answer.confidence
            probabilities = zip(choices, shares).map { choice, share in
                let value: JSON =
                    switch choice.value {
                    case .text(let text): .string(text)
                    case .bool(let value): .bool(value)
                    }
                return .init(value: value, probability: share)
            }
        case .score(let expected, let shares):
            score = expected
            confidence = answer.confidence
            probabilities = zip(question.levels ?? [], shares).enumerated().map { index, level in
                .init(value: JSON(index), label: level.0.label, probability: level.1)
            }
        }
    }
}
