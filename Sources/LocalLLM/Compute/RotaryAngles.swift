/// Which values of a head rotary embedding turns together.
enum RotaryLayout: Sendable {
    /// Values (0, 1), (2, 3), … turn together.
    case adjacent
    /// Values (0, n), (1, n + 1), … turn together, n half the rotated width.
    case halves
    /// Each half of a head by itself, as `halves`.
    case halvesOfHalves
}

/// The angles of a step's rows, `[rows, pairs]` each, computed once for all layers.
struct RotaryAngles {
    let layout: RotaryLayout
    let cosines: Matrix
    let sines: Matrix
}
