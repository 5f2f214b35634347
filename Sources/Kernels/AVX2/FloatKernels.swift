// The kernels of `KernelsFloat` with the vectors of this tier. Widths are multiples of 8, if not said otherwise.

import KernelsFloat

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
public func smallProduct(
    _ a: UnsafePointer<Float>, aRow: Int, aColumn: Int, _ b: UnsafePointer<Float>, bStride: Int,
    decay: UnsafePointer<Float>?, decayStride: Int, into c: UnsafeMutablePointer<Float>, cStride: Int, rows: Int,
    depth: Int, columns: Int
) {
    smallProduct(
        EightFloats.self, a, aRow: aRow, aColumn: aColumn, b, bStride: bStride, decay: decay, decayStride: decayStride,
        into: c, cStride: cStride, rows: rows, depth: depth, columns: columns)
}

@inline(never)
public func decayRows(
    _ rows: UnsafeMutablePointer<Float>, count: Int, width: Int, by decay: UnsafePointer<Float>,
    before x: UnsafePointer<Float>, into before: UnsafeMutablePointer<Float>, after y: UnsafePointer<Float>,
    into after: UnsafeMutablePointer<Float>
) {
    decayRows(
        EightFloats.self, rows, count: count, width: width, by: decay, before: x, into: before, after: y, into: after)
}

@inline(never)
public func convolve(
    _ inputs: UnsafePointer<UnsafePointer<Float>>, _ weights: UnsafePointer<Float>, bias: UnsafePointer<Float>?,
    taps: Int, channels: Int, silu: Bool, into y: UnsafeMutablePointer<Float>
) {
    convolve(EightFloats.self, inputs, weights, bias: bias, taps: taps, channels: channels, silu: silu, into: y)
}

@inline(never)
public func selectiveScan(
    _ x: UnsafePointer<Float>, delta: UnsafePointer<Float>, stride: Int, b: UnsafePointer<Float>,
    c: UnsafePointer<Float>, selectStride: Int, a: UnsafePointer<Float>, d: UnsafePointer<Float>,
    state h: UnsafeMutablePointer<Float>, stateStride: Int, tokens: Int, channels: Int, states: Int,
    into y: UnsafeMutablePointer<Float>
) {
    selectiveScan(
        EightFloats.self, x, delta: delta, stride: stride, b: b, c: c, selectStride: selectStride, a: a, d: d,
        state: h, stateStride: stateStride, tokens: tokens, channels: channels, states: states, into: y)
}
