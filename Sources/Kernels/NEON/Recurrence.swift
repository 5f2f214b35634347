// Kernels of recurrent layers; see `KernelsPortable` for their definitions. Widths are multiples of 8.

import CIntrinsics

@inline(__always)
private func broadcast(_ p: UnsafePointer<Float>) -> Floats { Floats(repeating: p[0]) }

/// As `KernelsPortable.smallProduct`, for a multiple of 8 columns.
///
/// Six rows by 16 columns stay in registers: two loads and six broadcasts feed twelve multiply-adds. The remaining rows
/// are computed in twos with 32 columns; an odd last one is computed twice.
@inline(never)
public func smallProduct(
    _ a: UnsafePointer<Float>, aRow: Int, aColumn: Int, _ b: UnsafePointer<Float>, bStride: Int,
    decay: UnsafePointer<Float>?, decayStride: Int, into c: UnsafeMutablePointer<Float>, cStride: Int, rows: Int,
    depth: Int, columns: Int
) {
    let sixes = rows &- rows % 6
    var j = 0
    while j < columns {
        let isWide = j &+ 16 <= columns
        var i = 0
        while i < sixes {
            let (x, y) = (a + i &* aRow, c + (i &* cStride &+ j))
            let d = offset(decay, i &* decayStride)
            if isWide {
                sixRows(x, aRow, aColumn, b + j, bStride, d, decayStride, y, cStride, depth)
            } else {
                for row in 0..<6 {
                    narrowRow(
                        x + row &* aRow, aColumn, b + j, bStride, offset(d, row &* decayStride),
                        y + row &* cStride, depth)
                }
            }
            i &+= 6
        }
        j &+= isWide ? 16 : 8
    }
    var i = sixes
    while i < rows {
        let next = i &+ 1 < rows ? 1 : 0
        let x = a + i &* aRow
        let d = offset(decay, i &* decayStride)
        j = 0
        while j < columns {
            let y = c + (i &* cStride &+ j)
            if j &+ 32 <= columns {
                twoRows(x, next &* aRow, aColumn, b + j, bStride, d, next &* decayStride, y, next &* cStride, depth)
                j &+= 32
            } else {
                narrowRow(x, aColumn, b + j, bStride, d, y, depth)
                if next == 1 {
                    narrowRow(x + aRow, aColumn, b + j, bStride, offset(d, decayStride), y + cStride, depth)
                }
                j &+= 8
            }
        }
        i &+= 2
    }
}

@inline(__always)
private func offset(_ p: UnsafePointer<Float>?, _ count: Int) -> UnsafePointer<Float>? {
    guard let p else { return nil }
    return p + count
}

/// The initial value of a sum: the decayed old value, or zero.
@inline(__always)
private func start(_ decay: UnsafePointer<Float>?, _ c: UnsafePointer<Float>) -> Floats {
    guard let decay else { return Floats() }
    return broadcast(decay) * load(c)
}

@inline(__always)
private func sixRows(
    _ a: UnsafePointer<Float>, _ aRow: Int, _ aColumn: Int, _ b: UnsafePointer<Float>, _ bStride: Int,
    _ decay: UnsafePointer<Float>?, _ decayStride: Int, _ c: UnsafeMutablePointer<Float>, _ cStride: Int, _ depth: Int
) {
    let (c1, c2, c3) = (c + cStride, c + 2 &* cStride, c + 3 &* cStride)
    let (c4, c5) = (c + 4 &* cStride, c + 5 &* cStride)
    var (s0, t0) = (start(offset(decay, 0 &* decayStride), c), start(offset(decay, 0 &* decayStride), c + 8))
    var (s1, t1) = (start(offset(decay, 1 &* decayStride), c1), start(offset(decay, 1 &* decayStride), c1 + 8))
    var (s2, t2) = (start(offset(decay, 2 &* decayStride), c2), start(offset(decay, 2 &* decayStride), c2 + 8))
    var (s3, t3) = (start(offset(decay, 3 &* decayStride), c3), start(offset(decay, 3 &* decayStride), c3 + 8))
    var (s4, t4) = (start(offset(decay, 4 &* decayStride), c4), start(offset(decay, 4 &* decayStride), c4 + 8))
    var (s5, t5) = (start(offset(decay, 5 &* decayStride), c5), start(offset(decay, 5 &* decayStride), c5 + 8))
    var (x, values) = (a, b)
    for _ in 0..<depth {
        let (b0, b1) = (load(values), load(values + 8))
        var factor = broadcast(x)
        s0 = multiply_add(factor, b0, s0)
        t0 = multiply_add(factor, b1, t0)
        factor = broadcast(x + aRow)
        s1 = multiply_add(factor, b0, s1)
        t1 = multiply_add(factor, b1, t1)
        factor = broadcast(x + 2 &* aRow)
        s2 = multiply_add(factor, b0, s2)
        t2 = multiply_add(factor, b1, t2)
        factor = broadcast(x + 3 &* aRow)
        s3 = multiply_add(factor, b0, s3)
        t3 = multiply_add(factor, b1, t3)
        factor = broadcast(x + 4 &* aRow)
        s4 = multiply_add(factor, b0, s4)
        t4 = multiply_add(factor, b1, t4)
        factor = broadcast(x + 5 &* aRow)
        s5 = multiply_add(factor, b0, s5)
        t5 = multiply_add(factor, b1, t5)
        x += aColumn
        values += bStride
    }
    store2(c, s0, t0)
    store2(c1, s1, t1)
    store2(c2, s2, t2)
    store2(c3, s3, t3)
    store2(c4, s4, t4)
    store2(c5, s5, t5)
}

@inline(__always)
private func store2(_ p: UnsafeMutablePointer<Float>, _ a: Floats, _ b: Floats) {
    store(a, p)
    store(b, p + 8)
}

/// Two rows by 32 columns. With strides of 0 both are the same row, which is written twice.
@inline(__always)
private func twoRows(
    _ a: UnsafePointer<Float>, _ aRow: Int, _ aColumn: Int, _ b: UnsafePointer<Float>, _ bStride: Int,
    _ decay: UnsafePointer<Float>?, _ decayStride: Int, _ c: UnsafeMutablePointer<Float>, _ cStride: Int, _ depth: Int
) {
    let d = c + cStride
    let other = offset(decay, decayStride)
    var (s0, s1, s2, s3) = (start(decay, c), start(decay, c + 8), start(decay, c + 16), start(decay, c + 24))
    var (t0, t1, t2, t3) = (start(other, d), start(other, d + 8), start(other, d + 16), start(other, d + 24))
    var (x, values) = (a, b)
    for _ in 0..<depth {
        let (p, q) = (broadcast(x), broadcast(x + aRow))
        let (b0, b1, b2, b3) = (load(values), load(values + 8), load(values + 16), load(values + 24))
        s0 = multiply_add(p, b0, s0)
        s1 = multiply_add(p, b1, s1)
        s2 = multiply_add(p, b2, s2)
        s3 = multiply_add(p, b3, s3)
        t0 = multiply_add(q, b0, t0)
        t1 = multiply_add(q, b1, t1)
        t2 = multiply_add(q, b2, t2)
        t3 = multiply_add(q, b3, t3)
        x += aColumn
        values += bStride
    }
    store4(c, s0, s1, s2, s3)
    store4(d, t0, t1, t2, t3)
}

/// One row by 8 columns.
@inline(__always)
private func narrowRow(
    _ a: UnsafePointer<Float>, _ aColumn: Int, _ b: UnsafePointer<Float>, _ bStride: Int,
    _ decay: UnsafePointer<Float>?, _ c: UnsafeMutablePointer<Float>, _ depth: Int
) {
    var sum = start(decay, c)
    for p in 0..<depth { sum = multiply_add(broadcast(a + p &* aColumn), load(b + p &* bStride), sum) }
    store(sum, c)
}

/// As `KernelsPortable.decayRows`, for widths that are multiples of 8.
@inline(never)
public func decayRows(
    _ rows: UnsafeMutablePointer<Float>, count: Int, width: Int, by decay: UnsafePointer<Float>,
    before x: UnsafePointer<Float>, into before: UnsafeMutablePointer<Float>, after y: UnsafePointer<Float>,
    into after: UnsafeMutablePointer<Float>
) {
    for j in 0..<count {
        let row = rows + j &* width
        var (old, new) = (Floats(), Floats())
        var d = 0
        while d < width {
            let values = load(row + d)
            old = multiply_add(values, load(x + d), old)
            let decayed = values * load(decay + d)
            store(decayed, row + d)
            new = multiply_add(decayed, load(y + d), new)
            d &+= 8
        }
        before[j] = sum(old)
        after[j] = sum(new)
    }
}

/// As `KernelsPortable.convolve`, for a multiple of 8 channels.
@inline(never)
public func convolve(
    _ inputs: UnsafePointer<UnsafePointer<Float>>, _ weights: UnsafePointer<Float>, bias: UnsafePointer<Float>?,
    taps: Int, channels: Int, silu: Bool, into y: UnsafeMutablePointer<Float>
) {
    let (zero, one) = (Floats(), Floats(repeating: 1))
    var c = 0
    while c < channels {
        var sum = zero
        if let bias { sum = load(bias + c) }
        for j in 0..<taps { sum = multiply_add(load(weights + (j &* channels &+ c)), load(inputs[j] + c), sum) }
        if silu { sum = sum / ((one + exponential((zero - sum)))) }
        store(sum, y + c)
        c &+= 8
    }
}

/// As `KernelsPortable.selectiveScan`, for a multiple of 8 channels: all tokens of eight channels, then the next eight,
/// so that their state stays in the L1 cache.
@inline(never)
public func selectiveScan(
    _ x: UnsafePointer<Float>, delta: UnsafePointer<Float>, stride: Int, b: UnsafePointer<Float>,
    c: UnsafePointer<Float>, selectStride: Int, a: UnsafePointer<Float>, d: UnsafePointer<Float>,
    state h: UnsafeMutablePointer<Float>, stateStride: Int, tokens: Int, channels: Int, states: Int,
    into y: UnsafeMutablePointer<Float>
) {
    var channel = 0
    while channel < channels {
        let skip = load(d + channel)
        for t in 0..<tokens {
            let row = t &* stride &+ channel
            let (b, c) = (b + t &* selectStride, c + t &* selectStride)
            let (step, input) = (load(delta + row), load(x + row))
            let change = step * input
            var sum = skip * input
            var place = channel
            for n in 0..<states {
                let decay = exponential(step * load(a + place))
                let value = multiply_add(decay, load(h + place), change * broadcast(b + n))
                store(value, h + place)
                sum = multiply_add(value, broadcast(c + n), sum)
                place &+= stateStride
            }
            store(sum, y + row)
        }
        channel &+= 8
    }
}
