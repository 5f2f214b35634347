import Foundation
import Synchronization
import Wire

/// Generates the load: concurrent conversations with a server.
struct ServeLoad: Sendable {
    private static let wordsOfLaterTurn = 12

    private let client: ServeClient
    private let model: String
    private let tokens: Int
    private let turns: Int
    /// Number of words in the first message.
    let words: Int

    /// Sends one request to find the number of tokens per word from its usage; without usage, assumes one.
    init(
        _ client: ServeClient, model: String, promptTokens: Int, tokens: Int, turns: Int
    ) async throws(ServeClient.Failure) {
        (self.client, self.model, self.tokens, self.turns) = (client, model, tokens, turns)
        let sample = min(promptTokens, 64)
        let message = RoleAndContent(role: "user", content: MadeUpWords.text(sample))
        let usage = try await client.ask(model, [message], tokens: 1).usage
        words = max(1, promptTokens * sample / max(usage?.promptTokens ?? sample, 1))
    }

    /// Begins conversations at random times, on average `rate` per second, whether or not earlier ones have ended: as from
    /// many people who do not know of one another (a Poisson process).
    func run(rate: Double, conversations: Int, _ objective: ServeResult.Objective) async -> ServeResult {
        let clock = ContinuousClock()
        let started = clock.now
        let running = Running()
        let samples = await withTaskGroup(of: [ServeResult.Sample].self) { group in
            var begin = started
            for number in 0..<conversations {
                showProgress("\(number) of \(conversations) conversations, \(running.count) running")
                try? await clock.sleep(until: begin)
                group.addTask {
                    running.begin()
                    defer { running.end() }
                    return await conversation()
                }
                begin += .seconds(-log(1 - Double.random(in: 0..<1)) / rate)
            }
            var samples: [ServeResult.Sample] = []
            for await conversation in group {
                samples += conversation
                showProgress("\(conversations) conversations, \(running.count) running")
            }
            return samples
        }
        return ServeResult(
            clients: max(1, running.most), rate: rate, samples, seconds: (clock.now - started) / .seconds(1),
            objective: objective)
    }

    /// Conversations that are running, and the most that were.
    private final class Running: Sendable {
        private let counts = Mutex((now: 0, most: 0))

        var count: Int { counts.withLock { $0.now } }
        var most: Int { counts.withLock { $0.most } }

        func begin() { counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
        func end() { counts.withLock { $0.now -= 1 } }
    }

    /// Runs `clients` concurrent conversations, and `requests` per client in total.
    func run(clients: Int, requests: Int, _ objective: ServeResult.Objective) async -> ServeResult {
        let clock = ContinuousClock()
        let started = clock.now
        let samples = await withTaskGroup(of: [ServeResult.Sample].self) { group in
            for _ in 0..<clients { group.addTask { await conversation() } }
            var samples: [ServeResult.Sample] = []
            var done = 0
            for await conversation in group {
                samples += conversation
                done += 1
                showProgress("\(clients) clients: \(done) of \(clients * requests)")
                if done <= clients * (requests - 1) { group.addTask { await self.conversation() } }
            }
            return samples
        }
        return ServeResult(
            clients: clients, samples, seconds: (clock.now - started) / .seconds(1), objective: objective)
    }

    /// Runs the turns of a conversation, up to the first failure.
    private func conversation() async -> [ServeResult.Sample] {
        var messages: [RoleAndContent] = []
        var samples: [ServeResult.Sample] = []
        for turn in 0..<turns {
            let content = MadeUpWords.text(turn == 0 ? words : Self.wordsOfLaterTurn)
            messages.append(RoleAndContent(role: "user", content: content))
            do throws(ServeClient.Failure) {
                let answer = try await client.ask(model, messages, tokens: tokens)
                samples.append(.init(turn: turn, outcome: .success(answer)))
                messages.append(RoleAndContent(role: "assistant", content: answer.text))
            } catch {
                samples.append(.init(turn: turn, outcome: .failure(error)))
                break
            }
        }
        return samples
    }
}

/// Random text, which no server has in its prefix cache.
enum MadeUpWords {
    private static let syllables = [
        "ba", "den", "fo", "gri", "ka", "lum", "mo", "nes", "pi", "ra", "sto", "tu", "vel", "zan",
    ]

    static func text(_ count: Int) -> String {
        (0..<count).map { _ in (0..<2).map { _ in syllables[Int.random(in: syllables.indices)] }.joined() }
            .joined(separator: " ")
    }
}
