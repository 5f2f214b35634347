// Converts activations and weights to the 16-bit integers of `WordTile` and `WordPanel`.

public import KernelFormats
import KernelsFloat

/// As `KernelsFloat.roundWords`.
@inline(never)
public func roundWords(
    _ values: UnsafePointer<Float>, count: Int, into slices: UnsafeMutableRawPointer, sliceStride: Int, token: Int
) -> Float {
    roundWords(EightIntegers.self, values, count: count, into: slices, sliceStride: sliceStride, token: token)
}

/// As `KernelsFloat.unpackWords`.
@inline(never)
public func unpackWords(
    _ type: TensorType, _ weights: UnsafeRawPointer, columns: Int, into panel: UnsafeMutableRawPointer
) {
    unpackWords(EightIntegers.self, type, weights, columns: columns, into: panel)
}
