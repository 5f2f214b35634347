/// Times of decoding steps by their number of rows, measured while they run.
struct StepCost {
    /// Maximum rows of a step to measure.
    static let most = 16
    private static let weight = 0.125
    /// Time of an additional row as a fraction of a step with one row, before it was measured: typical for weights read
    /// from memory.
    private static let costOfRow = 0.25

    /// Seconds by number of rows, averaged; 0: not measured.
    private var measured = [Double](repeating: 0, count: most + 1)

    /// Records a step that computed only answers.
    mutating func learn(rows: Int, seconds: Double) {
        guard rows <= Self.most, seconds > 0 else { return }
        let isFirst = measured.allSatisfy { $0 == 0 }
        let known = isFirst ? seconds : self.seconds(rows)
        // Clamped: a step that the system interrupted says nothing about rows.
        let clamped = min(seconds, 2 * known)
        measured[rows] = measured[rows] == 0 ? clamped : known + (clamped - known) * Self.weight
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
