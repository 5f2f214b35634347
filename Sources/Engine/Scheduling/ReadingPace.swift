import Compute
import KernelFormats

/// Who waits for the engine's thread while it computes a step of a reading.
package enum ReadingCompany: Sendable {
    case nobody
    /// Prompts or other readings.
    case others
    /// Answers, whose streams stall meanwhile.
    case answers
}

/// How many rows a step of a reading has: as many as take a fixed time at the last measured speed.
struct ReadingPace {
    private var secondsOfRow = 0.0

    /// Maximum rows of the next step.
    func rows(beside company: ReadingCompany) -> Int {
        switch company {
        // Fewer rows would read the weights too often.
        case .nobody, .others: max(rows(of: 0.02), 128)
        // As beside prompts: a step of a page takes little longer than one of an answer's token.
        case .answers: max(rows(of: 0.01), pageTokens)
        }
    }

    private func rows(of seconds: Double) -> Int {
        secondsOfRow > 0 ? Int(min(Double(StateShape.stepRows), seconds / secondsOfRow)) : 0
    }

    /// Measures a step.
    mutating func learn(rows: Int, since started: ContinuousClock.Instant) {
        secondsOfRow = max(1e-9, (ContinuousClock.now - started) / .seconds(1) / Double(rows))
    }
}
