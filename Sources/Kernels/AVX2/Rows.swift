// Row-wise operations.

import CIntrinsics

/// As `KernelsPortable.rmsNorm`, except for the order of summation.
@inline(never)
public func rmsNorm(
    _ x: UnsafePointer<Float>, weight: UnsafePointer<Float>, epsilon: Float, into y: UnsafeMutablePointer<Float>,
    count: Int
) {
    var s0 = _mm256_setzero_ps(), s1 = s0
    var i = 0
    while i &+ 16 <= count {
        let (a, b) = (load(x + i), load(x + (i &+ 8)))
        s0 = _mm256_fmadd_ps(a, a, s0)
        s1 = _mm256_fmadd_ps(b, b, s1)
        i &+= 16
    }
    var squares = sum(_mm256_add_ps(s0, s1))
    while i < count {
        squares += x[i] * x[i]
        i &+= 1
    }
    let scale = 1 / (squares / Float(count) + epsilon).squareRoot()
    let scales = _mm256_set1_ps(scale)
    i = 0
    while i &+ 8 <= count {
        _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_mul_ps(load(x + i), scales), load(weight + i)))
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
    let one = _mm256_set1_ps(1)
    var i = 0
    while i < count {
        let g = load(gate + i)
        let decay = exponential(_mm256_sub_ps(_mm256_setzero_ps(), g))
        let silu = _mm256_div_ps(g, _mm256_add_ps(one, decay))
        _mm256_storeu_ps(y + i, _mm256_mul_ps(silu, load(up + i)))
        i &+= 8
    }
}

/// As `KernelsPortable.layerNorm`, except for the order of summation.
@inline(never)
public func layerNorm(
    _ x: UnsafePointer<Float>, weight: UnsafePointer<Float>, epsilon: Float, into y: UnsafeMutablePointer<Float>,
    count: Int
) {
    var s0 = _mm256_setzero_ps()
    var i = 0
    while i &+ 8 <= count {
        s0 = _mm256_add_ps(load(x + i), s0)
        i &+= 8
    }
    var mean = sum(s0)
    while i < count {
        mean += x[i]
        i &+= 1
    }
    mean /= Float(count)
    let means = _mm256_set1_ps(mean)
    s0 = _mm256_setzero_ps()
    i = 0
    while i &+ 8 <= count {
        let d = _mm256_sub_ps(load(x + i), means)
        s0 = _mm256_fmadd_ps(d, d, s0)
        i &+= 8
    }
    var variance = sum(s0)
    while i < count {
        variance += (x[i] - mean) * (x[i] - mean)
        i &+= 1
    }
    let scale = 1 / (variance / Float(count) + epsilon).squareRoot()
    let scales = _mm256_set1_ps(scale)
    i = 0
    while i &+ 8 <= count {
        let d = _mm256_mul_ps(_mm256_sub_ps(load(x + i), means), scales)
        _mm256_storeu_ps(y + i, _mm256_mul_ps(d, load(weight + i)))
        i &+= 8
    }
    while i < count {
        y[i] = (x[i] - mean) * scale * weight[i]
        i &+= 1
    }
}

/// The tanh form of GELU: 0.5·(1 + tanh z) is the logistic function of 2z.
@inline(__always)
private func gelu(_ x: __m256) -> __m256 {
    let one = _mm256_set1_ps(1)
    let inner = _mm256_fmadd_ps(_mm256_mul_ps(x, x), _mm256_set1_ps(0.044_715), one)
    let z = _mm256_mul_ps(_mm256_mul_ps(x, inner), _mm256_set1_ps(-2 * 0.797_884_56))
    return _mm256_div_ps(x, _mm256_add_ps(one, exponential(z)))
}

/// As `KernelsPortable.gate` with GELU, for a multiple of 8 values.
@inline(never)
public func geGLU(
    _ gate: UnsafePointer<Float>, _ up: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int
) {
    var i = 0
    while i < count {
        _mm256_storeu_ps(y + i, _mm256_mul_ps(gelu(load(gate + i)), load(up + i)))
        i &+= 8
    }
}

/// As `KernelsPortable.activate` with GELU, for a multiple of 8 values.
@inline(never)
public func gelu(_ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int) {
    var i = 0
    while i < count {
        _mm256_storeu_ps(y + i, gelu(load(x + i)))
        i &+= 8
    }
}
