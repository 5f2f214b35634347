// Registers of packed weights, for the formats in Packed. A vector holds 16 rows, in four registers.

import CIntrinsics
import KernelFormats

/// Four columns of 16 rows, in signed bytes, so that codes of eight bits need no offset.
typealias Codes = SIMD64<UInt8>
typealias RowFloats = SIMD16<Float>
/// One byte for each of 16 rows.
typealias Bytes = SIMD16<UInt8>

// MARK: Codes

@inline(__always) var codesAreSigned: Bool { true }

@inline(__always) func codesOfSigned(_ v: Codes) -> Codes { v }
@inline(__always) func mask(_ v: Codes, _ bits: UInt8) -> Codes { v & bits }
@inline(__always) func or(_ a: Codes, _ b: Codes) -> Codes { a | b }

/// Shifts each byte left by `places` (right if negative).
@inline(__always)
func shift(_ v: Codes, _ places: Int) -> Codes {
    if places > 0 { return v &<< UInt8(truncatingIfNeeded: places) }
    if places < 0 { return v &>> UInt8(truncatingIfNeeded: 0 &- places) }
    return v
}

/// `table[code]`.
@inline(__always) func lookUp(_ table: SIMD16<UInt8>, _ codes: Codes) -> Codes { look_up(table, codes) }

// MARK: Bytes of rows

/// `width` bits of each byte, from bit `place` on.
@inline(__always)
func field(_ v: Bytes, _ place: Int, _ width: Int) -> Bytes {
    (v &>> UInt8(truncatingIfNeeded: place)) & UInt8(truncatingIfNeeded: (1 << width) &- 1)
}

/// Of bytes below 16.
@inline(__always) func timesSixteen(_ v: Bytes) -> Bytes { v &<< 4 }
@inline(__always) func or(_ a: Bytes, _ b: Bytes) -> Bytes { a | b }

// MARK: Floats of rows

@inline(__always) func rows(_ value: Float) -> RowFloats { RowFloats(repeating: value) }
@inline(__always) func times(_ a: RowFloats, _ b: RowFloats) -> RowFloats { a * b }
@inline(__always) func minus(_ a: RowFloats, _ b: Float) -> RowFloats { a - rows(b) }

/// `a · factor + b`.
@inline(__always)
func multiplyAdd(_ a: RowFloats, _ factor: Float, _ b: Float) -> RowFloats { multiply_add16(a, rows(factor), rows(b)) }

@inline(__always) func floats(unsigned bytes: Bytes) -> RowFloats { floats_of_bytes(bytes) }

@inline(__always)
func floats(signed bytes: Bytes) -> RowFloats { floats_of_signed_bytes(unsafeBitCast(bytes, to: SIMD16<Int8>.self)) }

/// The half-precision scales of 16 rows: field `index` of the file's block.
@inline(__always)
func halves(_ block: UnsafeRawPointer, _ index: Int) -> RowFloats {
    floats_of_halves16((block + 32 &* index).loadUnaligned(as: SIMD16<UInt16>.self))
}

/// Half-precision numbers whose bits are `bytes`, shifted left.
@inline(__always)
func halvesOfBytes(_ bytes: Bytes, shiftedBy places: Int32) -> RowFloats {
    floats_of_halves16(halves_of_bytes(bytes) &<< UInt16(truncatingIfNeeded: places))
}

/// Half of 2^(e - 127).
@inline(__always) func halvedPowersOfTwo(_ exponents: Bytes) -> RowFloats { times(powers_of_two(exponents), 0.5) }
