// Converts keys, values and queries to the 16-bit integers of `WordPage` and `WordAttention`.

public import CIntrinsics
public import KernelFormats

/// Converts a page: `[D][32]` keys and `[32][Dv]` values. Dv is a multiple of 8, and of at least a register.
///
/// - Parameters:
///   - next: The page to prefetch.
///   - roundKeys: Converts the keys, as `roundWordKeys`.
@inlinable @inline(__always)
public func roundPage<V: IntegerVector, Numbers: NumberFormat>(
    _: V.Type, _: Numbers.Type, _ source: UnsafeRawPointer, into page: WordPage, next: UnsafeRawPointer,
    _ roundKeys: () -> Void
) {
    let keyBytes = pageTokens &* page.keyWidth &* Numbers.bytes
    let pageBytes = keyBytes &+ pageTokens &* page.valueWidth &* Numbers.bytes
    for offset in stride(from: 0, to: pageBytes, by: 64) { prefetch_to_l2(next + offset) }
    roundKeys()
    for token in stride(from: 0, to: pageTokens, by: 2) {
        roundPair(V.self, Numbers.self, source + keyBytes, token, page)
    }
}

/// Quantizes 32 vectors `[width][32]`, side by side, to codes whose squares sum up to at most `WordPage.length²`, in pairs
/// `[(width + 1) / 2][32][2]`. `codes` may be `source`.
///
/// - Parameter scales: `[32]`; NaN for a vector with a number that is not finite.
@inlinable @inline(__always)
public func roundColumns<V: IntegerVector, Numbers: NumberFormat>(
    _: V.Type, _: Numbers.Type, _ source: UnsafeRawPointer, _ width: Int, into codes: UnsafeMutableRawPointer,
    _ scales: UnsafeMutablePointer<Float>
) {
    typealias Floats = V.Floats
    for first in stride(from: 0, to: pageTokens, by: V.count) {
        let column = source + first &* Numbers.bytes
        @inline(__always)
        func load(_ d: Int) -> Floats { Numbers.load(column + pageTokens &* Numbers.bytes &* d) }
        var largestBits = V(0)
        var (even, odd) = (Floats(0), Floats(0))
        for pair in 0..<width / 2 {
            let (x, y) = (load(2 &* pair), load(2 &* pair &+ 1))
            largestBits = .max(largestBits, .max(V(magnitudesOf: x), V(magnitudesOf: y)))
            even = .multiplyAdd(x, x, even)
            odd = .multiplyAdd(y, y, odd)
        }
        if width % 2 == 1 {
            let x = load(width &- 1)
            largestBits = .max(largestBits, V(magnitudesOf: x))
            even = .multiplyAdd(x, x, even)
        }
        let largest = largestBits.asFloats
        // Where a square is infinite, the length is at most that of numbers like the largest.
        let longest = largest * Floats(Float(width).squareRoot())
        let length = Floats.min(V.squareRoot(even + odd), longest)
        var step = Floats.max(length * Floats(1 / WordPage.length), largest * Floats(1 / WordPage.largestCode))
        // The squares of smaller numbers may be 0.
        step = .max(step, Floats(0x1p-70))
        let inverse = Floats(1) / step
        // The difference is NaN if a number is not finite.
        (step + (largest - largest)).store(scales + first)
        var target = codes + 4 &* first
        for pair in 0..<(width &+ 1) / 2 {
            let x = load(2 &* pair)
            let y = 2 &* pair &+ 1 < width ? load(2 &* pair &+ 1) : Floats(0)
            V.words(V(rounding: x * inverse), V(rounding: y * inverse)).store(target)
            target += 4 &* pageTokens
        }
    }
}

/// Quantizes the values of a token and the next one.
@inlinable @inline(__always)
func roundPair<V: IntegerVector, Numbers: NumberFormat>(
    _: V.Type, _: Numbers.Type, _ values: UnsafeRawPointer, _ token: Int, _ page: WordPage
) {
    let width = page.valueWidth
    let first = values + token &* width &* Numbers.bytes
    let second = first + width &* Numbers.bytes
    /// The last register overlaps the one before it if the width is no multiple of a register.
    @inline(__always)
    func column(_ index: Int) -> Int { Swift.min(V.count &* index, width &- V.count) }
    @inline(__always)
    func load(_ p: UnsafeRawPointer) -> V.Floats { Numbers.load(p) }
    let registers = (width &+ V.count &- 1) / V.count
    var (a, b) = (V(0), V(0))
    for index in 0..<registers {
        let offset = column(index) &* Numbers.bytes
        a = .max(a, V(magnitudesOf: load(first + offset)))
        b = .max(b, V(magnitudesOf: load(second + offset)))
    }
    let x = V.Floats(inverse(largestBits: a.largest, token, page))
    let y = V.Floats(inverse(largestBits: b.largest, token &+ 1, page))
    let target = page.values + 4 &* (token / 2 &* width)
    for index in 0..<registers {
        let offset = column(index) &* Numbers.bytes
        V.words(V(rounding: load(first + offset) * x), V(rounding: load(second + offset) * y))
            .store(target + 4 &* column(index))
    }
}

/// Stores the scale of a token's value, `(1 + e/8) · 2^a`, as its logarithm and its inverse, and returns the inverse.
@inlinable @inline(__always)
func inverse(largestBits: Int32, _ token: Int, _ page: WordPage) -> Float {
    let largest = Float(bitPattern: UInt32(bitPattern: largestBits))
    // At least the smallest half. At most 2^127, so that the inverse is a number: rows that do not see the token multiply it
    // by a weight of almost 0.
    let bounded = Float(bitPattern: UInt32(bitPattern: min(max(largestBits, 103 << 23), 254 << 23)))
    // The smallest such scale that is not below this one.
    let rounded = (bounded / WordPage.largestValue).bitPattern &+ 0xf_ffff
    let inverse = 1 / Float(bitPattern: rounded & 0xfff0_0000)
    /// log2(1 + e/8)
    let logarithms = SIMD8<Float>(
        0, 0.169_925, 0.321_928_1, 0.459_431_6, 0.584_962_5, 0.700_439_7, 0.807_354_9, 0.906_890_6)
    let logarithm = Float(Int32(bitPattern: rounded >> 23) &- 127) + logarithms[Int(rounded >> 20 & 7)]
    // The difference is NaN if a number is not finite.
    page.logarithms[token] = logarithm + (largest - largest)
    page.inverses[token] = inverse
    return inverse
}
