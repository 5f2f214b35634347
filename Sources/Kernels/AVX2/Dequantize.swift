// Rows of weights: as floats, and multiplied by activations without being stored.

import CIntrinsics
public import KernelFormats

/// Whether this tier reads the format itself.
public func reads(_ type: TensorType) -> Bool {
    switch type {
    case .F32, .F16, .BF16, .Q4_0, .Q4_1, .Q5_0, .Q5_1, .Q8_0, .Q2_K, .Q3_K, .Q4_K, .Q5_K, .Q6_K, .IQ4_NL,
        .IQ4_XS:
        true
    default: false
    }
}

/// As `KernelsPortable.dequantize`, for the formats that `reads` names and a multiple of 32 values.
@inline(never)
public func dequantize(
    _ type: TensorType, _ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int
) {
    switch type {
    case .F32: store(F32.self, source, destination, count)
    case .F16: store(F16.self, source, destination, count)
    case .BF16: store(BF16.self, source, destination, count)
    case .Q4_0: store(Q4_0.self, source, destination, count)
    case .Q4_1: store(Q4_1.self, source, destination, count)
    case .Q5_0: store(Q5_0.self, source, destination, count)
    case .Q5_1: store(Q5_1.self, source, destination, count)
    case .Q8_0: store(Q8_0.self, source, destination, count)
    case .Q2_K: store(Q2_K.self, source, destination, count)
    case .Q3_K: store(Q3_K.self, source, destination, count)
    case .Q4_K: store(Q4_K.self, source, destination, count)
    case .Q5_K: store(Q5_K.self, source, destination, count)
    case .Q6_K: store(Q6_K.self, source, destination, count)
    case .IQ4_NL: store(IQ4_NL.self, source, destination, count)
    case .IQ4_XS: store(IQ4_XS.self, source, destination, count)
    default: break
    }
}

@inline(__always)
private func store<F: Format>(
    _: F.Type, _ source: UnsafeRawPointer, _ destination: UnsafeMutablePointer<Float>, _ count: Int
) {
    var (block, out) = (source, destination)
    for _ in 0..<(count / F.values) {
        let scales = F.scales(block)
        forEachGroup(of: F.self) { group in
            let w = F.unpack(block, scales, group)
            _mm256_storeu_ps(out, w.0)
            _mm256_storeu_ps(out + 8, w.1)
            _mm256_storeu_ps(out + 16, w.2)
            _mm256_storeu_ps(out + 24, w.3)
            out += 32
        }
        block += F.bytes
    }
}

/// The loop over a block's groups, written out: shifts and lanes then are constants.
@inline(__always)
private func forEachGroup<F: Format>(of _: F.Type, _ body: (Int) -> Void) {
    body(0)
    guard F.values == 256 else { return }
    body(1)
    body(2)
    body(3)
    body(4)
    body(5)
    body(6)
    body(7)
}

/// `y[t · stride] = weights · x[t]` of one row of weights, for one to four tokens: the weights are unpacked once.
///
/// - Parameters:
///   - count: Length of the row, a multiple of the format's block.
///   - x: `[tokens]` rows of `count` activations, `xStride` apart.
@inline(never)
public func dotRow(
    _ type: TensorType, _ weights: UnsafeRawPointer, _ x: UnsafePointer<Float>, xStride: Int, tokens: Int, count: Int,
    into y: UnsafeMutablePointer<Float>, stride: Int
) {
    switch type {
    case .F32: dot(F32.self, weights, x, xStride, tokens, count, y, stride)
    case .F16: dot(F16.self, weights, x, xStride, tokens, count, y, stride)
    case .BF16: dot(BF16.self, weights, x, xStride, tokens, count, y, stride)
    case .Q4_0: dot(Q4_0.self, weights, x, xStride, tokens, count, y, stride)
    case .Q4_1: dot(Q4_1.self, weights, x, xStride, tokens, count, y, stride)
    case .Q5_0: dot(Q5_0.self, weights, x, xStride, tokens, count, y, stride)
    case .Q5_1: dot(Q5_1.self, weights, x, xStride, tokens, count, y, stride)
    case .Q8_0: dot(Q8_0.self, weights, x, xStride, tokens, count, y, stride)
    case .Q2_K: dot(Q2_K.self, weights, x, xStride, tokens, count, y, stride)
    case .Q3_K: dot(Q3_K.self, weights, x, xStride, tokens, count, y, stride)
    case .Q4_K: dot(Q4_K.self, weights, x, xStride, tokens, count, y, stride)
    case .Q5_K: dot(Q5_K.self, weights, x, xStride, tokens, count, y, stride)
    case .Q6_K: dot(Q6_K.self, weights, x, xStride, tokens, count, y, stride)
    case .IQ4_NL: dot(IQ4_NL.self, weights, x, xStride, tokens, count, y, stride)
    case .IQ4_XS: dot(IQ4_XS.self, weights, x, xStride, tokens, count, y, stride)
    default: break
    }
}

@inline(__always)
private func dot<F: Format>(
    _: F.Type, _ weights: UnsafeRawPointer, _ x: UnsafePointer<Float>, _ xStride: Int, _ tokens: Int, _ count: Int,
    _ y: UnsafeMutablePointer<Float>, _ stride: Int
) {
    switch tokens {
    case 1: y[0] = dot1(F.self, weights, x, count)
    case 2: dot2(F.self, weights, x, xStride, count, y, stride)
    default:
        // Three tokens: the fourth is the third once more, and overwrites it with the same.
        let last = tokens == 3 ? 2 : 3
        dot4(F.self, weights, x, xStride, last, count, y, stride)
    }
}

/// Four independent sums: one would wait for the latency of each addition.
private struct Sum4 {
    var a = _mm256_setzero_ps(), b = _mm256_setzero_ps(), c = _mm256_setzero_ps(), d = _mm256_setzero_ps()

    @inline(__always)
    mutating func add(_ w: Weights32, _ x: UnsafePointer<Float>) {
        a = _mm256_fmadd_ps(w.0, load(x), a)
        b = _mm256_fmadd_ps(w.1, load(x + 8), b)
        c = _mm256_fmadd_ps(w.2, load(x + 16), c)
        d = _mm256_fmadd_ps(w.3, load(x + 24), d)
    }

    @inline(__always)
    var total: Float { sum(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d))) }
}

/// The same in two registers, for where there are four tokens.
private struct Sum2 {
    var a = _mm256_setzero_ps(), b = _mm256_setzero_ps()

    @inline(__always)
    mutating func add(_ w: Weights32, _ x: UnsafePointer<Float>) {
        a = _mm256_fmadd_ps(w.0, load(x), a)
        b = _mm256_fmadd_ps(w.1, load(x + 8), b)
        a = _mm256_fmadd_ps(w.2, load(x + 16), a)
        b = _mm256_fmadd_ps(w.3, load(x + 24), b)
    }

    @inline(__always)
    var total: Float { sum(_mm256_add_ps(a, b)) }
}

@inline(__always)
private func dot1<F: Format>(_: F.Type, _ weights: UnsafeRawPointer, _ x: UnsafePointer<Float>, _ count: Int) -> Float {
    var sum = Sum4()
    var (block, x) = (weights, x)
    for _ in 0..<(count / F.values) {
        let scales = F.scales(block)
        forEachGroup(of: F.self) { group in sum.add(F.unpack(block, scales, group), x + 32 &* group) }
        block += F.bytes
        x += F.values
    }
    return sum.total
}

@inline(__always)
private func dot2<F: Format>(
    _: F.Type, _ weights: UnsafeRawPointer, _ x: UnsafePointer<Float>, _ xStride: Int, _ count: Int,
    _ y: UnsafeMutablePointer<Float>, _ stride: Int
) {
    var (sum0, sum1) = (Sum4(), Sum4())
    var (block, x0, x1) = (weights, x, x + xStride)
    for _ in 0..<(count / F.values) {
        let scales = F.scales(block)
        forEachGroup(of: F.self) { group in
            let w = F.unpack(block, scales, group)
            sum0.add(w, x0 + 32 &* group)
            sum1.add(w, x1 + 32 &* group)
        }
        block += F.bytes
        x0 += F.values
        x1 += F.values
    }
    y[0] = sum0.total
    y[stride] = sum1.total
}

@inline(__always)
private func dot4<F: Format>(
    _: F.Type, _ weights: UnsafeRawPointer, _ x: UnsafePointer<Float>, _ xStride: Int, _ last: Int, _ count: Int,
    _ y: UnsafeMutablePointer<Float>, _ stride: Int
) {
    var (sum0, sum1, sum2, sum3) = (Sum2(), Sum2(), Sum2(), Sum2())
    var (block, x0, x1, x2, x3) = (weights, x, x + xStride, x + 2 &* xStride, x + last &* xStride)
    for _ in 0..<(count / F.values) {
        let scales = F.scales(block)
        forEachGroup(of: F.self) { group in
            let w = F.unpack(block, scales, group)
            sum0.add(w, x0 + 32 &* group)
            sum1.add(w, x1 + 32 &* group)
            sum2.add(w, x2 + 32 &* group)
            sum3.add(w, x3 + 32 &* group)
        }
        block += F.bytes
        x0 += F.values
        x1 += F.values
        x2 += F.values
        x3 += F.values
    }
    y[0] = sum0.total
    y[stride] = sum1.total
    y[2 &* stride] = sum2.total
    y[last &* stride] = sum3.total
}
