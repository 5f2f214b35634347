/// Which values of a head form the pairs that rotary embedding rotates.
enum RotaryLayout: Sendable {
    /// Pairs (0, 1), (2, 3), …
    case adjacent
    /// Pairs (0, n), (1, n + 1), …, where n is half of the rotated width.
    case halves
    /// `halves` within each half of a head separately.
    case halvesOfHalves
}

/// Cosines and sines of a step's rows, `[rows, pairs]` each, computed once for all layers.
struct RotaryAngles {
    let layout: RotaryLayout
    let cosines: Matrix
    let sines: Matrix
}
