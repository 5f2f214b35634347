/// Multiplies a vector by a symmetric orthogonal matrix, which is therefore its own inverse: Hadamard matrices along the
/// diagonal, whose sizes are the powers of two that `count` is the sum of, the largest first.
///
/// Each result is a sum of all values of its block with signs. A few large values are so spread over the block, and the
/// values become alike in size, as quantization to few levels needs them (QuaRot, Ashkboos et al. 2024).
@inline(never)
public func hadamard(_ values: UnsafeMutablePointer<Float>, count: Int) {
    var start = 0
    while start < count {
        let size = 1 << (Int.bitWidth - 1 - (count &- start).leadingZeroBitCount)
        transform(values + start, size)
        start &+= size
    }
}

/// The fast Walsh–Hadamard transform of a power of two of values, divided by the square root of their number.
@inline(__always)
private func transform(_ x: UnsafeMutablePointer<Float>, _ size: Int) {
    var half = 1
    while half < size {
        var start = 0
        while start < size {
            let a = x + start, b = x + (start &+ half)
            var i = 0
            while i &+ 4 <= half {
                let (p, q) = (load4(a + i), load4(b + i))
                store4(p + q, a + i)
                store4(p - q, b + i)
                i &+= 4
            }
            while i < half {
                let (p, q) = (a[i], b[i])
                a[i] = p + q
                b[i] = p - q
                i &+= 1
            }
            start &+= 2 &* half
        }
        half &*= 2
    }
    let scale = 1 / Float(size).squareRoot()
    for i in 0..<size { x[i] *= scale }
}

@inline(__always)
private func load4(_ p: UnsafePointer<Float>) -> SIMD4<Float> {
    UnsafeRawPointer(p).loadUnaligned(as: SIMD4<Float>.self)
}

@inline(__always)
private func store4(_ v: SIMD4<Float>, _ p: UnsafeMutablePointer<Float>) {
    UnsafeMutableRawPointer(p).storeBytes(of: v, as: SIMD4<Float>.self)
}
