import KernelsPortable
import TestSupport
import Testing

#if arch(x86_64)
    import CIntrinsics
    import KernelsAVX2
    import KernelsAVX512
    import KernelsAVXVNNI
#endif

/// That the loops compute what they count.
@Suite struct PeakTests {
    @Test func `the portable loops multiply and add`() {
        // Chains start at x, x + 1, … x + 7, in 4, 8 or 16 lanes.
        var floats: Float = 0
        var bits = 0
        for chain in 0..<8 {
            floats += 4 * ((0.5 + Float(chain)) * 0.5 + 0.5)
            bits ^= (chain + 3) * 3 + 3
        }
        #expect(KernelsPortable.multiplyAddFloats(rounds: 1, 0.5) == floats)
        #expect(KernelsPortable.multiplyAddWords(rounds: 1, 3) == Int32(8 * bits))
        #expect(KernelsPortable.multiplyAddBytes(rounds: 1, 3) == Int32(Int8(truncatingIfNeeded: 16 * bits)))
    }

    @Test func `every word is read once`() {
        let words = (0..<64).map { UInt64($0) << 40 + 1 }
        let sum = UInt64(2016) << 40 + 64
        words.withUnsafeBytes {
            #expect(KernelsPortable.readAll($0.baseAddress!, bytes: $0.count) == sum)
            #if arch(x86_64)
                if cpu_has_avx2_fma_f16c() != 0 {
                    #expect(KernelsAVX2.readAll($0.baseAddress!, bytes: $0.count) == sum)
                }
                if KernelsAVX512.isSupported() {
                    #expect(KernelsAVX512.readAll($0.baseAddress!, bytes: $0.count) == sum)
                }
            #endif
        }
    }

    #if arch(x86_64)
        @Test(.enabled(if: cpu_has_avx2_fma_f16c() != 0, "this processor has no AVX2"))
        func `the loops of AVX2 multiply and add`() {
            var floats: Float = 8 * (0.5 * 0.5 + 0.5)
            for start in 2...12 { floats += 8 * (Float(start) * 0.5 + 0.5) }
            #expect(KernelsAVX2.multiplyAddFloats(rounds: 1, 0.5) == floats)
            var (words, bytes): (Int32, Int32) = (0, 0)
            for start: Int32 in 1...12 {
                // In every byte. A lane's two words, each times 0x0101, are added to the lane.
                words ^= start * 0x0101_0101 + 2 * start * 0x0101 * 0x0101
                // A word's two bytes, each times 1, are added to the word.
                bytes ^= (start * 0x0101 + 2 * start) * 0x10001
            }
            #expect(KernelsAVX2.multiplyAddWords(rounds: 1, 0x0101) == words)
            #expect(KernelsAVX2.multiplyAddBytes(rounds: 1, 1) == bytes)
        }

        @Test(.enabled(if: KernelsAVXVNNI.isSupported(), "this processor has no AVX-VNNI"))
        func `the loops of AVX-VNNI multiply and add`() {
            var (words, bytes): (Int32, Int32) = (0, 0)
            for start: Int32 in 1...12 {
                // As those of AVX2.
                words ^= start * 0x0101_0101 + 2 * start * 0x0101 * 0x0101
                // A lane's four bytes, each times 1, are added to the lane.
                bytes ^= start * 0x0101_0101 + 4 * start
            }
            #expect(KernelsAVXVNNI.multiplyAddWords(rounds: 1, 0x0101) == words)
            #expect(KernelsAVXVNNI.multiplyAddBytes(rounds: 1, 1) == bytes)
        }

        @Test(.enabled(if: KernelsAVX512.isSupported(), "this processor has no AVX-512 with VNNI"))
        func `the loops of AVX-512 multiply and add`() {
            var floats: Float = 16 * (0.5 * 0.5 + 0.5)
            for start in 2...12 { floats += 16 * (Float(start) * 0.5 + 0.5) }
            #expect(KernelsAVX512.multiplyAddFloats(rounds: 1, 0.5) == floats)
            var (words, bytes): (Int32, Int32) = (0, 0)
            for start: Int32 in 1...12 {
                // The sum's low word or byte times that of the factor; the others are 0.
                words ^= start + start * 300
                bytes ^= start + start * 3
            }
            #expect(KernelsAVX512.multiplyAddWords(rounds: 1, 300) == words)
            #expect(KernelsAVX512.multiplyAddBytes(rounds: 1, 3) == bytes)
        }
    #endif
}
