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
        #expect(lookup.guess(2) == nil)
    }

    @Test func `of several places the longest match counts, then the last`() {
        let text: [Int32] = [7, 1, 2, 3, 50, 9, 1, 2, 3, 60, 9, 8, 1, 2, 3, 70, 9]
        var lookup = PromptLookup(expected: [], prompt: text + [7, 1, 2, 3])
        #expect(lookup.guess(1) == .init(match: 4, tokens: [50]))
        lookup.append([4, 1, 2, 3])
        #expect(lookup.guess(1) == .init(match: 3, tokens: [4]))
    }

    @Test func `a text that repeats itself goes on repeating itself`() {
        let lookup = PromptLookup(expected: [], prompt: [1, 2, 1, 2, 1, 2])
        #expect(lookup.guess(5) == .init(match: 4, tokens: [1, 2, 1, 2, 1]))
    }

    @Test func `what is expected is the guess as long as it is right, and found again afterwards`() {
        var lookup = PromptLookup(expected: [10, 11, 12, 13, 14, 15], prompt: [1, 2, 3])
        #expect(lookup.guess(2)?.tokens == [10, 11])
        lookup.append([10, 11])
        #expect(lookup.guess(9)?.tokens == [12, 13, 14, 15])
        lookup.append([99])
        #expect(lookup.guess(2) == nil)
        lookup.append([11, 12, 13])
        #expect(lookup.guess(1) == .init(match: 3, tokens: [14]))
    }

    @Test func `a long text of one token costs a bounded number of comparisons`() {
        var lookup = PromptLookup(expected: [], prompt: Array(repeating: 5, count: 20_000))
        for _ in 0..<1000 {
            lookup.append([5])
            #expect(lookup.guess(15) == .init(match: PromptLookup.longestMatch, tokens: Array(repeating: 5, count: 15)))
        }
    }

    @Test func `drafts are as long as guesses are right and rows are cheap`() {
        var length = DraftLength()
        #expect(length.count(match: 3, of: 15, costOfRow: 0.9) == 0)
        #expect(length.count(match: 3, of: 0, costOfRow: 0) == 0)
        for _ in 0..<100 { length.learn(match: 3, isRight: false) }
        #expect(length.count(match: 3, of: 15, costOfRow: 0.1) == 0)
        #expect(length.count(match: 8, of: 15, costOfRow: 0.1) > 0)
        for match in 3..<40 { for _ in 0..<100 { length.learn(match: match, isRight: true) } }
        #expect(length.count(match: 3, of: 15, costOfRow: 0.1) == 15)
        #expect(length.count(match: 3, of: 4, costOfRow: 0.1) == 4)
    }

    @Test func `the cost of a row is learned from steps with one row and with several`() {
        var cost = RowCost()
        cost.learn(rows: 5, seconds: 1)
        #expect(cost.ofRow == 0.25)
        for _ in 0..<100 {
            cost.learn(rows: 1, seconds: 0.010)
            cost.learn(rows: 5, seconds: 0.014)
        }
        #expect(abs(cost.ofRow - 0.1) < 0.001)
    }
}
