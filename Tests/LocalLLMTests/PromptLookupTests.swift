@testable import Engine
import Testing

@testable import LocalLLM

@Suite struct PromptLookupTests {
    @Test func `what followed the same tokens before is the guess`() {
        var lookup = PromptLookup(expected: [], prompt: [1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 3])
        #expect(lookup.guess(3) == nil)
        lookup.append([4])
        #expect(lookup.guess(3) == .init(match: 3, tokens: [5, 6, 7]))
        lookup.append([5, 6])
        #expect(lookup.guess(2) == .init(match: 5, tokens: [7, 8]))
        lookup.append([1])
        #expect(lookup.guess(2) == .init(match: 0, tokens: [8, 9]))
    }

    @Test func `of several places the longest match counts, then the last`() {
        let text: [Int32] = [7, 1, 2, 3, 50, 9, 1, 2, 3, 60, 9, 8, 1, 2, 3, 70, 9]
        var lookup = PromptLookup(expected: [], prompt: text + [7, 1, 2, 3])
        #expect(lookup.guess(1) == .init(match: 4, tokens: [50]))
        lookup.append([4, 1, 2, 3])
        #expect(lookup.guess(1) == .init(match: 3, tokens: [4]))
    }

    @Test func `a text that repeats itself goes on repeating itself`() {
        var lookup = PromptLookup(expected: [], prompt: [1, 2, 1, 2, 1, 2])
        #expect(lookup.guess(5) == .init(match: 4, tokens: [1, 2, 1, 2, 1]))
    }

    @Test func `what is expected is the guess as long as it is right, and found again afterwards`() {
        var lookup = PromptLookup(expected: [10, 11, 12, 13, 14, 15], prompt: [1, 2, 3])
        #expect(lookup.guess(2)?.tokens == [10, 11])
        lookup.append([10, 11])
        #expect(lookup.guess(9)?.tokens == [12, 13, 14, 15])
        lookup.append([99, 98, 97, 96])
        #expect(lookup.guess(2) == nil)
        lookup.append([11, 12, 13])
        #expect(lookup.guess(1) == .init(match: 3, tokens: [14]))
    }

    @Test func `after a token that differs the guess continues behind it`() {
        var lookup = PromptLookup(expected: [], prompt: Array(1...20) + [2, 3, 4])
        #expect(lookup.guess(2) == .init(match: 3, tokens: [5, 6]))
        lookup.append([5, 99])
        #expect(lookup.guess(2) == .init(match: 0, tokens: [7, 8]))
        lookup.append([7, 8])
        #expect(lookup.guess(2) == .init(match: 2, tokens: [9, 10]))
        lookup.append([9])
        #expect(lookup.guess(2) == .init(match: 3, tokens: [10, 11]))
        lookup.append([98, 97, 96])
        #expect(lookup.guess(2) == nil)
    }

    @Test func `a long text of one token costs a bounded number of comparisons`() {
        var lookup = PromptLookup(expected: [], prompt: Array(repeating: 5, count: 20_000))
        for _ in 0..<1000 {
            lookup.append([5])
            #expect(lookup.guess(15) == .init(match: PromptLookup.longestMatch, tokens: Array(repeating: 5, count: 15)))
        }
    }

    /// Costs of a model whose steps take 1 s, and `row` s for each row but the first.
    private func cost(row: Double) -> StepCost {
        var cost = StepCost()
        for _ in 0..<100 {
            for rows in 1...StepCost.most { cost.learn(rows: rows, seconds: 1 + row * Double(rows - 1)) }
        }
        return cost
    }

    @Test func `drafts are as long as guesses are right and rows are cheap`() throws {
        var length = DraftLength.ofMatches
        let room = try #require(DraftRoom(answers: 1))
        func count(match: Int, of available: Int = 15, row: Double, recomputes: Bool = false) -> Int {
            length.count(
                kinds: (0..<available).map { DraftLength.kind(match: match + $0) }, room: room, cost: cost(row: row),
                recomputes: recomputes)
        }
        #expect(count(match: 3, row: 0.9) == 0)
        #expect(count(match: 3, of: 0, row: 0) == 0)
        // What recurrent layers compute again makes a wrong draft dearer.
        #expect(count(match: 10, row: 0.3, recomputes: true) < count(match: 10, row: 0.3))
        for _ in 0..<100 { length.learn(kind: DraftLength.kind(match: 3), isRight: false) }
        #expect(count(match: 3, row: 0.1) == 0)
        #expect(count(match: 8, row: 0.1) > 0)
        for kind in 0...5 { for _ in 0..<100 { length.learn(kind: kind, isRight: true) } }
        #expect(count(match: 3, row: 0.1) == 15)
        #expect(count(match: 3, of: 4, row: 0.1) == 4)
    }

    @Test func `answers that share a step have room for fewer drafts each`() {
        #expect((1...9).map { DraftRoom(answers: $0)?.rows } == [15, 7, 4, 3, 2, 1, 1, 1, nil])
        #expect(DraftRoom(answers: 0) == nil)
        var length = DraftLength.ofMatches
        for kind in 0...5 { for _ in 0..<100 { length.learn(kind: kind, isRight: true) } }
        // With rows as dear as steps, a draft that is right delays the others as much as it gains.
        #expect(DraftRoom(answers: 4).map { length.count(kinds: [5, 5, 5], room: $0, cost: cost(row: 1)) } == 0)
        #expect(DraftRoom(answers: 4).map { length.count(kinds: [5, 5, 5], room: $0, cost: cost(row: 0.1)) } == 3)
    }

    @Test func `the time of a step is measured by its rows, and estimated between them`() {
        var cost = StepCost()
        #expect(cost.seconds(5) == 2)
        for _ in 0..<100 {
            cost.learn(rows: 1, seconds: 0.010)
            cost.learn(rows: 5, seconds: 0.014)
        }
        #expect(abs(cost.seconds(1) - 0.010) < 1e-6)
        #expect(abs(cost.seconds(3) - 0.012) < 1e-6)
        #expect(abs(cost.seconds(9) - 0.018) < 1e-6)
        // A single step that was interrupted changes little.
        cost.learn(rows: 5, seconds: 1)
        #expect(cost.seconds(5) < 0.016)
        // Rows that were found dear are tried again after a while.
        for _ in 0..<100 { cost.learn(rows: 5, seconds: 0.030) }
        for _ in 0..<150 { cost.learn(rows: 1, seconds: 0.010) }
        #expect(cost.seconds(5) < 0.012)
    }
}
