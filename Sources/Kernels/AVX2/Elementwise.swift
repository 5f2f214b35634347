// Elementwise functions.

import CIntrinsics

/// As `KernelsPortable.sigmoid`, for a multiple of 8 values.
@inline(never)
public func sigmoid(_ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int) {
    let one = _mm256_set1_ps(1)
    var i = 0
    while i < count {
        let decay = exponential(_mm256_sub_ps(_mm256_setzero_ps(), load(x + i)))
        _mm256_storeu_ps(y + i, _mm256_div_ps(one, _mm256_add_ps(one, decay)))
        i &+= 8
    }
}

/// As `KernelsPortable.softplus`, for a multiple of 8 values: `ln(1 + t) = 2·artanh(t / (2 + t))` by its power series,
/// whose argument is at most 1/3 for `t = e^(−|x|)`.
@inline(never)
public func softplus(_ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int) {
    let zero = _mm256_setzero_ps()
    var i = 0
    while i < count {
        let v = load(x + i)
        let t = exponential(_mm256_min_ps(v, _mm256_sub_ps(zero, v)))
        let s = _mm256_div_ps(t, _mm256_add_ps(t, _mm256_set1_ps(2)))
        let squared = _mm256_mul_ps(s, s)
        var p = _mm256_set1_ps(2 / 15)
        p = _mm256_fmadd_ps(p, squared, _mm256_set1_ps(2 / 13))
        p = _mm256_fmadd_ps(p, squared, _mm256_set1_ps(2 / 11))
        p = _mm256_fmadd_ps(p, squared, _mm256_set1_ps(2 / 9))
        p = _mm256_fmadd_ps(p, squared, _mm256_set1_ps(2 / 7))
        p = _mm256_fmadd_ps(p, squared, _mm256_set1_ps(2 / 5))
        p = _mm256_fmadd_ps(p, squared, _mm256_set1_ps(2 / 3))
        p = _mm256_fmadd_ps(p, squared, _mm256_set1_ps(2))
        // NaN propagates: `_mm256_max_ps` returns its second operand if one is NaN.
        _mm256_storeu_ps(y + i, _mm256_fmadd_ps(p, s, _mm256_max_ps(zero, v)))
        i &+= 8
    }
}

/// As `KernelsPortable.exponential`, for a multiple of 8 values.
@inline(never)
public func exponential(_ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int) {
    var i = 0
    while i < count {
        _mm256_storeu_ps(y + i, exponential(load(x + i)))
        i &+= 8
    }
}
