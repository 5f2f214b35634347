import Testing

@testable import Engine
@testable import LocalLLM

/// Seconds are made up: `TimeShares` has no clock.
@Suite struct TimeSharesTests {
    /// Runs steps until `seconds` are over, in which a client with one row shares with one that has `rows`.
    ///
    /// - Returns: How many rows each of them got.
    private func run(rows: Int, seconds: Double, secondsOfStep: (_ rows: Int) -> Double) -> (one: Int, many: Int) {
        var shares = TimeShares()
        var (time, one, many) = (0.0, 0, 0)
        while time < seconds {
            let others = shares.resting.contains("many") ? 0 : rows
            #expect(!shares.resting.contains("one"))
            let step = secondsOfStep(1 + others)
            var costs = ["one": step / Double(1 + others)]
            if others > 0 { costs["many"] = step - costs["one"]! }
            shares.account(costs)
            time += step
            one += 1
            many += others
        }
        return (one, many)
    }

    @Test func `a client with few rows runs half as fast beside one with many, if each row takes time`() {
        let (one, many) = run(rows: 99, seconds: 100) { Double($0) * 0.001 }
        // Alone it would have had 100,000.
        #expect(one > 45_000)
        // The other client has the other half of the time.
        #expect(many > 45_000)
    }

    @Test func `nobody sits out for long where more rows hardly take longer`() {
        let (one, many) = run(rows: 8, seconds: 100) { 0.1 + Double($0) * 0.002 }
        #expect(one > 800)
        #expect(many > one * 8 * 8 / 10)
    }

    @Test func `who rests returns when the others have nothing to do`() {
        var shares = TimeShares()
        shares.account(["a": 0.001, "b": 0.2])
        #expect(shares.resting == ["b"])
        shares.account(["a": 0.001])
        #expect(shares.resting.isEmpty)
        shares.account(["a": 0.001, "b": 0.2])
        #expect(shares.resting == ["b"])
        shares.endRest()
        #expect(shares.resting.isEmpty)
        // Clients with equal costs, or one alone, never rest.
        for _ in 0..<10_000 {
            shares.account(["a": 0.2, "b": 0.2])
            shares.account(["a": 0.2])
            shares.account([:])
            #expect(shares.resting.isEmpty)
        }
    }
}
