import CIntrinsics
import KernelsFloat

/// Eight floats in a register.
///
/// All conformances are declared here: for one in an extension, the compiler emits metadata, and functions that other
/// modules share (Tests/House/tiers.sh).
struct EightFloats: BlockVector, Lanes {
    typealias Codes = SixteenBytes
    let v: __m256

    @inline(__always) init(_ v: __m256) { self.v = v }
}
