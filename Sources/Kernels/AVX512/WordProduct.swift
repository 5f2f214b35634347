// Products of 16-bit integers, for prompts and weights in F16 and BF16; see `WordTile`.

public import KernelFormats
import KernelsFloat

/// As `KernelsFloat.roundWords`.
@inline(never)
public func roundWords(
    _ values: UnsafePointer<Float>, count: Int, into slices: UnsafeMutableRawPointer, sliceStride: Int, token: Int
) -> Float {
    roundWords(SixteenIntegers.self, values, count: count, into: slices, sliceStride: sliceStride, token: token)
}

/// As `KernelsFloat.unpackWords`.
@inline(never)
public func unpackWords(
    _ type: TensorType, _ weights: UnsafeRawPointer, columns: Int, into panel: UnsafeMutableRawPointer
) {
    unpackWords(SixteenIntegers.self, type, weights, columns: columns, into: panel)
}

/// As `KernelsFloat.multiplyWords`. Six tokens by two panels are twelve sums, enough for the latency of `vpdpwssd`.
@inline(never)
public func multiplyWords(_ product: WordProduct) { multiplyWords(SixColumns<SixteenIntegers>.self, product) }
