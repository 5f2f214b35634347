// Eight 6-bit scales and eight 6-bit minimums in twelve bytes, as in Q4_K and Q5_K. With scales A…H and minimums a…h,
// one letter per bit, highest first:
//
//     byte  0…3:  EEAAAAAA FFBBBBBB GGCCCCCC HHDDDDDD
//     byte  4…7:  eeaaaaaa ffbbbbbb ggcccccc hhdddddd
//     byte 8…11:  eeeeEEEE ffffFFFF ggggGGGG hhhhHHHH

/// Scale `index`, in 0...63.
@inlinable @inline(__always)
public func packedScale(_ bytes: UnsafePointer<UInt8>, _ index: Int) -> UInt8 {
    index < 4 ? bytes[index] & 63 : (bytes[index + 4] & 15) | ((bytes[index - 4] >> 6) << 4)
}

/// Minimum `index`, in 0...63.
@inlinable @inline(__always)
public func packedMinimum(_ bytes: UnsafePointer<UInt8>, _ index: Int) -> UInt8 {
    index < 4 ? bytes[index + 4] & 63 : (bytes[index + 4] >> 4) | ((bytes[index] >> 6) << 4)
}
