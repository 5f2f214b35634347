// Types of single numbers. Sources may be unaligned, as the file determines the alignment.

import KernelFormats

func dequantizeNumbers(
    _ type: TensorType, _ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int
) {
    switch type {
    case .F32: dequantizeF32(source, into: destination, count: count)
    case .F16: dequantizeF16(source, into: destination, count: count)
    case .BF16: dequantizeBF16(source, into: destination, count: count)
    case .F64: dequantizeF64(source, into: destination, count: count)
    case .I8: dequantizeI8(source, into: destination, count: count)
    case .I16: dequantizeI16(source, into: destination, count: count)
    case .I32: dequantizeI32(source, into: destination, count: count)
    case .I64: dequantizeI64(source, into: destination, count: count)
    default: preconditionFailure("\(type.name) has blocks")
    }
}

private func dequantizeF32(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count {
        let bits = source.loadUnaligned(fromByteOffset: 4 * i, as: UInt32.self)
        destination[i] = Float(bitPattern: UInt32(littleEndian: bits))
    }
}

/// Rounds to nearest.
private func dequantizeF64(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count {
        let bits = source.loadUnaligned(fromByteOffset: 8 * i, as: UInt64.self)
        destination[i] = Float(Double(bitPattern: UInt64(littleEndian: bits)))
    }
}

func dequantizeF16(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count { destination[i] = loadHalf(source + 2 * i) }
}

private func dequantizeBF16(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count {
        let bits = source.loadUnaligned(fromByteOffset: 2 * i, as: UInt16.self)
        destination[i] = floatFromBFloat16(UInt16(littleEndian: bits))
    }
}

private func dequantizeI8(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count { destination[i] = Float(source.load(fromByteOffset: i, as: Int8.self)) }
}

private func dequantizeI16(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count {
        destination[i] = Float(Int16(littleEndian: source.loadUnaligned(fromByteOffset: 2 * i, as: Int16.self)))
    }
}

/// Rounds to nearest.
private func dequantizeI32(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count {
        destination[i] = Float(Int32(littleEndian: source.loadUnaligned(fromByteOffset: 4 * i, as: Int32.self)))
    }
}

/// Rounds to nearest.
private func dequantizeI64(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count {
        destination[i] = Float(Int64(littleEndian: source.loadUnaligned(fromByteOffset: 8 * i, as: Int64.self)))
    }
}
