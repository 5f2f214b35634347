import KernelFormats
import Testing

@testable import Engine

@Suite struct ReadingPaceTests {
    private func pace(secondsOfRow: Double) -> ReadingPace {
        var pace = ReadingPace()
        pace.learn(rows: 100, since: .now - .seconds(100 * secondsOfRow))
        return pace
    }

    @Test func `a step beside an answer has a page of a slow model's rows, beside anything else four`() {
        for pace in [ReadingPace(), pace(secondsOfRow: 0.01)] {
            #expect(pace.rows(beside: .answers) == pageTokens)
            #expect(pace.rows(beside: .others) == 4 * pageTokens)
            #expect(pace.rows(beside: .nobody) == 4 * pageTokens)
        }
    }

    @Test func `a step beside an answer takes half as long as beside anything else`() {
        // 100 and 200 rows; the clock has gone on a little since the step.
        let pace = pace(secondsOfRow: 0.0001)
        #expect((80...100).contains(pace.rows(beside: .answers)))
        #expect((160...200).contains(pace.rows(beside: .others)))
    }

    @Test func `a fast model's step has no more rows than any step`() {
        let pace = pace(secondsOfRow: 1e-9)
        for company: ReadingCompany in [.nobody, .others, .answers] { #expect(pace.rows(beside: company) <= 512) }
    }
}
