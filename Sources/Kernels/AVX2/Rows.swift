// Row-wise operations.

import CIntrinsics

/// As `KernelsPortable.rmsNorm`, but for the order of the sum.
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
