/// Writes `scale · (byte + shift)` for each of the eight signed bytes of `point`.
@inline(__always)
func storeShifted(_ point: UInt64, _ shift: Float, _ scale: Float, to out: UnsafeMutablePointer<Float>) {
    for j in 0..<8 {
        let value = Float(Int8(truncatingIfNeeded: point &>> UInt64(truncatingIfNeeded: 8 * j)))
        out[j] = scale * (value + shift)
    }
}
