// Kernels of recurrent layers; see `KernelsPortable` for their definitions. Widths are multiples of `V.count`.

/// As `KernelsPortable.decayRows`.
@inlinable @inline(__always)
public func decayRows<V: KernelVector>(
    _: V.Type, _ rows: UnsafeMutablePointer<Float>, count: Int, width: Int, by decay: UnsafePointer<Float>,
    before x: UnsafePointer<Float>, into before: UnsafeMutablePointer<Float>, after y: UnsafePointer<Float>,
    into after: UnsafeMutablePointer<Float>
) {
    for j in 0..<count {
        let row = rows + j &* width
        var (old, new) = (V(0), V(0))
        var d = 0
        while d < width {
            let values = V.load(row + d)
            old = .multiplyAdd(values, .load(x + d), old)
            let decayed = values * .load(decay + d)
            decayed.store(row + d)
            new = .multiplyAdd(decayed, .load(y + d), new)
            d &+= V.count
        }
        before[j] = old.sum
        after[j] = new.sum
    }
}

/// As `KernelsPortable.convolve`.
@inlinable @inline(__always)
public func convolve<V: KernelVector>(
    _: V.Type, _ inputs: UnsafePointer<UnsafePointer<Float>>, _ weights: UnsafePointer<Float>,
    bias: UnsafePointer<Float>?, taps: Int, channels: Int, silu: Bool, into y: UnsafeMutablePointer<Float>
) {
    var c = 0
    while c < channels {
        var sum = V(0)
        if let bias { sum = .load(bias + c) }
        for j in 0..<taps { sum = .multiplyAdd(.load(weights + (j &* channels &+ c)), .load(inputs[j] + c), sum) }
        if silu { sum = KernelsFloat.silu(sum) }
        sum.store(y + c)
        c &+= V.count
    }
}

/// As `KernelsPortable.selectiveScan`: all tokens of a vector of channels, then the next, so that their state stays in
/// the L1 cache.
@inlinable @inline(__always)
public func selectiveScan<V: KernelVector>(
    _: V.Type, _ x: UnsafePointer<Float>, delta: UnsafePointer<Float>, stride: Int, b: UnsafePointer<Float>,
    c: UnsafePointer<Float>, selectStride: Int, a: UnsafePointer<Float>, d: UnsafePointer<Float>,
    state h: UnsafeMutablePointer<Float>, stateStride: Int, tokens: Int, channels: Int, states: Int,
    into y: UnsafeMutablePointer<Float>
) {
    var channel = 0
    while channel < channels {
        let skip = V.load(d + channel)
        for t in 0..<tokens {
            let row = t &* stride &+ channel
            let (b, c) = (b + t &* selectStride, c + t &* selectStride)
            let (step, input) = (V.load(delta + row), V.load(x + row))
            let change = step * input
            var sum = skip * input
            var place = channel
            for n in 0..<states {
                let decay = exponential(step * .load(a + place))
                let value = V.multiplyAdd(decay, .load(h + place), change * V(b[n]))
                value.store(h + place)
                sum = .multiplyAdd(value, V(c[n]), sum)
                place &+= stateStride
            }
            sum.store(y + row)
        }
        channel &+= V.count
    }
}
