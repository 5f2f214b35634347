/// Writes `scale · byte` for each of the eight unsigned bytes of `point`, negated if its bit in `signs` is set.
@inline(__always)
func storeSigned(_ point: UInt64, _ signs: UInt8, _ scale: Float, to out: UnsafeMutablePointer<Float>) {
    for j in 0..<8 {
        let value = scale * Float(UInt8(truncatingIfNeeded: point &>> UInt64(truncatingIfNeeded: 8 * j)))
        let sign = UInt32(signs) &<< UInt32(truncatingIfNeeded: 31 - j) & 0x8000_0000
        out[j] = Float(bitPattern: value.bitPattern ^ sign)
    }
}
