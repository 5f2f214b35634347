import KernelFormats

/// Writes `count` floats as halves, `stride` apart.
@inline(never)
public func storeHalf(
    _ source: UnsafePointer<Float>, into destination: UnsafeMutablePointer<UInt16>, stride: Int, count: Int
) {
    for i in 0..<count { destination[i &* stride] = half(source[i]) }
}
