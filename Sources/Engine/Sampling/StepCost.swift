/// Times of decoding steps by their number of rows, measured while they run.
struct StepCost {
    /// Maximum rows of a step to measure.
    static let most = 16
    private static let weight = 0.125
    /// Weight of a new observation of a number of rows that was not used for `restingSteps`.
    private static let weightAfterRest = 0.5
    /// Steps after which the time of more rows than were used is doubted, and approaches that of the used rows: a time
    /// measured too long would else keep its rows from being used again.
    private static let restingSteps = 32
    private static let decayOfResting = 0.99
    /// Time of an additional row as a fraction of a step with one row, before it was measured: typical for weights read
    /// from memory.
    private static let costOfRow = 0.25

    /// Seconds by number of rows, averaged; 0: not measured.
    private var measured = [Double](repeating: 0, count: most + 1)
    /// Steps with fewer rows since the last measurement, by number of rows.
    private var rest = [Int](repeating: restingSteps, count: most + 1)

    var isMeasured: Bool { measured.contains { $0 > 0 } }

    /// Records a step that computed only answers.
    mutating func learn(rows: Int, seconds: Double) {
        guard rows <= Self.most, seconds > 0 else { return }
        guard isMeasured else {
            (measured[rows], rest[rows]) = (seconds, 0)
            return
        }
        let known = self.seconds(rows)
        // Clamped: a step that the system interrupted says nothing about rows.
        let clamped = min(seconds, 2 * known)
        measured[rows] =
            known + (clamped - known) * (rest[rows] < Self.restingSteps ? Self.weight : Self.weightAfterRest)
        rest[rows] = 0
        for more in rows..<Self.most where measured[more + 1] > 0 {
            rest[more + 1] += 1
            guard rest[more + 1] > Self.restingSteps else { continue }
            measured[more + 1] = max(measured[rows], measured[more + 1] * Self.decayOfResting)
        }
    }

    /// Seconds of a step with so many rows: measured, or estimated from steps with other numbers of rows; in units of a
    /// step with one row if nothing was measured.
    func seconds(_ rows: Int) -> Double {
        if rows <= Self.most, measured[rows] > 0 { return measured[rows] }
        func typical(_ rows: Int) -> Double { 1 + Self.costOfRow * Double(rows - 1) }
        let below = measured[...min(rows, Self.most)].lastIndex { $0 > 0 }
        let above = measured.dropFirst(rows).firstIndex { $0 > 0 }
        switch (below, above) {
        case (nil, nil): return typical(rows)
        case (nil, let above?): return measured[above] * typical(rows) / typical(above)
        case (let below?, let above?):
            let share = Double(rows - below) / Double(above - below)
            return max(measured[below], measured[below] + share * (measured[above] - measured[below]))
        case (let below?, nil):
            let least = measured.firstIndex { $0 > 0 } ?? below
            let slope =
                least < below
                ? (measured[below] - measured[least]) / Double(below - least)
                : measured[below] * Self.costOfRow / typical(below)
            return measured[below] + max(0, slope) * Double(rows - below)
        }
    }
}
