// Kernels of recurrent layers; the types of their arguments define them. Widths are multiples of `V.count`.

public import KernelFormats

/// As `KernelsPortable.decayRows`.
@inlinable @inline(__always)
public func decayRows<V: KernelVector>(_: V.Type, _ work: RowDecay) {
    let (width, x, y, decay) = (work.width, work.x, work.y, work.decay)
    for j in 0..<work.count {
        let row = work.rows + j &* width
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
        work.before[j] = old.sum
        work.after[j] = new.sum
    }
}

/// As `KernelsPortable.convolve`.
@inlinable @inline(__always)
public func convolve<V: KernelVector>(_: V.Type, _ work: Convolution) {
    let (inputs, weights, channels) = (work.inputs, work.weights, work.channels)
    var c = 0
    while c < channels {
        var sum = V(0)
        if let bias = work.bias { sum = .load(bias + c) }
        for j in 0..<work.taps { sum = .multiplyAdd(.load(weights + (j &* channels &+ c)), .load(inputs[j] + c), sum) }
        if work.silu { sum = KernelsFloat.silu(sum) }
        sum.store(work.y + c)
        c &+= V.count
    }
}

/// As `KernelsPortable.selectiveScan`: all tokens of a vector of channels, then the next, so that their state stays in
/// the L1 cache.
@inlinable @inline(__always)
public func selectiveScan<V: KernelVector>(_: V.Type, _ work: SelectiveScan) {
    let (x, delta, a, h, y) = (work.x, work.delta, work.a, work.h, work.y)
    var channel = 0
    while channel < work.channels {
        let skip = V.load(work.d + channel)
        for t in 0..<work.tokens {
            let row = t &* work.stride &+ channel
            let (b, c) = (work.b + t &* work.selectStride, work.c + t &* work.selectStride)
            let (step, input) = (V.load(delta + row), V.load(x + row))
            let change = step * input
            var sum = skip * input
            var place = channel
            for n in 0..<work.states {
                let decay = exponential(step * .load(a + place))
                let value = V.multiplyAdd(decay, .load(h + place), change * V(b[n]))
                value.store(h + place)
                sum = .multiplyAdd(value, V(c[n]), sum)
                place &+= work.stateStride
            }
            sum.store(y + row)
        }
        channel &+= V.count
    }
}
