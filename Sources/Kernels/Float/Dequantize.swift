// Dequantizes rows of weights to floats.

public import KernelFormats

/// As `KernelsPortable.dequantize`, for a multiple of 32 values.
///
/// - Returns: Whether there are vectors for the format; if not, nothing is written.
@inlinable @inline(__always)
public func dequantize<V: BlockVector>(
    _: V.Type, _ type: TensorType, _ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>,
    count: Int
) -> Bool {
    switch type {
    case .F32: unpack(UnpackNumbers<V, FloatNumbers>.self, source, destination, count)
    case .F16: unpack(UnpackNumbers<V, HalfNumbers>.self, source, destination, count)
    case .BF16: unpack(UnpackNumbers<V, BFloatNumbers>.self, source, destination, count)
    case .Q4_0: unpack(UnpackQ4_0<V>.self, source, destination, count)
    case .Q4_1: unpack(UnpackQ4_1<V>.self, source, destination, count)
    case .Q5_0: unpack(UnpackQ5_0<V>.self, source, destination, count)
    case .Q5_1: unpack(UnpackQ5_1<V>.self, source, destination, count)
    case .Q8_0: unpack(UnpackQ8_0<V>.self, source, destination, count)
    case .Q2_K: unpack(UnpackQ2_K<V>.self, source, destination, count)
    case .Q3_K: unpack(UnpackQ3_K<V>.self, source, destination, count)
    case .Q4_K: unpack(UnpackQ4_K<V>.self, source, destination, count)
    case .Q5_K: unpack(UnpackQ5_K<V>.self, source, destination, count)
    case .Q6_K: unpack(UnpackQ6_K<V>.self, source, destination, count)
    case .IQ4_NL: unpack(UnpackIQ4_NL<V>.self, source, destination, count)
    case .IQ4_XS: unpack(UnpackIQ4_XS<V>.self, source, destination, count)
    default: return false
    }
    return true
}

@inlinable @inline(__always)
func unpack<Format: BlockFormat>(
    _: Format.Type, _ source: UnsafeRawPointer, _ destination: UnsafeMutablePointer<Float>, _ count: Int
) {
    var (block, out) = (source, destination)
    for _ in 0..<(count / Format.values) {
        let scales = Format.scales(block)
        @inline(__always)
        func group(_ index: Int) {
            Format.unpack(block, scales, index).store(out)
            out += 32
        }
        group(0)
        // Unrolled, so that shifts and lanes are constants.
        if Format.values == 256 {
            group(1)
            group(2)
            group(3)
            group(4)
            group(5)
            group(6)
            group(7)
        }
        block += Format.bytes
    }
}
