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
            most = maximum_of(most, load(x + i))
            i &+= 8
        }
        maximum = largest_of(most)
    }
    while i < count {
        if x[i] > maximum { maximum = x[i] }
        i &+= 1
    }
    let m = Floats(repeating: maximum)
    var sums = Floats()
    i = 0
    while i < whole {
        let e = exponential((load(x + i) - m))
        store(e, x + i)
        sums = (sums + e)
        i &+= 8
    }
    var total = sum(sums)
    while i < count {
        x[i] = (exponential(Floats(repeating: x[i] - maximum)))[0]
        total += x[i]
        i &+= 1
    }
    let scale = 1 / total
    for i in 0..<count { x[i] *= scale }
}
