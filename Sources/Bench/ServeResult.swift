import CommandLineParsing
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

    /// What a request has to keep to count as goodput.
    struct Objective: Encodable, Sendable, CustomStringConvertible {
        /// Seconds to the first token, and for each further one on average.
        var firstToken = 1.0
        var perToken = 0.1

        enum CodingKeys: String, CodingKey {
            case firstToken = "first_token_s"
            case perToken = "per_token_s"
        }

        func isMet(by answer: ServeClient.Answer) -> Bool {
            guard let first = answer.arrivals.first, let last = answer.arrivals.last else { return false }
            let further = max(1, (answer.usage?.completionTokens ?? answer.arrivals.count) - 1)
            return first <= firstToken && (last - first) / Double(further) <= perToken
        }

        var description: String {
            "Goodput: requests whose first token came within \(number(1000 * firstToken)) ms, and further ones within "
                + "\(number(1000 * perToken)) ms on average"
        }
    }

    /// Every time, in seconds, for histograms. Not in the output.
    struct Times: Sendable {
        var firstToken: [Double] = []
        var firstTokenOfLaterTurns: [Double] = []
        var betweenTokens: [Double] = []
        var wholeAnswer: [Double] = []
    }

    /// Clients at once; with a rate, the most that were.
    let clients: Int
    /// Conversations that began per second, however many were running; `nil`: each client began one after another.
    let rate: Double?
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
    /// Complete answers per second, and those that met the objective.
    let requestsPerSecond: Double
    let goodput: Double
    let times: Times

    /// The number of clients, or the rate.
    var label: String { rate.map { number($0) } ?? "\(clients)" }

    enum CodingKeys: String, CodingKey {
        case requests, errors, seconds
        case rate = "rate_per_s"
        case requestsPerSecond = "requests_per_s"
        case goodput = "goodput_per_s"
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

    init(
        clients: Int, rate: Double? = nil, _ samples: [Sample], seconds: Double, objective: Objective = .init()
    ) {
        (self.clients, self.rate) = (clients, rate)
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
        times = Times(
            firstToken: firstTokens { $0 == 0 }, firstTokenOfLaterTurns: firstTokens { $0 > 0 },
            betweenTokens: answers.flatMap { zip($0.answer.arrivals.dropFirst(), $0.answer.arrivals).map { $0 - $1 } },
            wholeAnswer: answers.map(\.answer.seconds))
        firstToken = Distribution(times.firstToken)
        firstTokenOfLaterTurns = Distribution(times.firstTokenOfLaterTurns)
        betweenTokens = Distribution(times.betweenTokens)
        wholeAnswer = Distribution(times.wholeAnswer)
        requestsPerSecond = Double(answers.count) / max(seconds, 1e-9)
        goodput = Double(answers.count { objective.isMet(by: $0.answer) }) / max(seconds, 1e-9)
    }
}

extension ServeResult {
    /// The load, as a title.
    var name: String {
        rate == nil ? "\(label) \(clients == 1 ? "client" : "clients")" : "\(label) conversations per second"
    }
}

/// Results as Markdown: counts, times and errors.
enum ServeTable {
    /// - Parameter width: Columns of the terminal; `nil`: the tables may have any width.
    static func render(
        _ results: [ServeResult], _ objective: ServeResult.Objective = .init(), width: Int? = nil
    ) -> String {
        let counts = counts(results)
        let parts = [
            markdownTable(counts[0], Array(counts.dropFirst()), leftAligned: [], common: 1..<3, width: width),
            times(results),
            "\(objective)".wrapped(to: min(width ?? 120, 120)), remarks(results),
        ]
        return parts.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    private static func load(_ results: [ServeResult]) -> String {
        results.contains { $0.rate != nil } ? "per second" : "clients"
    }

    /// A header and a row per result.
    static func counts(_ results: [ServeResult]) -> [[String]] {
        let rows = results.map { result in
            [
                result.label, "\(result.requests)", "\(result.errors.values.reduce(0, +))",
                result.promptTokens.map { String(format: "%.0f", $0) } ?? "?", "\(result.completionTokens)",
                String(format: "%.2f", result.seconds), String(format: "%.2f", result.tokensPerSecond),
                String(format: "%.2f", result.tokensPerSecondOfClient),
                String(format: "%.2f", result.requestsPerSecond), String(format: "%.2f", result.goodput),
            ]
        }
        let header = [
            "requests", "errors", "prompt", "tokens", "seconds", "t/s", "t/s each", "requests/s", "goodput/s",
        ]
        return [[load(results)] + header] + rows
    }

    private static func times(_ results: [ServeResult]) -> String {
        let rows = results.flatMap { result in
            [
                ("first token", result.firstToken), ("first token, later turns", result.firstTokenOfLaterTurns),
                ("between tokens", result.betweenTokens), ("whole answer", result.wholeAnswer),
            ].compactMap { name, times in
                times.map { times in
                    [result.label, name]
                        + [times.mean, times.p50, times.p95, times.p99].map { String(format: "%.2f", 1000 * $0) }
                }
            }
        }
        return markdownTable([load(results), "milliseconds to", "mean", "p50", "p95", "p99"], rows, leftAligned: [1])
    }

    private static func remarks(_ results: [ServeResult]) -> String {
        results.flatMap { result in
            result.errors.sorted { $0.key < $1.key }.map { "\(result.name): \($1) × \($0)" }
                + (result.tokensCountedBy == "usage"
                    ? [] : ["\(result.name): the server sends no usage; tokens are pieces of text"])
        }.joined(separator: "\n")
    }
}
