/// As `KernelsPortable.rmsNorm`, except for the order of summation.
@inlinable @inline(__always)
public func rmsNorm<V: KernelVector>(
    _: V.Type, _ x: UnsafePointer<Float>, weight: UnsafePointer<Float>, epsilon: Float,
    into y: UnsafeMutablePointer<Float>, count: Int
) {
    var s0 = V(0), s1 = s0
    var i = 0
    while i &+ 2 &* V.count <= count {
        let (a, b) = (V.load(x + i), V.load(x + (i &+ V.count)))
        s0 = V.multiplyAdd(a, a, s0)
        s1 = V.multiplyAdd(b, b, s1)
        i &+= 2 &* V.count
    }
    var squares = (s0 + s1).sum
    while i < count {
        squares += x[i] * x[i]
        i &+= 1
    }
    let scale = 1 / (squares / Float(count) + epsilon).squareRoot()
    let scales = V(scale)
    i = 0
    while i &+ V.count <= count {
        (V.load(x + i) * scales * V.load(weight + i)).store(y + i)
        i &+= V.count
    }
    while i < count {
        y[i] = x[i] * scale * weight[i]
        i &+= 1
    }
}

/// As `KernelsPortable.layerNorm`, except for the order of summation.
@inlinable @inline(__always)
public func layerNorm<V: KernelVector>(
    _: V.Type, _ x: UnsafePointer<Float>, weight: UnsafePointer<Float>, epsilon: Float,
    into y: UnsafeMutablePointer<Float>, count: Int
) {
    var sums = V(0)
    var i = 0
    while i &+ V.count <= count {
        sums = V.load(x + i) + sums
        i &+= V.count
    }
    var mean = sums.sum
    while i < count {
        mean += x[i]
        i &+= 1
    }
    mean /= Float(count)
    let means = V(mean)
    sums = V(0)
    i = 0
    while i &+ V.count <= count {
        let d = V.load(x + i) - means
        sums = V.multiplyAdd(d, d, sums)
        i &+= V.count
    }
    var variance = sums.sum
    while i < count {
        variance += (x[i] - mean) * (x[i] - mean)
        i &+= 1
    }
    let scale = 1 / (variance / Float(count) + epsilon).squareRoot()
    let scales = V(scale)
    i = 0
    while i &+ V.count <= count {
        ((V.load(x + i) - means) * scales * V.load(weight + i)).store(y + i)
        i &+= V.count
    }
    while i < count {
        y[i] = (x[i] - mean) * scale * weight[i]
        i &+= 1
    }
}
