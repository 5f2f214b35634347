// Activations and elementwise functions of a multiple of the vector's width.

/// As `KernelsPortable.swiGLU`.
@inlinable @inline(__always)
public func swiGLU<V: KernelVector>(
    _: V.Type, _ gate: UnsafePointer<Float>, _ up: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int
) {
    map(V.self, gate, into: y, count: count) { x, i in silu(x) * V.load(up + i) }
}

/// As `KernelsPortable.gate` with GELU.
@inlinable @inline(__always)
public func geGLU<V: KernelVector>(
    _: V.Type, _ gate: UnsafePointer<Float>, _ up: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int
) {
    map(V.self, gate, into: y, count: count) { x, i in gelu(x) * V.load(up + i) }
}

/// As `KernelsPortable.activate` with GELU.
@inlinable @inline(__always)
public func gelu<V: KernelVector>(
    _: V.Type, _ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int
) {
    map(V.self, x, into: y, count: count) { x, _ in gelu(x) }
}

/// As `KernelsPortable.sigmoid`.
@inlinable @inline(__always)
public func sigmoid<V: KernelVector>(
    _: V.Type, _ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int
) {
    map(V.self, x, into: y, count: count) { x, _ in logistic(x) }
}

/// As `KernelsPortable.softplus`: `ln(1 + t) = 2·artanh(t / (2 + t))` by its power series, whose argument is at most 1/3
/// for `t = e^(−|x|)`.
@inlinable @inline(__always)
public func softplus<V: KernelVector>(
    _: V.Type, _ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int
) {
    map(V.self, x, into: y, count: count) { x, _ in
        let t = exponential(V.min(x, V(0) - x))
        let s = t / (t + V(2))
        let squared = s * s
        var p = V(2 / 15)
        p = V.multiplyAdd(p, squared, V(2 / 13))
        p = V.multiplyAdd(p, squared, V(2 / 11))
        p = V.multiplyAdd(p, squared, V(2 / 9))
        p = V.multiplyAdd(p, squared, V(2 / 7))
        p = V.multiplyAdd(p, squared, V(2 / 5))
        p = V.multiplyAdd(p, squared, V(2 / 3))
        p = V.multiplyAdd(p, squared, V(2))
        return V.multiplyAdd(p, s, V.max(V(0), x))
    }
}

/// As `KernelsPortable.exponential`.
@inlinable @inline(__always)
public func exponential<V: KernelVector>(
    _: V.Type, _ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int
) {
    map(V.self, x, into: y, count: count) { x, _ in exponential(x) }
}

/// The tanh form of GELU: 0.5·(1 + tanh z) is the logistic function of 2z.
@inlinable @inline(__always)
func gelu<V: KernelVector>(_ x: V) -> V {
    let inner = V.multiplyAdd(x * x, V(0.044_715), V(1))
    let z = x * inner * V(-2 * 0.797_884_56)
    return x / (V(1) + exponential(z))
}

/// Stores the function's values of the vectors of `x` and their positions.
@inlinable @inline(__always)
func map<V: KernelVector>(
    _: V.Type, _ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int, _ function: (V, Int) -> V
) {
    var i = 0
    while i < count {
        function(V.load(x + i), i).store(y + i)
        i &+= V.count
    }
}
