import Engine
import Foundation
import KernelFormats

extension LocalModel {
    /// Answers questions about a text: the probability of each option, read from the model's predictions.
    ///
    /// The text is computed once for all questions, and found in the prefix cache the next time. An answer does not depend on
    /// the other questions.
    ///
    /// - Throws: As `decide(_:about:options:)` for messages.
    public func decide(
        _ questions: [DecisionQuestion], about text: String, options: DecisionOptions = .init()
    ) async throws -> Decisions {
        try await decide(questions, about: [.user(text)], options: options)
    }

    /// Answers questions about a conversation.
    ///
    /// The probability of an option is that of the answer beginning with its tokens, and not with those of a longer option,
    /// divided by the sum over all options.
    ///
    /// - Throws: `LocalModelError.invalidOption` for less than two options, an option without text, or two that are the same
    ///   to the model; `contextSizeExceeded`; `wrongKind`; `templateFailed`; `ImageFileError`; `CancellationError`.
    public func decide(
        _ questions: [DecisionQuestion], about messages: [ChatMessage], options: DecisionOptions = .init()
    ) async throws -> Decisions {
        try checkDecoderOnly()
        let texts = messages.filter { $0.role == .user }.map(\.content)
        let isRefused = questions.map { question in
            do {
                try options.guardrail?.check(prompts: texts + [question.instructions])
                return false
            } catch {
                return true
            }
        }
        var decisions = Decisions(answers: questions.map { _ in .refusal })
        for hasOptions in [false, true] {
            let asked = questions.indices.filter { !isRefused[$0] && questions[$0].kind.hasOptions == hasOptions }
            guard !asked.isEmpty else { continue }
            let prompt = try DecisionPrompt(hasOptions: hasOptions, about: messages, self)
            try await decide(asked.map { ($0, questions[$0]) }, prompt, about: messages, options, into: &decisions)
        }
        return decisions
    }

    private func decide(
        _ questions: [(index: Int, question: DecisionQuestion)], _ prompt: DecisionPrompt,
        about messages: [ChatMessage], _ options: DecisionOptions, into decisions: inout Decisions
    ) async throws {
        let shared = try self.prompt(
            ofQuoted: prompt.before, images: try await read(messages, cacheSalt: options.cacheSalt))
        var forms: [Form] = []
        for (index, question) in questions {
            let images = question.images.isEmpty ? [] : try await read([question.message], cacheSalt: options.cacheSalt)
            forms += try self.forms(of: question, index, prompt, after: shared, images: images, options.rotations)
        }
        let (logprobs, usage) = try await logprobs(of: forms.map(\.branch), after: shared, options.cacheSalt)
        var sums: [Int: [Double]] = [:]
        for (form, logprobs) in zip(forms, logprobs) {
            let shares = Self.shares(logprobs, form.branch.continuations).map { $0 / Double(form.ofQuestion) }
            sums[form.question] = zip(sums[form.question] ?? shares.map { _ in 0 }, shares).map { $0 + $1 }
        }
        for (index, question) in questions {
            decisions.answers[index] = DecisionAnswer(question.kind, sums[index] ?? [])
        }
        decisions.promptTokens += forms.reduce(shared.tokens.count) { $0 + $1.branch.tokens.count }
        decisions.cachedTokens += usage.cachedTokens
        // Whole pages, as far as a later request would find them.
        let kept = (shared.tokens.count - 1) / pageTokens * pageTokens
        decisions.newlyCachedTokens += max(0, kept - usage.cachedTokens)
    }

    /// A question with its options in one order.
    private struct Form {
        let question: Int
        let branch: ContinuationReading.Branch
        /// Number of the question's forms.
        let ofQuestion: Int
    }

    private func forms(
        of question: DecisionQuestion, _ index: Int, _ prompt: DecisionPrompt, after shared: ModelPrompt,
        images: [ModelImage], _ rotations: Int
    ) throws(LocalModelError) -> [Form] {
        let options = question.options
        guard options.count > 1 else {
            throw .invalidOption("questions[\(index)]: expected at least 2 options, found \(options.count)")
        }
        var count = 1
        if case .choice = question.kind { count = min(max(1, rotations), options.count) }
        return try (0..<count).map { rotation throws(LocalModelError) in
            let first = rotation * options.count / count
            let order = Array(options.indices[first...]) + options.indices[..<first]
            let (whole, tokens) = try prompt.branch(
                prompt.text(question, order: order, try tokenizer), options, after: shared, images: images, self)
            if let empty = tokens.firstIndex(of: []) {
                throw .invalidOption("questions[\(index)].options[\(empty)]: expected a text")
            }
            guard Set(tokens).count == tokens.count else {
                throw .invalidOption("questions[\(index)]: two options are the same")
            }
            let length = whole.tokens.count + (tokens.map(\.count).max() ?? 0)
            guard length <= contextSize else {
                throw .contextSizeExceeded(contextSize: contextSize, tokenCount: length)
            }
            try check(whole)
            let branch = ContinuationReading.Branch(
                tokens: Array(whole.tokens[shared.tokens.count...]), media: try sequenceMedia(of: whole),
                continuations: tokens)
            return Form(question: index, branch: branch, ofQuestion: count)
        }
    }

    /// The log probability of each continuation, by branch, and the usage of the prompt.
    func logprobs(
        of branches: [ContinuationReading.Branch], after prompt: ModelPrompt, _ salt: String?
    ) async throws -> (logprobs: [[Double]], usage: Usage) {
        let state = FinalState()
        let reading = ContinuationReading(
            after: state, branches, adapters: try selection(nil, prompt: prompt.tokens), model: info.name)
        // The state has to go where its memory is counted.
        func release() async throws { try await thread.perform { _, _ in state.release() } }
        do {
            return try await withTaskCancellationHandler {
                // Greedy, so that only what is computed as in a prompt is taken from the cache.
                var options = SamplingOptions(temperature: 0, maximumTokens: 1)
                options.cacheSalt = salt
                var usage: Usage?
                for try await piece in try submit(prompt, options, nil, finalState: state) {
                    usage = piece.finish?.usage ?? usage
                }
                try Task.checkCancellation()
                while try await thread.perform({ [thread] in reading.readStep($0, $1, beside: thread.waiting) }) {
                    try Task.checkCancellation()
                }
                let logprobs = try reading.finish()
                guard let usage else { throw LocalModelError.shutDown }
                try await release()
                return (logprobs, usage)
            } onCancel: {
                reading.cancel()
            }
        } catch {
            try? await release()
            throw error
        }
    }

    /// The probability of each option if the answer is one of them. The events are made disjoint: an answer that begins with
    /// several options is the longest of them.
    static func shares(_ logprobs: [Double], _ tokens: [[Int32]]) -> [Double] {
        let most = logprobs.max() ?? 0
        var shares = logprobs.map { exp($0 - most) }
        for index in shares.indices.sorted(by: { tokens[$0].count > tokens[$1].count }) {
            for other in shares.indices where tokens[other].count > tokens[index].count {
                if tokens[other].starts(with: tokens[index]) { shares[index] -= shares[other] }
            }
            shares[index] = max(0, shares[index])
        }
        let sum = shares.reduce(0, +)
        return shares.map { $0 / sum }
    }
}
