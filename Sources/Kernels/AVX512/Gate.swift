// The gate of gated MLPs.

import CIntrinsics

/// As `KernelsPortable.swiGLU`, for a multiple of 16 values.
@inline(never)
public func swiGLU(
    _ gate: UnsafePointer<Float>, _ up: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int
) {
    let one = _mm512_set1_ps(1)
    var i = 0
    while i < count {
        let g = _mm512_loadu_ps(gate + i)
        let decay = exponential(_mm512_sub_ps(_mm512_setzero_ps(), g))
        let silu = _mm512_div_ps(g, _mm512_add_ps(one, decay))
        _mm512_storeu_ps(y + i, _mm512_mul_ps(silu, _mm512_loadu_ps(up + i)))
        i &+= 16
    }
}
