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

}
