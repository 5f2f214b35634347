import Foundation
import Wire

/// The results for a number of concurrent clients.
struct ServeResult: Encodable, Sendable {
    /// Times in seconds. Percentiles are nearest-rank, so each is a measured time.
    struct Distribution: Encodable, Sendable, Equatable {
        let count: Int
        let mean, p50, p95, p99: Double

        /// `nil` if there are no values.
        init?(_ values: [Double]) {
            guard !values.isEmpty else { return nil }
            count = values.count
            mean = values.mean
            (p50, p95, p99) = (values.percentile(50), values.percentile(95), values.percentile(99))
        }
    }

    let clients: Int
    let requests: Int
    /// Number of failed requests by error.
    let errors: [String: Int]
    /// From the first request to the end of the last answer.
    let seconds: Double
    /// Mean prompt tokens of a request; `nil` if the server sends no usage.
    let promptTokens: Double?
    /// Completion tokens of all complete answers.
    let completionTokens: Int
    /// "usage", or "chunks" if the server sends no usage; each piece of text then counts as a token.
    let tokensCountedBy: String
    let tokensPerSecond: Double
    let tokensPerSecondOfClient: Double
    /// Time to the first token in first turns.
    let firstToken: Distribution?
    /// Time to the first token in later turns, where the server may have the conversation in its prefix cache.
    let firstTokenOfLaterTurns: Distribution?
    let betweenTokens: Distribution?
    let wholeAnswer: Distribution?

    enum CodingKeys: String, CodingKey {
        case requests, errors, seconds
        case clients = "n_clients"
        case promptTokens = "prompt_tokens_mean"
        case completionTokens = "completion_tokens"
        case tokensCountedBy = "tokens_counted_by"
        case tokensPerSecond = "tokens_per_s"
        case tokensPerSecondOfClient = "tokens_per_s_per_client"
        case firstToken = "first_token_s"
        case firstTokenOfLaterTurns = "first_token_of_later_turns_s"
        case betweenTokens = "between_tokens_s"
        case wholeAnswer = "answer_s"
    }

    /// One request's outcome.
    struct Sample: Sendable {
        /// Index of the turn in its conversation, from 0.
        let turn: Int
        let outcome: Result<ServeClient.Answer, ServeClient.Failure>
    }

    init(clients: Int, _ samples: [Sample], seconds: Double) {
        self.clients = clients
        self.seconds = seconds
        requests = samples.count
        var answers: [(turn: Int, answer: ServeClient.Answer)] = []
        var errors: [String: Int] = [:]
        for sample in samples {
            switch sample.outcome {
            case .success(let answer): answers.append((sample.turn, answer))
            case .failure(let failure): errors[failure.description, default: 0] += 1
            }
        }
        self.errors = errors
        let usages = answers.compactMap(\.answer.usage)
        let isCounted = usages.count == answers.count
        tokensCountedBy = isCounted ? "usage" : "chunks"
        promptTokens = usages.isEmpty ? nil : usages.map { Double($0.promptTokens) }.mean
        completionTokens = answers.map { isCounted ? $0.answer.usage?.completionTokens ?? 0 : $0.answer.arrivals.count }
            .reduce(0, +)
        tokensPerSecond = Double(completionTokens) / max(seconds, 1e-9)
        tokensPerSecondOfClient = tokensPerSecond / Double(clients)
        func firstTokens(_ isWanted: (Int) -> Bool) -> [Double] {
            answers.filter { isWanted($0.turn) }.compactMap(\.answer.arrivals.first)
        }
        firstToken = Distribution(firstTokens { $0 == 0 })
        firstTokenOfLaterTurns = Distribution(firstTokens { $0 > 0 })
        betweenTokens = Distribution(
            answers.flatMap { zip($0.answer.arrivals.dropFirst(), $0.answer.arrivals).map { $0 - $1 } })
        wholeAnswer = Distribution(answers.map(\.answer.seconds))
    }
}

/// Results as Markdown: counts, times and errors.
enum ServeTable {
    static func render(_ results: [ServeResult]) -> String {
        ([counts(results), times(results)] + [remarks(results)].filter { !$0.isEmpty }).joined(separator: "\n\n")
    }

    private static func counts(_ results: [ServeResult]) -> String {
        let rows = results.map { result in
            [
                "\(result.clients)", "\(result.requests)", "\(result.errors.values.reduce(0, +))",
                result.promptTokens.map { String(format: "%.0f", $0) } ?? "?", "\(result.completionTokens)",
                String(format: "%.2f", result.seconds), String(format: "%.2f", result.tokensPerSecond),
                String(format: "%.2f", result.tokensPerSecondOfClient),
            ]
        }
        let header = ["clients", "requests", "errors", "prompt", "tokens", "seconds", "t/s", "t/s per client"]
        return markdownTable(header, rows, leftAligned: [])
    }

    private static func times(_ results: [ServeResult]) -> String {
        let rows = results.flatMap { result in
            [
                ("first token", result.firstToken), ("first token, later turns", result.firstTokenOfLaterTurns),
                ("between tokens", result.betweenTokens), ("whole answer", result.wholeAnswer),
            ].compactMap { name, times in
                times.map { times in
                    ["\(result.clients)", name]
                        + [times.mean, times.p50, times.p95, times.p99].map { String(format: "%.2f", 1000 * $0) }
                }
            }
        }
        return markdownTable(["clients", "milliseconds to", "mean", "p50", "p95", "p99"], rows, leftAligned: [1])
    }

    private static func remarks(_ results: [ServeResult]) -> String {
        results.flatMap { result in
            result.errors.sorted { $0.key < $1.key }.map { "\(result.clients) clients: \($1) × \($0)" }
                + (result.tokensCountedBy == "usage"
                    ? [] : ["\(result.clients) clients: the server sends no usage; tokens are pieces of text"])
        }.joined(separator: "\n")
    }
}
