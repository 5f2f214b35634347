import CMath

/// `x[i] = e^(x[i] − max) / Σ e^(x[j] − max)`, in place. `count` is at least 1; `-infinity` becomes 0.
@inline(never)
public func softmax(_ x: UnsafeMutablePointer<Float>, count: Int) {
    var maximum = x[0]
    for i in 1..<max(1, count) { maximum = max(maximum, x[i]) }
    var sum: Float = 0
    for i in 0..<count {
        x[i] = expf(x[i] - maximum)
        sum += x[i]
    }
    let scale = 1 / sum
    for i in 0..<count { x[i] *= scale }
}
