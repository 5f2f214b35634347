/// As `KernelsPortable.softmax`, for any number of values.
@inlinable @inline(__always)
public func softmax<V: KernelVector>(_: V.Type, _ x: UnsafeMutablePointer<Float>, count: Int) {
    let whole = count & ~(V.count &- 1)
    var maximum = -Float.infinity
    var i = 0
    if whole > 0 {
        var most = V.load(x)
        while i < whole {
            most = V.max(most, V.load(x + i))
            i &+= V.count
        }
        maximum = most.largest
    }
    while i < count {
        if x[i] > maximum { maximum = x[i] }
        i &+= 1
    }
    let m = V(maximum)
    var sums = V(0)
    i = 0
    while i < whole {
        let e = exponential(V.load(x + i) - m)
        e.store(x + i)
        sums = sums + e
        i &+= V.count
    }
    var total = sums.sum
    while i < count {
        x[i] = exponential(V(x[i] - maximum)).first
        total += x[i]
        i &+= 1
    }
    let scale = 1 / total
    for i in 0..<count { x[i] *= scale }
}
