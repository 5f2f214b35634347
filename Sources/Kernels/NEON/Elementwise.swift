// Elementwise functions.

import CIntrinsics

/// As `KernelsPortable.sigmoid`, for a multiple of 8 values.
@inline(never)
public func sigmoid(_ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int) {
    let one = Floats(repeating: 1)
    var i = 0
    while i < count {
        let decay = exponential((Floats() - load(x + i)))
        store(one / (one + decay), y + i)
        i &+= 8
    }
}

/// As `KernelsPortable.softplus`, for a multiple of 8 values: `ln(1 + t) = 2·artanh(t / (2 + t))` by its power series,
/// whose argument is at most 1/3 for `t = e^(−|x|)`.
@inline(never)
public func softplus(_ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int) {
    let zero = Floats()
    var i = 0
    while i < count {
        let v = load(x + i)
        let t = exponential(minimum_of(v, (zero - v)))
        let s = t / ((t + Floats(repeating: 2)))
        let squared = s * s
        var p = Floats(repeating: 2 / 15)
        p = multiply_add(p, squared, Floats(repeating: 2 / 13))
        p = multiply_add(p, squared, Floats(repeating: 2 / 11))
        p = multiply_add(p, squared, Floats(repeating: 2 / 9))
        p = multiply_add(p, squared, Floats(repeating: 2 / 7))
        p = multiply_add(p, squared, Floats(repeating: 2 / 5))
        p = multiply_add(p, squared, Floats(repeating: 2 / 3))
        p = multiply_add(p, squared, Floats(repeating: 2))
        store(multiply_add(p, s, maximum_of(zero, v)), y + i)
        i &+= 8
    }
}

/// As `KernelsPortable.exponential`, for a multiple of 8 values.
@inline(never)
public func exponential(_ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int) {
    var i = 0
    while i < count {
        store(exponential(load(x + i)), y + i)
        i &+= 8
    }
}
