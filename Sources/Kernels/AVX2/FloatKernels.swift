// The kernels of `KernelsFloat` with the vectors of this tier. Widths are multiples of 8, if not said otherwise.

public import KernelFormats
import KernelsFloat

/// The 32 tokens of a page, or 32 columns.
private typealias Page = VectorPair<VectorPair<EightFloats>>

/// As `KernelsPortable.rmsNorm`, for any width.
@inline(never)
public func rmsNorm(
    _ x: UnsafePointer<Float>, weight: UnsafePointer<Float>, epsilon: Float, into y: UnsafeMutablePointer<Float>,
    count: Int
) {
    rmsNorm(EightFloats.self, x, weight: weight, epsilon: epsilon, into: y, count: count)
}

/// As `KernelsPortable.layerNorm`, for any width.
@inline(never)
public func layerNorm(
    _ x: UnsafePointer<Float>, weight: UnsafePointer<Float>, epsilon: Float, into y: UnsafeMutablePointer<Float>,
    count: Int
) {
    layerNorm(EightFloats.self, x, weight: weight, epsilon: epsilon, into: y, count: count)
}

/// As `KernelsPortable.softmax`, for any width.
@inline(never)
public func softmax(_ x: UnsafeMutablePointer<Float>, count: Int) { softmax(EightFloats.self, x, count: count) }

@inline(never)
public func swiGLU(
    _ gate: UnsafePointer<Float>, _ up: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int
) {
    swiGLU(EightFloats.self, gate, up, into: y, count: count)
}

@inline(never)
public func geGLU(
    _ gate: UnsafePointer<Float>, _ up: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int
) {
    geGLU(EightFloats.self, gate, up, into: y, count: count)
}

@inline(never)
public func gelu(_ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int) {
    gelu(EightFloats.self, x, into: y, count: count)
}

@inline(never)
public func sigmoid(_ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int) {
    sigmoid(EightFloats.self, x, into: y, count: count)
}

@inline(never)
public func softplus(_ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int) {
    softplus(EightFloats.self, x, into: y, count: count)
}

@inline(never)
public func exponential(_ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int) {
    exponential(EightFloats.self, x, into: y, count: count)
}

@inline(never)
public func smallProduct(_ work: SmallProduct) { smallProduct(EightFloats.self, work) }

@inline(never)
public func decayRows(_ work: RowDecay) { decayRows(EightFloats.self, work) }

@inline(never)
public func convolve(_ work: Convolution) { convolve(EightFloats.self, work) }

@inline(never)
public func selectiveScan(_ work: SelectiveScan) { selectiveScan(EightFloats.self, work) }

/// As `KernelsPortable.attendPage`.
@inline(never)
public func attendPage(_ work: PageAttention) {
    attend(
        EightFloats.self, TwoRows<Page>.self, OneRow<Page>.self, work, FloatNumbers.self, UnsafeRawPointer(work.page),
        next: nil)
}

/// As `KernelsPortable.widenHalves`, for any widths.
///
/// - Parameter next: The page to prefetch.
@inline(never)
public func widenHalves(
    _ page: UnsafeRawPointer, keyWidth: Int, valueWidth: Int, into destination: UnsafeMutablePointer<Float>,
    next: UnsafeRawPointer
) {
    widenHalves(Page.self, page, keyWidth: keyWidth, valueWidth: valueWidth, into: destination, next: next)
}

/// As `KernelsPortable.widenQuantized`.
///
/// - Parameter next: The page to prefetch.
@inline(never)
public func widenQuantized(
    _ page: UnsafeRawPointer, _ layout: QuantizedPage, into destination: UnsafeMutablePointer<Float>,
    next: UnsafeRawPointer
) {
    widenQuantized(EightFloats.self, page, layout, into: destination, next: next)
}

/// As `KernelsPortable.dequantize`, for a multiple of 32 values.
///
/// - Returns: Whether this tier supports the format; if not, nothing is written.
@inline(never)
public func dequantize(
    _ type: TensorType, _ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int
) -> Bool {
    dequantize(EightFloats.self, type, source, into: destination, count: count)
}

/// Multiplies `tokens` rows of `a` by `rows` rows of `w`.
@inline(never)
public func multiplyFloats(_ product: FloatProduct) { multiplyFloats(EightFloats.self, product) }

/// Multiplies one token by rows of F16 or BF16 weights.
@inline(never)
public func multiplyHalves(_ product: HalfProduct) { multiplyHalves(EightFloats.self, product) }
