// Numbers of 32 and 16 bits, read to registers as floats.

import CIntrinsics

/// Reads 16 numbers as floats.
protocol NumberFormat {
    static var bytes: Int { get }
    static func load(_ p: UnsafeRawPointer) -> __m512
}

enum FloatNumbers: NumberFormat {
    static var bytes: Int { 64 }
    @inline(__always)
    static func load(_ p: UnsafeRawPointer) -> __m512 { p.loadUnaligned(as: __m512.self) }
}

enum HalfNumbers: NumberFormat {
    static var bytes: Int { 32 }
    @inline(__always)
    static func load(_ p: UnsafeRawPointer) -> __m512 { _mm512_cvtph_ps(p.loadUnaligned(as: __m256i.self)) }
}

enum BFloatNumbers: NumberFormat {
    static var bytes: Int { 32 }
    @inline(__always)
    static func load(_ p: UnsafeRawPointer) -> __m512 {
        _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(p.loadUnaligned(as: __m256i.self)), 16))
    }
}
