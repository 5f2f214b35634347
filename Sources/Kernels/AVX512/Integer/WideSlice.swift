// What kernels need of a slice of a `WideTile` for weights of some format, prepared once for all groups of rows.

import CIntrinsics
import KernelFormats

/// Per segment, part and column of a slice: the value that a sum of products of codes starts with, the bits of the column's
/// base and what the center of the codes amounts to; or, in formats with offsets of segments, what the activations of the segment sum up to.
struct SliceNumbers {
    private let base: UnsafeMutablePointer<Int32>
    private let columns: Int

    /// Room for two segments of `2 * WideTile.streamedTokens` columns. A variable of a function: nothing is allocated.
    struct Memory {
        private typealias Segment = (__m512i, __m512i, __m512i, __m512i, __m512i, __m512i, __m512i, __m512i)
        private var segments: (Segment, Segment)

        @inline(__always)
        init() {
            let zero = _mm512_setzero_si512()
            let segment = (zero, zero, zero, zero, zero, zero, zero, zero)
            segments = (segment, segment)
        }
    }

    @inline(__always)
    init(in memory: UnsafeMutableRawPointer, columns: Int) {
        base = memory.assumingMemoryBound(to: Int32.self)
        self.columns = columns
    }

    /// Formats with offsets of parts need none of these numbers, nor do upper bounds.
    ///
    /// - Parameter pairs: Whether the columns are pairs: then what activations sum up to is at the second. A literal.
    @inline(__always)
    func fill(from slice: UnsafeRawPointer, segments: Int, center: Int32, _ offsets: Offsets, pairs: Bool) {
        if offsets == .ofParts || offsets == .ofBounds { return }
        let count = WideTile.sliceParts &* columns
        let factor = _mm512_set1_epi32(0 &- center)
        for segment in 0..<segments {
            for index in stride(from: 0, to: count, by: 16) {
                let first = slice + (WideTile.sums &* columns &+ 4 &* (segment &* count &+ index))
                var sums = load64(first)
                if segments == 1 { sums = _mm512_add_epi32(sums, load64(first + 4 &* count)) }
                let target = base + (segment &* count &+ index)
                if offsets == .ofSegments {
                    // In each two columns, 128 times the first is added to the second.
                    if pairs { sums = _mm512_add_epi32(sums, _mm512_slli_epi64(sums, UInt32(32 + WideTile.pairShift))) }
                    let factors = floats16(slice + (WideTile.factors &* columns &+ 4 &* index))
                    _mm512_storeu_ps(target, _mm512_mul_ps(_mm512_cvtepi32_ps(sums), factors))
                } else {
                    let bases = load64(slice + (WideTile.bases &* columns &+ 4 &* index))
                    let starts = _mm512_add_epi32(_mm512_mullo_epi32(sums, factor), bases)
                    _mm512_storeu_ps(target, _mm512_castsi512_ps(starts))
                }
            }
        }
    }

    /// The numbers of all columns.
    @inline(__always)
    func starts(_ segment: Int, _ part: Int) -> UnsafePointer<Int32> {
        UnsafePointer(base + (segment &* WideTile.sliceParts &+ part) &* columns)
    }

    @inline(__always)
    func sums(_ segment: Int, _ part: Int) -> UnsafePointer<Float> {
        UnsafeRawPointer(starts(segment, part)).assumingMemoryBound(to: Float.self)
    }
}

@inline(__always)
func floats16(_ p: UnsafeRawPointer) -> __m512 { _mm512_loadu_ps(p.assumingMemoryBound(to: Float.self)) }

/// A 4-byte number in all lanes.
@inline(__always)
func broadcast(_ p: UnsafeRawPointer) -> __m512i { _mm512_set1_epi32(p.loadUnaligned(as: Int32.self)) }

/// The bits of a sum as a float, without the base that it was added to.
@inline(__always)
func float(_ sum: __m512i, without base: Float) -> __m512 {
    _mm512_sub_ps(_mm512_castsi512_ps(sum), _mm512_set1_ps(base))
}
