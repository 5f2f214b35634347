import Platform

/// Which values of a head form the pairs that rotary embedding rotates.
package enum RotaryLayout: Sendable {
    /// Pairs (0, 1), (2, 3), …
    case adjacent
    /// Pairs (0, n), (1, n + 1), …, where n is half of the rotated width.
    case halves
    /// `halves` within each half of a head separately.
    case halvesOfHalves
}

/// Cosines and sines of a step's rows, `[rows, pairs]` each, computed once for all layers.
package struct RotaryAngles {
    package let layout: RotaryLayout
    package let cosines: Matrix
    package let sines: Matrix

    package init(layout: RotaryLayout, cosines: Matrix, sines: Matrix) {
        (self.layout, self.cosines, self.sines) = (layout, cosines, sines)
    }

    /// Computes the angles `position · frequency`.
    ///
    /// - Parameters:
    ///   - frequencies: Radians per position, for each pair.
    ///   - magnitude: Factor on cosines and sines.
    ///   - memory: `[rows, 2 · pairs]`; holds the result.
    package init(
        layout: RotaryLayout, frequencies: [Double], magnitude: Double, in memory: Matrix,
        position: (_ row: Int, _ pair: Int) -> Int32
    ) {
        let pairs = frequencies.count
        self.init(
            layout: layout, cosines: memory[columns: 0, count: pairs], sines: memory[columns: pairs, count: pairs])
        for row in 0..<memory.rows {
            for (pair, frequency) in frequencies.enumerated() {
                let angle = Double(position(row, pair)) * frequency
                cosines[row][pair] = Float(cos(angle) * magnitude)
                sines[row][pair] = Float(sin(angle) * magnitude)
            }
        }
    }
}
