import CIntrinsics

/// As `KernelsPortable.storeHalf`, but a NaN keeps the upper bits of its payload. `count` is a multiple of 8.
@inline(never)
public func storeHalf(
    _ source: UnsafePointer<Float>, into destination: UnsafeMutablePointer<UInt16>, stride: Int, count: Int
) {
    for first in Swift.stride(from: 0, to: count, by: 8) {
        let halves = unsafeBitCast(nearest_halves(_mm256_loadu_ps(source + first)), to: SIMD8<UInt16>.self)
        let target = destination + first &* stride
        if stride == 1 {
            UnsafeMutableRawPointer(target).storeBytes(of: halves, as: SIMD8<UInt16>.self)
        } else {
            for index in 0..<8 { target[index &* stride] = halves[index] }
        }
    }
}
