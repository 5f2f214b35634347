import CIntrinsics

/// As `KernelsPortable.softmax`, for any number of values.
@inline(never)
public func softmax(_ x: UnsafeMutablePointer<Float>, count: Int) {
    let whole = count & ~7
    var maximum = -Float.infinity
    var i = 0
    if whole > 0 {
        var most = load(x)
        while i < whole {
            most = _mm256_max_ps(most, load(x + i))
            i &+= 8
        }
        maximum = largest(most)
    }
    while i < count {
        if x[i] > maximum { maximum = x[i] }
        i &+= 1
    }
    let m = _mm256_set1_ps(maximum)
    var sums = _mm256_setzero_ps()
    i = 0
    while i < whole {
        let e = exponential(_mm256_sub_ps(load(x + i), m))
        _mm256_storeu_ps(x + i, e)
        sums = _mm256_add_ps(sums, e)
        i &+= 8
    }
    var total = sum(sums)
    while i < count {
        x[i] = _mm256_cvtss_f32(exponential(_mm256_set1_ps(x[i] - maximum)))
        total += x[i]
        i &+= 1
    }
    let scale = 1 / total
    for i in 0..<count { x[i] *= scale }
}
