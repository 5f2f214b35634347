// Dot products and sums over float rows.
//
// Eight lanes in four accumulators: the compiler maps them to SSE or NEON registers, with enough independent chains to
// cover the latency of an addition.

import CMath
public import KernelFormats

/// The sum of `a[i] · b[i]`.
@inline(never)
public func dot(_ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, count: Int) -> Float {
    var s0 = SIMD8<Float>(), s1 = s0, s2 = s0, s3 = s0
    var i = 0
    while i &+ 32 <= count {
        s0 += load8(a + i) * load8(b + i)
        s1 += load8(a + (i &+ 8)) * load8(b + (i &+ 8))
        s2 += load8(a + (i &+ 16)) * load8(b + (i &+ 16))
        s3 += load8(a + (i &+ 24)) * load8(b + (i &+ 24))
        i &+= 32
    }
    var sum = ((s0 + s1) + (s2 + s3)).sum()
    while i < count {
        sum += a[i] * b[i]
        i &+= 1
    }
    return sum
}

/// `y[i] += x[i]`.
@inline(never)
public func add(_ y: UnsafeMutablePointer<Float>, _ x: UnsafePointer<Float>, count: Int) {
    for i in 0..<count { y[i] += x[i] }
}

/// `y[i] += factor · x[i]`.
@inline(never)
public func add(_ y: UnsafeMutablePointer<Float>, _ x: UnsafePointer<Float>, times factor: Float, count: Int) {
    for i in 0..<count { y[i] += factor * x[i] }
}

/// `y[i] = x[i] · w[i] / √(mean(x²) + ε)`: RMSNorm (Zhang and Sennrich 2019). `y` may be `x`.
@inline(never)
public func rmsNorm(
    _ x: UnsafePointer<Float>, weight: UnsafePointer<Float>, epsilon: Float, into y: UnsafeMutablePointer<Float>,
    count: Int
) {
    let scale = 1 / (dot(x, x, count: count) / Float(count) + epsilon).squareRoot()
    for i in 0..<count { y[i] = x[i] * scale * weight[i] }
}

/// `y[i] = w[i] · (x[i] − mean(x)) / √(variance(x) + ε)`: LayerNorm without its bias (Ba et al. 2016). `y` may be `x`.
@inline(never)
public func layerNorm(
    _ x: UnsafePointer<Float>, weight: UnsafePointer<Float>, epsilon: Float, into y: UnsafeMutablePointer<Float>,
    count: Int
) {
    var mean: Float = 0
    for i in 0..<count { mean += x[i] }
    mean /= Float(count)
    // A second pass avoids cancellation if the mean is large.
    var variance: Float = 0
    for i in 0..<count { variance += (x[i] - mean) * (x[i] - mean) }
    let scale = 1 / (variance / Float(count) + epsilon).squareRoot()
    for i in 0..<count { y[i] = (x[i] - mean) * scale * weight[i] }
}

/// `y[i] = limit · tanh(x[i] / limit)`: softcapping (Bello et al. 2016). `y` may be `x`.
@inline(never)
public func softcap(_ x: UnsafePointer<Float>, limit: Float, into y: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count { y[i] = limit * tanhf(x[i] / limit) }
}

/// Adds the second product of low-rank updates; terms of an output are added in the order of the rank.
@inline(never)
public func addLowRank(_ product: LowRankProduct) {
    let (rank, groupOutputs) = (product.rank, LowRankProduct.groupOutputs)
    var output = product.outputs.lowerBound
    while output < product.outputs.upperBound {
        let (group, lane) = (output / groupOutputs, output % groupOutputs)
        let count = min(groupOutputs &- lane, product.outputs.upperBound &- output)
        let b = product.b + (group &* rank &* groupOutputs &+ lane)
        for token in 0..<product.tokens {
            let h = product.h + token &* rank
            let c = product.c + (token &* product.cStride &+ output &- product.outputs.lowerBound)
            for k in 0..<rank { add(c, b + k &* groupOutputs, times: h[k], count: count) }
        }
        output &+= count
    }
}

@inline(__always)
func load8(_ p: UnsafePointer<Float>) -> SIMD8<Float> {
    UnsafeRawPointer(p).loadUnaligned(as: SIMD8<Float>.self)
}

/// `target[column · targetStride + row] = source[row · stride + column]`.
@inline(never)
public func transpose(
    _ source: UnsafePointer<Float>, stride: Int, rows: Int, columns: Int, into target: UnsafeMutablePointer<Float>,
    targetStride: Int
) {
    var row = 0
    while row &+ 4 <= rows {
        let r0 = source + row &* stride, r1 = r0 + stride
        let r2 = r1 + stride, r3 = r2 + stride
        var place = UnsafeMutableRawPointer(target + row)
        for column in 0..<columns {
            place.storeBytes(of: SIMD4(r0[column], r1[column], r2[column], r3[column]), as: SIMD4<Float>.self)
            place += 4 &* targetStride
        }
        row &+= 4
    }
    while row < rows {
        for column in 0..<columns { target[column &* targetStride &+ row] = source[row &* stride &+ column] }
        row &+= 1
    }
}
