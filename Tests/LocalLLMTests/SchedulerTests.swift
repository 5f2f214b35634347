@testable import Engine
import Testing

@testable import LocalLLM

extension Scheduler {
    /// Records tokens that a test "sampled".
    ///
    /// - Parameters:
    ///   - remembered: Tokens in the sequence's state: fewer than were computed if drafted ones were rejected.
    ///   - drafted: Tokens drafted for the next step.
    mutating func extend(_ id: ID, by tokens: Int = 1, remembered: Int? = nil, drafted: Int = 0) {
        guard var lengths = lengths(of: id) else { return }
        lengths.known += tokens
        lengths.computed = remembered ?? lengths.computed
        lengths.drafted = drafted
        update(id, to: lengths)
    }
}

@Suite struct SchedulerTests {
    /// A byte a token, in whole pages.
    private static func pages(_ tokens: Int) -> Int { (tokens + 31) / 32 * 32 }

    private typealias Entry = Scheduler.Entry
    private var scheduler = Scheduler(concurrency: 8, capacity: 100_000, stateBytes: Self.pages)

    @Test mutating func `a long prompt goes in pieces, and only the last of them wants logits`() {
        scheduler.add(1, promptTokens: 10)
        #expect(scheduler.nextStep(rows: 4) == [Entry(id: 1, tokens: 0..<4, outputs: 0)])
        #expect(scheduler.nextStep(rows: 4) == [Entry(id: 1, tokens: 4..<8, outputs: 0)])
        #expect(scheduler.nextStep(rows: 4) == [Entry(id: 1, tokens: 8..<10, outputs: 1)])
    }

    @Test mutating func `running answers come before prompts in every step, with a row of their own`() {
        scheduler.add(1, promptTokens: 2)
        _ = scheduler.nextStep(rows: 4)
        #expect(scheduler.isAnswering)
        scheduler.extend(1)
        scheduler.add(2, promptTokens: 9)
        #expect(
            scheduler.nextStep(rows: 4) == [
                Entry(id: 1, tokens: 2..<3, outputs: 1, isAnswer: true),
                Entry(id: 2, tokens: 0..<4, outputs: 0),
            ])
    }

    @Test mutating func `prompts that can be finished have a step before the answers, at most every second one`() {
        scheduler.add(1, promptTokens: 2)
        _ = scheduler.nextStep(rows: 4)
        scheduler.extend(1)
        scheduler.add(2, promptTokens: 20)
        scheduler.add(3, promptTokens: 3)
        scheduler.add(4, promptTokens: 1)
        scheduler.add(5, promptTokens: 2)
        #expect(
            scheduler.nextStep(rows: 4) == [
                Entry(id: 4, tokens: 0..<1, outputs: 1), Entry(id: 5, tokens: 0..<2, outputs: 1),
            ])
        for id in [4, 5] { scheduler.extend(id) }
        scheduler.add(6, promptTokens: 1)
        // The answers, half of the rows for the oldest prompt, and the others for the shortest.
        #expect(scheduler.nextStep(rows: 4).map(\.id) == [1, 4, 5, 2, 6, 3])
        for id in [1, 4, 5, 6] { scheduler.extend(id) }
        #expect(scheduler.nextStep(rows: 4) == [Entry(id: 3, tokens: 1..<3, outputs: 1)])
    }

    @Test mutating func `hundreds of drafted tokens do not delay other answers`() {
        scheduler.add(1, promptTokens: 2)
        _ = scheduler.nextStep(rows: 512)
        scheduler.extend(1, drafted: 400)
        #expect(scheduler.nextStep(rows: 512) == [Entry(id: 1, tokens: 2..<403, outputs: 401, isAnswer: true)])
        scheduler.add(2, promptTokens: 2)
        _ = scheduler.nextStep(rows: 512)
        let rows = Scheduler.draftedRows
        scheduler.extend(1, remembered: 2, drafted: 400)
        scheduler.extend(2)
        #expect(scheduler.nextStep(rows: 512).map(\.tokens.count) == [1 + rows, 1])
        // Answers with drafts share the rows.
        scheduler.extend(1, remembered: 3, drafted: 400)
        scheduler.extend(2, remembered: 2, drafted: 400)
        #expect(scheduler.nextStep(rows: 512).map(\.tokens.count) == [1 + rows / 2, 1 + rows / 2])
    }

    @Test func `answers of a client with many take turns beside another client, and only then`() {
        var scheduler = Scheduler(concurrency: 64, capacity: 100_000, stateBytes: Self.pages)
        let many = Array(1...20)
        for id in many { scheduler.add(id, client: "a", promptTokens: 1) }
        _ = scheduler.nextStep(rows: 64)
        for id in many { scheduler.extend(id) }
        #expect(scheduler.nextStep(rows: 64).map(\.id) == many)
        for id in many { scheduler.extend(id) }
        scheduler.add(21, client: "b", promptTokens: 1)
        #expect(scheduler.nextStep(rows: 64) == [Entry(id: 21, tokens: 0..<1, outputs: 1)])
        scheduler.extend(21)
        var rows = [Int: Int]()
        for _ in 0..<15 {
            let entries = scheduler.nextStep(rows: 64)
            #expect(entries.count == Scheduler.clientRows + 1)
            #expect(entries.contains { $0.id == 21 && $0.isAnswer })
            for entry in entries {
                rows[entry.id, default: 0] += 1
                scheduler.extend(entry.id)
            }
        }
        // 15 steps of 8 rows for 20 answers.
        #expect(many.allSatisfy { rows[$0] == 6 })
        scheduler.remove(21)
        #expect(scheduler.nextStep(rows: 64).count == 20)
    }

    @Test func `a short prompt does not wait for the many short prompts of another client`() {
        var scheduler = Scheduler(concurrency: 64, capacity: 100_000, stateBytes: Self.pages)
        for id in 1...20 { scheduler.add(id, client: "a", promptTokens: 8) }
        scheduler.add(21, client: "b", promptTokens: 9)
        // Half of the rows go to the oldest prompt, which needs 8 of them; then the other client has its turn.
        let entries = scheduler.nextStep(rows: 24)
        #expect(entries.map(\.id) == [1, 21, 2])
        #expect(entries.map(\.tokens) == [0..<8, 0..<9, 0..<7])
    }

    @Test mutating func `the last token of a prompt is no answer, even if it comes alone`() {
        scheduler.add(1, promptTokens: 5)
        scheduler.add(2, promptTokens: 3)
        _ = scheduler.nextStep(rows: 4)
        _ = scheduler.nextStep(rows: 4)
        #expect(scheduler.nextStep(rows: 4).isEmpty)
        scheduler.add(3, promptTokens: 5)
        _ = scheduler.nextStep(rows: 4)
        #expect(scheduler.nextStep(rows: 4) == [Entry(id: 3, tokens: 4..<5, outputs: 1)])
    }

    @Test mutating func `a short prompt does not wait for a long one, nor the long one for many short ones`() {
        scheduler.add(1, promptTokens: 100)
        scheduler.add(2, promptTokens: 50)
        scheduler.add(3, promptTokens: 3)
        scheduler.add(4, promptTokens: 4)
        #expect(
            scheduler.nextStep(rows: 10) == [
                Entry(id: 1, tokens: 0..<5, outputs: 0), Entry(id: 3, tokens: 0..<3, outputs: 1),
                Entry(id: 4, tokens: 0..<2, outputs: 0),
            ])
        #expect(
            scheduler.nextStep(rows: 10) == [
                Entry(id: 1, tokens: 5..<10, outputs: 0), Entry(id: 4, tokens: 2..<4, outputs: 1),
                Entry(id: 2, tokens: 0..<3, outputs: 0),
            ])
    }

    @Test mutating func `rows that nobody else needs go to the oldest prompt`() {
        scheduler.add(1, promptTokens: 100)
        scheduler.add(2, promptTokens: 3)
        #expect(scheduler.nextStep(rows: 10).map(\.tokens) == [0..<7, 0..<3])
        #expect(scheduler.nextStep(rows: 10).map(\.tokens) == [7..<17])
    }

    @Test func `what exceeds the concurrency waits, and comes in order`() {
        var scheduler = Scheduler(concurrency: 1, capacity: 1_000, stateBytes: Self.pages)
        for id in 1...3 { scheduler.add(id, promptTokens: 2) }
        #expect(scheduler.nextStep(rows: 8).map(\.id) == [1])
        #expect(scheduler.counts == (1, 2))
        scheduler.remove(1)
        #expect(scheduler.nextStep(rows: 8).map(\.id) == [2])
        scheduler.remove(3)
        scheduler.remove(2)
        #expect(scheduler.nextStep(rows: 8).isEmpty)
    }

    @Test mutating func `a sequence that has no new token is not computed again`() {
        scheduler.add(1, promptTokens: 3)
        _ = scheduler.nextStep(rows: 8)
        #expect(scheduler.nextStep(rows: 8).isEmpty)
    }

    @Test func `sequences that do not fit the memory together run one after the other`() {
        var scheduler = Scheduler(concurrency: 4, capacity: 100, stateBytes: Self.pages)
        scheduler.add(1, promptTokens: 200)
        scheduler.add(2, promptTokens: 1)
        scheduler.add(3, promptTokens: 1)
        #expect(scheduler.use == 0)
        #expect(scheduler.nextStep(rows: 300).map(\.id) == [1])
        // 224 bytes, as one sequence always runs.
        #expect(scheduler.use == 1)
        scheduler.remove(1)
        #expect(scheduler.nextStep(rows: 300).map(\.id) == [2, 3])
        #expect(scheduler.use == 0.64)
    }

    @Test func `the youngest makes room for those that grow, and later computes its tokens again`() {
        var scheduler = Scheduler(concurrency: 4, capacity: 200, stateBytes: Self.pages)
        scheduler.add(1, promptTokens: 30)
        scheduler.add(2, promptTokens: 30)
        _ = scheduler.nextStep(rows: 100)
        for _ in 0..<40 {
            #expect(scheduler.preempt() == [])
            scheduler.extend(1)
            scheduler.extend(2)
            #expect(scheduler.nextStep(rows: 100).count == 2)
        }
        scheduler.capacity = 180
        #expect(scheduler.preempt() == [2])
        scheduler.extend(1)
        #expect(scheduler.nextStep(rows: 100).map(\.id) == [1])
        scheduler.remove(1)
        #expect(scheduler.nextStep(rows: 100) == [Entry(id: 2, tokens: 0..<30, outputs: 0)])
        #expect(scheduler.nextStep(rows: 100) == [Entry(id: 2, tokens: 30..<70, outputs: 1, isAnswer: true)])
        #expect(scheduler.preempt() == [], "one alone always runs")
    }

    @Test func `whoever asks for much at once shuts nobody out`() {
        var scheduler = Scheduler(concurrency: 20, capacity: 100_000, stateBytes: Self.pages)
        for id in 1...40 { scheduler.add(id, group: 7, promptTokens: 1) }
        scheduler.add(41, promptTokens: 1)
        for id in 42...44 { scheduler.add(id, group: 8, promptTokens: 1) }
        #expect(scheduler.nextStep(rows: 100).map(\.id).sorted() == Array(1...16) + Array(41...44))
        for id in [42, 43] { scheduler.remove(id) }
        #expect(scheduler.nextStep(rows: 100).isEmpty, "no more than 16 of a group")
        scheduler.remove(3)
        #expect(scheduler.nextStep(rows: 100).map(\.id) == [17])
    }

    @Test mutating func `what is remembered of a prompt is not computed`() {
        scheduler.add(1, promptTokens: 70)
        #expect(
            scheduler.nextStep(rows: 100) { _ in 64 } == [Entry(id: 1, tokens: 64..<70, outputs: 1)])
    }

    @Test mutating func `a prompt that begins like another waits for that much of it`() {
        scheduler.add(1, promptTokens: 100)
        scheduler.add(2, promptTokens: 90, after: (id: 1, tokens: 64))
        #expect(scheduler.nextStep(rows: 50).map(\.id) == [1])
        #expect(scheduler.nextStep(rows: 50).map(\.id) == [1])
        #expect(scheduler.nextStep(rows: 50) { _ in 64 } == [Entry(id: 2, tokens: 64..<90, outputs: 1)])
    }

    @Test mutating func `a prompt does not wait for one that is gone`() {
        scheduler.add(1, promptTokens: 100)
        scheduler.add(2, promptTokens: 90, after: (id: 1, tokens: 64))
        _ = scheduler.nextStep(rows: 50)
        scheduler.remove(1)
        #expect(scheduler.nextStep(rows: 50) == [Entry(id: 2, tokens: 0..<50, outputs: 0)])
    }
}
