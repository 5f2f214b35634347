import Foundation
import JSON
import LocalLLM
import Tokenizer
import Wire

/// Encodes an answer in Ollama's form: one object, or a stream of lines with one object each.
struct OllamaEncoder: AnswerEncoder {
    enum Kind: Sendable { case chat, completion }

    static let mediaType = "application/x-ndjson"

    let kind: Kind
    /// The model's name for the client.
    let model: String
    /// `nil` unless the client asked for probabilities.
    let tokenizer: TextTokenizer?
    let received: ContinuousClock.Instant
    let loaded = ContinuousClock.now
    /// A call that is sent when its arguments are complete.
    private var call: CallDelta?

    /// - Parameter received: When the request began.
    init(_ kind: Kind, model: String, tokenizer: TextTokenizer?, received: ContinuousClock.Instant) {
        (self.kind, self.model, self.tokenizer, self.received) = (kind, model, tokenizer, received)
    }

    func whole(_ choices: [ChoiceDelta]) throws -> OllamaAnswer {
        var answer = line()
        guard let choice = choices.first else { return answer }
        fill(&answer, choice.content, reasoning: choice.reasoning, choice.calls)
        answer.logprobs = tokenizer.map { _ in [] }
        if let finish = choice.finish { end(&answer, finish) }
        return answer
    }

    func lists(_ choices: [ChoiceDelta]) -> [String: [LongList]] {
        guard let tokenizer else { return [:] }
        return [
            "logprobs": choices.map { choice in
                LongList(count: choice.tokens.count, values: choice.valuesPerToken) {
                    ChatLogprobs(Array(choice.tokens[$0]), tokenizer).content
                }
            }
        ]
    }

    func begin() -> [UInt8] { [] }

    mutating func encode(_ delta: ChoiceDelta) throws -> [UInt8] {
        var lines: [UInt8] = []
        if !delta.content.isEmpty || !delta.reasoning.isEmpty || tokenizer != nil && !delta.tokens.isEmpty {
            var piece = line()
            fill(&piece, delta.content, reasoning: delta.reasoning, [])
            piece.logprobs = tokenizer.map { ChatLogprobs(delta.tokens, $0).content }
            lines += try bytes(piece)
        }
        for piece in delta.calls {
            if piece.name == nil {
                call?.arguments += piece.arguments
            } else {
                lines += try sendCall()
                call = piece
            }
        }
        if let finish = delta.finish {
            lines += try sendCall()
            var last = line()
            fill(&last, "", reasoning: "", [])
            end(&last, finish)
            lines += try bytes(last)
        }
        return lines
    }

    func end(_: [ChoiceDelta.Finish]) -> [UInt8] { [] }

    /// A line without text; clients of this API know no comments.
    static func ping(_ begun: Self?) throws -> [UInt8]? {
        guard let begun else { return nil }
        var line = begun.line()
        begun.fill(&line, "", reasoning: "", [])
        return try begun.bytes(line)
    }

    static func failure(_ error: APIError) throws -> [UInt8] { try JSON.encode(OllamaErrorBody(error)) + [10] }

    private mutating func sendCall() throws -> [UInt8] {
        guard let call else { return [] }
        self.call = nil
        var line = line()
        fill(&line, "", reasoning: "", [call])
        return try bytes(line)
    }

    private func line() -> OllamaAnswer { OllamaAnswer(model: model, createdAt: .timestamp(Date()), done: false) }

    private func bytes(_ line: OllamaAnswer) throws -> [UInt8] { try JSON.encode(line) + [10] }

    private func fill(_ line: inout OllamaAnswer, _ text: String, reasoning: String, _ calls: [CallDelta]) {
        let thinking = reasoning.isEmpty ? nil : reasoning
        switch kind {
        case .chat:
            var message = OllamaMessage(role: "assistant", content: text)
            message.thinking = thinking
            message.toolCalls = calls.isEmpty ? nil : calls.map { OllamaMessage.Call($0) }
            line.message = message
        case .completion: (line.response, line.thinking) = (text, thinking)
        }
    }

    private func end(_ line: inout OllamaAnswer, _ finish: ChoiceDelta.Finish) {
        let usage = finish.usage
        line.done = true
        line.doneReason = finish.reason == .length ? "length" : "stop"
        let total = (ContinuousClock.now - received).nanoseconds
        let promptEval = Duration.seconds(usage.secondsToFirstToken).nanoseconds
        let eval = Duration.seconds(usage.decodeSeconds).nanoseconds
        line.totalDuration = total
        // Reading the prompt begins a little before this encoder.
        line.loadDuration = max(0, min((loaded - received).nanoseconds, total - promptEval - eval))
        line.promptEvalCount = usage.promptTokens
        line.promptEvalDuration = promptEval
        line.evalCount = usage.completionTokens
        line.evalDuration = eval
    }
}

extension OllamaMessage.Call {
    /// A complete call. The form requires an object, which truncated arguments are not.
    fileprivate init(_ call: CallDelta) {
        var arguments = JSON.object([:])
        if let parsed = try? JSON(parsing: call.arguments, JSON.Limits(depth: 128)), case .object = parsed {
            arguments = parsed
        }
        self.init(id: call.id, function: .init(index: call.index, name: call.name ?? "", arguments: arguments))
    }
}

extension Duration {
    var nanoseconds: Int {
        Int(clamping: components.seconds).multipliedReportingOverflow(by: 1_000_000_000).partialValue
            &+ Int(components.attoseconds / 1_000_000_000)
    }
}
