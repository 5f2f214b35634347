// Formats without blocks. Sources may be unaligned, as the file determines the alignment.

import KernelFormats

public func dequantizeF32(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count {
        let bits = source.loadUnaligned(fromByteOffset: 4 * i, as: UInt32.self)
        destination[i] = Float(bitPattern: UInt32(littleEndian: bits))
    }
}

/// Rounds to nearest.
public func dequantizeF64(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count {
        let bits = source.loadUnaligned(fromByteOffset: 8 * i, as: UInt64.self)
        destination[i] = Float(Double(bitPattern: UInt64(littleEndian: bits)))
    }
}

public func dequantizeF16(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count { destination[i] = loadHalf(source + 2 * i) }
}

public func dequantizeBF16(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count {
        let bits = source.loadUnaligned(fromByteOffset: 2 * i, as: UInt16.self)
        destination[i] = floatFromBFloat16(UInt16(littleEndian: bits))
    }
}

public func dequantizeI8(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count { destination[i] = Float(source.load(fromByteOffset: i, as: Int8.self)) }
}

public func dequantizeI16(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count {
        destination[i] = Float(Int16(littleEndian: source.loadUnaligned(fromByteOffset: 2 * i, as: Int16.self)))
    }
}

/// Rounds to nearest.
public func dequantizeI32(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count {
        destination[i] = Float(Int32(littleEndian: source.loadUnaligned(fromByteOffset: 4 * i, as: Int32.self)))
    }
}

/// Rounds to nearest.
public func dequantizeI64(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count {
        destination[i] = Float(Int64(littleEndian: source.loadUnaligned(fromByteOffset: 8 * i, as: Int64.self)))
    }
}
