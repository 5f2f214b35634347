import CIntrinsics
import KernelFormats

/// Adds to each sum two products of signed words.
@inline(__always)
func add_products_of_words(_ sums: __m256i, _ a: __m256i, _ b: __m256i) -> __m256i {
    _mm256_add_epi32(sums, _mm256_madd_epi16(a, b))
}

/// Multiplies the results of a token for groups of 16 rows, `stride` floats apart, by the token's scale.
@inline(never)
public func scaleResults(
    _ results: UnsafePointer<Float>, stride: Int, groups: Int, by scale: Float, into c: UnsafeMutablePointer<Float>
) {
    let scale = EightFloats(scale)
    for group in 0..<groups {
        let (source, target) = (results + group &* stride, c + group &* PackedFloats.rows)
        (EightFloats.load(source) * scale).store(target)
        (EightFloats.load(source + 8) * scale).store(target + 8)
    }
}
