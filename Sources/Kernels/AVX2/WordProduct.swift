// Products of 16-bit integers, for prompts and weights in F16 and BF16; see `WordTile`.

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

/// As `KernelsFloat.multiplyWords`.
@inline(never)
public func multiplyWords(_ product: WordProduct) { multiplyWords(SixColumns<EightIntegers>.self, product) }

/// Multiplies the results of a token for groups of 16 rows, `stride` floats apart, by the token's scale.
@inline(never)
public func scaleResults(
    _ results: UnsafePointer<Float>, stride: Int, groups: Int, by scale: Float, into c: UnsafeMutablePointer<Float>
) {
    let scale = EightFloats(scale)
    for group in 0..<groups {
        let (source, target) = (results + group &* stride, c + group &* PackedFloats.rows)
        (EightFloats.load(source) * scale).store(target)
        (EightFloats.load(source + 8) * scale).store(target + 8)
    }
}
