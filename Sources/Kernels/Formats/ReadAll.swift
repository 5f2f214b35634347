/// The sum of the 64-bit words in `bytes` bytes, with loads of a vector each: to measure the read bandwidth.
///
/// Narrow loads reach less of it, as each takes one of the places for loads that wait for a cache line.
///
/// - Parameter bytes: A multiple of the size of four vectors.
@inlinable
@inline(__always)
public func sumOfWords<Vector: SIMD>(_: Vector.Type, _ memory: UnsafeRawPointer, bytes: Int) -> UInt64
where Vector.Scalar == UInt64 {
    var (s0, s1, s2, s3) = (Vector(), Vector(), Vector(), Vector())
    let size = MemoryLayout<Vector>.size
    var p = memory
    let end = memory + bytes
    while p < end {
        s0 &+= p.loadUnaligned(as: Vector.self)
        s1 &+= p.loadUnaligned(fromByteOffset: size, as: Vector.self)
        s2 &+= p.loadUnaligned(fromByteOffset: 2 &* size, as: Vector.self)
        s3 &+= p.loadUnaligned(fromByteOffset: 3 &* size, as: Vector.self)
        p += 4 &* size
    }
    return ((s0 &+ s1) &+ (s2 &+ s3)).wrappedSum()
}
