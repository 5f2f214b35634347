// Kernels of recurrent layers: products of small matrices, decay of rows, causal convolution, Mamba's selective scan.
// The state of a head is a matrix [key width][value width]; Compute/Recurrence/ScalarDecayRecurrence.swift describes the
// method.

import CMath

/// `c[i][j] = decay[i]·c[i][j] + Σₚ a(i, p)·b[p][j]` for small matrices.
///
/// - Parameters:
///   - a: `a(i, p)` is `a[i·aRow + p·aColumn]`, so that a transposed matrix needs no copy.
///   - b: `[depth][columns]`, rows `bStride` apart.
///   - decay: Factors on the rows of `c`, `decayStride` apart (0: one for all); without it `c` is overwritten.
///   - c: `[rows][columns]`, rows `cStride` apart.
@inline(never)
public func smallProduct(
    _ a: UnsafePointer<Float>, aRow: Int, aColumn: Int, _ b: UnsafePointer<Float>, bStride: Int,
    decay: UnsafePointer<Float>?, decayStride: Int, into c: UnsafeMutablePointer<Float>, cStride: Int, rows: Int,
    depth: Int, columns: Int
) {
    for i in 0..<rows {
        let row = c + i &* cStride
        if let decay {
            let factor = decay[i &* decayStride]
            for j in 0..<columns { row[j] *= factor }
        } else {
            for j in 0..<columns { row[j] = 0 }
        }
        for p in 0..<depth {
            let factor = a[i &* aRow &+ p &* aColumn], values = b + p &* bStride
            for j in 0..<columns { row[j] += factor * values[j] }
        }
    }
}

/// Multiplies rows elementwise by `decay`, and computes their dot products with one vector before and with another
/// after: `before[j] = rowⱼ·x`, `rowⱼ *= decay`, `after[j] = rowⱼ·y`.
///
/// - Parameter rows: `[count][width]`.
@inline(never)
public func decayRows(
    _ rows: UnsafeMutablePointer<Float>, count: Int, width: Int, by decay: UnsafePointer<Float>,
    before x: UnsafePointer<Float>, into before: UnsafeMutablePointer<Float>, after y: UnsafePointer<Float>,
    into after: UnsafeMutablePointer<Float>
) {
    for j in 0..<count {
        let row = rows + j &* width
        var (old, new): (Float, Float) = (0, 0)
        for d in 0..<width {
            old += row[d] * x[d]
            row[d] *= decay[d]
            new += row[d] * y[d]
        }
        (before[j], after[j]) = (old, new)
    }
}

/// One output of a depthwise causal convolution: `y[c] = bias[c] + Σⱼ weights[j][c]·inputs[j][c]`, optionally followed
/// by SiLU.
///
/// - Parameters:
///   - inputs: `[taps]` rows of `channels` floats, oldest first.
///   - weights: `[taps][channels]`.
@inline(never)
public func convolve(
    _ inputs: UnsafePointer<UnsafePointer<Float>>, _ weights: UnsafePointer<Float>, bias: UnsafePointer<Float>?,
    taps: Int, channels: Int, silu: Bool, into y: UnsafeMutablePointer<Float>
) {
    for c in 0..<channels {
        var sum = bias?[c] ?? 0
        for j in 0..<taps { sum += weights[j &* channels &+ c] * inputs[j][c] }
        y[c] = silu ? sum / (1 + expf(-sum)) : sum
    }
}

/// Mamba's selective scan (Gu and Dao 2023) over some channels, each with `states` state values:
///
///     h[n][c] = exp(Δ[t][c]·A[n][c])·h[n][c] + Δ[t][c]·B[t][n]·x[t][c]
///     y[t][c] = Σₙ C[t][n]·h[n][c] + D[c]·x[t][c]
///
/// - Parameters:
///   - x, delta: `[tokens]` rows of `channels` floats, `stride` apart; so is `y`, which may be `delta`.
///   - b, c: `[tokens]` rows of `states` floats, `selectStride` apart.
///   - a, h: `[states]` rows of `channels` floats, `stateStride` apart.
@inline(never)
public func selectiveScan(
    _ x: UnsafePointer<Float>, delta: UnsafePointer<Float>, stride: Int, b: UnsafePointer<Float>,
    c: UnsafePointer<Float>, selectStride: Int, a: UnsafePointer<Float>, d: UnsafePointer<Float>,
    state h: UnsafeMutablePointer<Float>, stateStride: Int, tokens: Int, channels: Int, states: Int,
    into y: UnsafeMutablePointer<Float>
) {
    for t in 0..<tokens {
        let row = t &* stride, select = t &* selectStride
        for channel in 0..<channels {
            let step = delta[row &+ channel], input = x[row &+ channel]
            var sum = d[channel] * input
            for n in 0..<states {
                let place = n &* stateStride &+ channel
                h[place] = expf(step * a[place]) * h[place] + step * input * b[select &+ n]
                sum += c[select &+ n] * h[place]
            }
            y[row &+ channel] = sum
        }
    }
}
