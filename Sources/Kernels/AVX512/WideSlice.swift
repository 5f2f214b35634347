// What kernels need of a slice of a `WideTile` for weights of some format, prepared once for all groups of rows.

import CIntrinsics
import KernelFormats

/// Per segment, part and column of a slice: the value that a sum of products of codes starts with, which takes the center
/// of the codes into account; or, in formats with offsets of segments, what the activations of the segment sum up to.
struct SliceNumbers {
    private let base: UnsafeMutablePointer<Int32>
    private let columns: Int

    /// Room for two segments of `WideTile.streamedColumns`. A variable of a function: nothing is allocated.
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

    /// Formats with offsets of parts need none of these numbers.
    ///
    /// - Parameters:
    ///   - pairs: Whether the columns are pairs, whose second column gets the number of the whole. A literal.
    ///   - bases: Whether a sum is added to the bits of its column's base. Each column of a pair has its own then. A literal.
    @inline(__always)
    func fill(
        from slice: UnsafeRawPointer, segments: Int, center: Int32, _ offsets: Offsets, pairs: Bool, bases: Bool
    ) {
        if offsets == .ofParts { return }
        let count = WideTile.sliceParts &* columns
        let factor = _mm512_set1_epi32(0 &- center)
        for segment in 0..<segments {
            for index in stride(from: 0, to: count, by: 16) {
                let first = slice + (WideTile.sums &* columns &+ 4 &* (segment &* count &+ index))
                var sums = load64(first)
                if segments == 1 { sums = _mm512_add_epi32(sums, load64(first + 4 &* count)) }
                if pairs, !bases || offsets == .ofSegments {
                    // In each two columns, 128 times the first is added to the second.
                    sums = _mm512_add_epi32(sums, _mm512_slli_epi64(sums, UInt32(32 + WideTile.pairShift)))
                }
                let target = base + (segment &* count &+ index)
                if offsets == .ofSegments {
                    let factors = floats16(slice + (WideTile.factors &* columns &+ 4 &* index))
                    _mm512_storeu_ps(target, _mm512_mul_ps(_mm512_cvtepi32_ps(sums), factors))
                } else {
                    var starts = _mm512_mullo_epi32(sums, factor)
                    if bases {
                        starts = _mm512_add_epi32(starts, load64(slice + (WideTile.bases &* columns &+ 4 &* index)))
                    }
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

@inline(__always)
func broadcastFloat(_ p: UnsafeRawPointer) -> __m512 { _mm512_set1_ps(p.loadUnaligned(as: Float.self)) }

/// Joins the sums of a pair's two columns.
@inline(__always)
func joinPair(_ first: __m512i, _ second: __m512i) -> __m512i {
    _mm512_add_epi32(_mm512_slli_epi32(first, UInt32(WideTile.pairShift)), second)
}
