import Compute
import KernelFormats
import Testing

@testable import Engine

@Suite struct StepPaceTests {
    private let attention = StateShape([ToyNetwork.keysAndValues])
    private let recurrent = StateShape([.recurrent(floats: 1)])

    private func pace(secondsOfRow: Double) -> StepPace {
        var pace = StepPace()
        pace.learn(rows: 100, seconds: 100 * secondsOfRow)
        return pace
    }

    @Test func `beside an answer as many rows of a slow model as take 50 ms, at least 8, at most a page`() {
        func rows(_ pace: StepPace) -> Int { pace.rows(beside: .answers, of: attention) }
        #expect(rows(StepPace()) == 8)
        #expect(rows(pace(secondsOfRow: 0.02)) == 8)
        #expect(rows(pace(secondsOfRow: 0.0025)) == 20)
        #expect(rows(pace(secondsOfRow: 0.001)) == pageTokens)
    }

    @Test func `layers with a recurrent state get whole pages`() {
        for pace in [StepPace(), pace(secondsOfRow: 0.02)] {
            #expect(pace.rows(beside: .answers, of: recurrent) == pageTokens)
        }
    }

    @Test func `a step beside anything else has at least four pages of rows`() {
        for pace in [StepPace(), pace(secondsOfRow: 0.02)] {
            #expect(pace.rows(beside: .others, of: attention) == 4 * pageTokens)
            #expect(pace.rows(beside: .nobody, of: attention) == 4 * pageTokens)
        }
    }

    @Test func `a step of a fast model takes 10 ms beside an answer and 20 ms beside anything else`() {
        let pace = pace(secondsOfRow: 0.0001)
        #expect((99...100).contains(pace.rows(beside: .answers, of: attention)))
        #expect((199...200).contains(pace.rows(beside: .others, of: attention)))
    }

    @Test func `no step has more rows than any step`() {
        let pace = pace(secondsOfRow: 1e-9)
        for company: StepCompany in [.nobody, .others, .answers] {
            #expect(pace.rows(beside: company, of: attention) == StateShape.stepRows)
        }
    }
}
