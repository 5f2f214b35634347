// Kernels of recurrent layers: products of small matrices, decay of rows, causal convolution, Mamba's selective scan.
// The state of a head is a matrix [key width][value width]; Compute/Recurrence/ScalarDecayRecurrence.swift describes the
// method.

import CMath
public import KernelFormats

@inline(never)
public func smallProduct(_ work: SmallProduct) {
    for i in 0..<work.rows {
        let row = work.c + i &* work.cStride
        if let decay = work.decay {
            let factor = decay[i &* work.decayStride]
            for j in 0..<work.columns { row[j] *= factor }
        } else {
            for j in 0..<work.columns { row[j] = 0 }
        }
        for p in 0..<work.depth {
            let factor = work.a[i &* work.aRow &+ p &* work.aColumn], values = work.b + p &* work.bStride
            for j in 0..<work.columns { row[j] += factor * values[j] }
        }
    }
}

@inline(never)
public func decayRows(_ work: RowDecay) {
    for j in 0..<work.count {
        let row = work.rows + j &* work.width
        var (old, new): (Float, Float) = (0, 0)
        for d in 0..<work.width {
            old += row[d] * work.x[d]
            row[d] *= work.decay[d]
            new += row[d] * work.y[d]
        }
        (work.before[j], work.after[j]) = (old, new)
    }
}

@inline(never)
public func convolve(_ work: Convolution) {
    for c in 0..<work.channels {
        var sum = work.bias?[c] ?? 0
        for j in 0..<work.taps { sum += work.weights[j &* work.channels &+ c] * work.inputs[j][c] }
        work.y[c] = work.silu ? sum / (1 + expf(-sum)) : sum
    }
}

@inline(never)
public func selectiveScan(_ work: SelectiveScan) {
    let (a, h) = (work.a, work.h)
    for t in 0..<work.tokens {
        let row = t &* work.stride, select = t &* work.selectStride
        for channel in 0..<work.channels {
            let step = work.delta[row &+ channel], input = work.x[row &+ channel]
            var sum = work.d[channel] * input
            for n in 0..<work.states {
                let place = n &* work.stateStride &+ channel
                h[place] = expf(step * a[place]) * h[place] + step * input * work.b[select &+ n]
                sum += work.c[select &+ n] * h[place]
            }
            work.y[row &+ channel] = sum
        }
    }
}
