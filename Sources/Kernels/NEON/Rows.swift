// Row-wise operations.

import CIntrinsics

/// As `KernelsPortable.rmsNorm`, except for the order of summation.
@inline(never)
public func rmsNorm(
    _ x: UnsafePointer<Float>, weight: UnsafePointer<Float>, epsilon: Float, into y: UnsafeMutablePointer<Float>,
    count: Int
) {
    var s0 = Floats(), s1 = s0
    var i = 0
    while i &+ 16 <= count {
        let (a, b) = (load(x + i), load(x + (i &+ 8)))
        s0 = multiply_add(a, a, s0)
        s1 = multiply_add(b, b, s1)
        i &+= 16
    }
    var squares = sum((s0 + s1))
    while i < count {
        squares += x[i] * x[i]
        i &+= 1
    }
    let scale = 1 / (squares / Float(count) + epsilon).squareRoot()
    let scales = Floats(repeating: scale)
    i = 0
    while i &+ 8 <= count {
        store((load(x + i) * scales) * load(weight + i), y + i)
        i &+= 8
    }
    while i < count {
        y[i] = x[i] * scale * weight[i]
        i &+= 1
    }
}

/// As `KernelsPortable.swiGLU`, for a multiple of 8 values.
@inline(never)
public func swiGLU(
    _ gate: UnsafePointer<Float>, _ up: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int
) {
    let one = Floats(repeating: 1)
    var i = 0
    while i < count {
        let g = load(gate + i)
        let decay = exponential((Floats() - g))
        let silu = g / (one + decay)
        store(silu * load(up + i), y + i)
        i &+= 8
    }
}

/// As `KernelsPortable.layerNorm`, except for the order of summation.
@inline(never)
public func layerNorm(
    _ x: UnsafePointer<Float>, weight: UnsafePointer<Float>, epsilon: Float, into y: UnsafeMutablePointer<Float>,
    count: Int
) {
    var s0 = Floats()
    var i = 0
    while i &+ 8 <= count {
        s0 = (load(x + i) + s0)
        i &+= 8
    }
    var mean = sum(s0)
    while i < count {
        mean += x[i]
        i &+= 1
    }
    mean /= Float(count)
    let means = Floats(repeating: mean)
    s0 = Floats()
    i = 0
    while i &+ 8 <= count {
        let d = (load(x + i) - means)
        s0 = multiply_add(d, d, s0)
        i &+= 8
    }
    var variance = sum(s0)
    while i < count {
        variance += (x[i] - mean) * (x[i] - mean)
        i &+= 1
    }
    let scale = 1 / (variance / Float(count) + epsilon).squareRoot()
    let scales = Floats(repeating: scale)
    i = 0
    while i &+ 8 <= count {
        let d = ((load(x + i) - means)) * scales
        store(d * load(weight + i), y + i)
        i &+= 8
    }
    while i < count {
        y[i] = (x[i] - mean) * scale * weight[i]
        i &+= 1
    }
}

/// The tanh form of GELU: 0.5·(1 + tanh z) is the logistic function of 2z.
@inline(__always)
private func gelu(_ x: Floats) -> Floats {
    let one = Floats(repeating: 1)
    let inner = multiply_add(x * x, Floats(repeating: 0.044_715), one)
    let z = x * inner * Floats(repeating: -2 * 0.797_884_56)
    return x / ((one + exponential(z)))
}

/// As `KernelsPortable.gate` with GELU, for a multiple of 8 values.
@inline(never)
public func geGLU(
    _ gate: UnsafePointer<Float>, _ up: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int
) {
    var i = 0
    while i < count {
        store((gelu(load(gate + i))) * load(up + i), y + i)
        i &+= 8
    }
}

/// As `KernelsPortable.activate` with GELU, for a multiple of 8 values.
@inline(never)
public func gelu(_ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int) {
    var i = 0
    while i < count {
        store(gelu(load(x + i)), y + i)
        i &+= 8
    }
}
