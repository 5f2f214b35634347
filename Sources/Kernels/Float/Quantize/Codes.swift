// Packing codes, given as one byte each, as the blocks store them.

/// Eight codes.
@inlinable @inline(__always)
func word(_ codes: UnsafePointer<UInt8>) -> UInt64 { UnsafeRawPointer(codes).loadUnaligned(as: UInt64.self) }

@inlinable @inline(__always)
func store(_ word: UInt64, _ bytes: UnsafeMutableRawPointer) { bytes.storeBytes(of: word, as: UInt64.self) }

/// 1 in each byte: m times this is the mask m for each.
@inlinable @inline(__always) var eachByte: UInt64 { 0x0101_0101_0101_0101 }

/// Packs the low two bits of codes: see `BlockQ2_K`.
@inlinable @inline(__always)
func packPairs(_ codes: UnsafePointer<UInt8>, into bytes: UnsafeMutableRawPointer) {
    let mask = 3 &* eachByte
    for half in 0..<2 {
        let source = codes + 128 &* half
        for index in stride(from: 0, to: 32, by: 8) {
            let low = (word(source + index) & mask) | (word(source + (index &+ 32)) & mask) << 2
            let high = (word(source + (index &+ 64)) & mask) << 4 | (word(source + (index &+ 96)) & mask) << 6
            store(low | high, bytes + (32 &* half &+ index))
        }
    }
}

/// Packs one bit of each code: that of value 32k + i is bit k of byte i.
@inlinable @inline(__always)
func packTopBits(_ codes: UnsafePointer<UInt8>, shift: UInt64, into bytes: UnsafeMutableRawPointer) {
    for index in stride(from: 0, to: 32, by: 8) {
        var bits: UInt64 = 0
        for k in 0..<8 {
            bits |= ((word(codes + (32 &* k &+ index)) >> shift) & eachByte) << UInt64(truncatingIfNeeded: k)
        }
        store(bits, bytes + index)
    }
}

/// Packs the low nibbles of codes: see `BlockQ4_K`.
@inlinable @inline(__always)
func packHalves(_ codes: UnsafePointer<UInt8>, into bytes: UnsafeMutableRawPointer) {
    let mask = 15 &* eachByte
    for part in 0..<4 {
        let source = codes + 64 &* part
        for index in stride(from: 0, to: 32, by: 8) {
            store(
                (word(source + index) & mask) | (word(source + (index &+ 32)) & mask) << 4,
                bytes + (32 &* part &+ index))
        }
    }
}

/// Packs codes of six bits: see `BlockQ6_K`.
@inlinable @inline(__always)
func packSixBits(_ codes: UnsafePointer<UInt8>, into bytes: UnsafeMutableRawPointer) {
    let (low, high) = (15 &* eachByte, 3 &* eachByte)
    for half in 0..<2 {
        let codes = codes + 128 &* half
        let (ql, qh) = (bytes + 64 &* half, bytes + (128 &+ 32 &* half))
        for index in stride(from: 0, to: 32, by: 8) {
            let (a, b) = (word(codes + index), word(codes + (32 &+ index)))
            let (c, d) = (word(codes + (64 &+ index)), word(codes + (96 &+ index)))
            store((a & low) | (c & low) << 4, ql + index)
            store((b & low) | (d & low) << 4, ql + (32 &+ index))
            let (highA, highB) = ((a >> 4) & high, (b >> 4) & high)
            let (highC, highD) = ((c >> 4) & high, (d >> 4) & high)
            store(highA | highB << 2 | highC << 4 | highD << 6, qh + index)
        }
    }
}
