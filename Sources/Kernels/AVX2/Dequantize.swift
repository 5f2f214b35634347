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
        for group in 0..<(F.values / 32) {
            let w = F.unpack(block, group)
            _mm256_storeu_ps(out, w.0)
            _mm256_storeu_ps(out + 8, w.1)
            _mm256_storeu_ps(out + 16, w.2)
            _mm256_storeu_ps(out + 24, w.3)
            out += 32
        }
        block += F.bytes
    }
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
    case 2: dot2(F.self, weights, x, x + xStride, count, y, stride)
    default:
        // Three tokens: the fourth is the third once more, and overwrites it with the same.
        let last = tokens == 3 ? 2 : 3
        dot4(F.self, weights, x, xStride, last, count, y, stride)
    }
}

@inline(__always)
private func multiply(_ w: Weights32, _ x: UnsafePointer<Float>, _ a: inout __m256, _ b: inout __m256) {
    a = _mm256_fmadd_ps(w.0, load(x), a)
    b = _mm256_fmadd_ps(w.1, load(x + 8), b)
    a = _mm256_fmadd_ps(w.2, load(x + 16), a)
    b = _mm256_fmadd_ps(w.3, load(x + 24), b)
}

@inline(__always)
private func dot1<F: Format>(_: F.Type, _ weights: UnsafeRawPointer, _ x: UnsafePointer<Float>, _ count: Int) -> Float {
    var (a, b) = (_mm256_setzero_ps(), _mm256_setzero_ps())
    var (block, x) = (weights, x)
    for _ in 0..<(count / F.values) {
        for group in 0..<(F.values / 32) {
            multiply(F.unpack(block, group), x, &a, &b)
            x += 32
        }
        block += F.bytes
    }
    return sum(_mm256_add_ps(a, b))
}

@inline(__always)
private func dot2<F: Format>(
    _: F.Type, _ weights: UnsafeRawPointer, _ x0: UnsafePointer<Float>, _ x1: UnsafePointer<Float>, _ count: Int,
    _ y: UnsafeMutablePointer<Float>, _ stride: Int
) {
    let zero = _mm256_setzero_ps()
    var (a0, b0, a1, b1) = (zero, zero, zero, zero)
    var (block, offset) = (weights, 0)
    for _ in 0..<(count / F.values) {
        for group in 0..<(F.values / 32) {
            let w = F.unpack(block, group)
            multiply(w, x0 + offset, &a0, &b0)
            multiply(w, x1 + offset, &a1, &b1)
            offset &+= 32
        }
        block += F.bytes
    }
    y[0] = sum(_mm256_add_ps(a0, b0))
    y[stride] = sum(_mm256_add_ps(a1, b1))
}

@inline(__always)
private func dot4<F: Format>(
    _: F.Type, _ weights: UnsafeRawPointer, _ x: UnsafePointer<Float>, _ xStride: Int, _ last: Int, _ count: Int,
    _ y: UnsafeMutablePointer<Float>, _ stride: Int
) {
    let zero = _mm256_setzero_ps()
    var (a0, b0, a1, b1) = (zero, zero, zero, zero)
    var (a2, b2, a3, b3) = (zero, zero, zero, zero)
    let (x1, x2, x3) = (x + xStride, x + 2 &* xStride, x + last &* xStride)
    var (block, offset) = (weights, 0)
    for _ in 0..<(count / F.values) {
        for group in 0..<(F.values / 32) {
            let w = F.unpack(block, group)
            multiply(w, x + offset, &a0, &b0)
            multiply(w, x1 + offset, &a1, &b1)
            multiply(w, x2 + offset, &a2, &b2)
            multiply(w, x3 + offset, &a3, &b3)
            offset &+= 32
        }
        block += F.bytes
    }
    y[0] = sum(_mm256_add_ps(a0, b0))
    y[stride] = sum(_mm256_add_ps(a1, b1))
    y[2 &* stride] = sum(_mm256_add_ps(a2, b2))
    y[last &* stride] = sum(_mm256_add_ps(a3, b3))
}
