// A few tokens times packed weights, for decoding: weights are streamed from memory and unpacked in registers, once for
// all tokens of a tile.
//
// `vpmaddwd` multiplies 16 weight codes by 16 activation codes, both of 16 bits, and adds pairs in 32 bits: two columns
// of eight rows. As many multiplications as with two vectors of 8 bits, but no sum has to be widened, whatever the
// format. For one token and most formats ByteRow.swift is faster.

import CIntrinsics
public import KernelFormats

/// The most tokens of a tile for `multiplyTokens`: their eight sums, two weights and an activation fit 16 registers.
public let rowTokens = 4

/// Multiplies a tile of up to `rowTokens` tokens of 14 bits by groups of packed rows; or computes upper bounds of the results,
/// if the product has `bounds`. The scales of activations are in the tile.
@inline(never)
public func multiplyTokens(_ product: PackedProduct) {
    if product.layout.format == .Q8_0 {
        if product.bounds != nil { return product.run(LeadingQ8_0.self) }
        if product.trailing != nil { return product.run(SplitQ8_0.self) }
    }
    product.layout.format.run(product)
}

extension PackedProduct: PackedKernel {
    @inline(__always)
    func run<Format: PackedFormat>(_ format: Format.Type) {
        let trailing = self.trailing.map { UnsafeRawPointer($0) } ?? weights
        for group in 0..<groups {
            let first = group &* blocks
            let row = Row(
                layout: layout, tile: tile, blocks: weights + first &* layout.blockBytes,
                trailing: trailing + first &* PackedLayout.trailingBytes, bounds: bounds, count: blocks,
                c: c + group &* PackedLayout.rows, stride: cStride)
            switch tokens {
            case 1: one(format, row)
            case 2: two(format, row)
            case 3: three(format, row)
            default: four(format, row)
            }
        }
    }
}

/// The arguments of `multiplyTokens` for one group.
struct Row {
    let layout: PackedLayout
    let tile: UnsafeRawPointer
    let blocks: UnsafeRawPointer
    /// Read only if the weights are split. Not an optional: Swift 6.0 copies one through a call of a function.
    let trailing: UnsafeRawPointer
    let bounds: UnsafePointer<Float>?
    let count: Int
    let c: UnsafeMutablePointer<Float>
    let stride: Int
}

// Separate functions, since the compiler would otherwise merge the loops.

extension PackedFormat {
    /// Whether sums of the products of a segment do not fit 16 bits, with activations in -63...63.
    @inline(__always)
    fileprivate static var hasLargeCodes: Bool {
        switch format {
        case .Q8_0, .IQ4_NL, .IQ4_XS, .IQ2: true
        default: false
        }
    }
}

@inline(never)
private func one<Format: PackedFormat>(_ format: Format.Type, _ row: Row) {
    if Format.hasLargeCodes { multiply(format, WordSums.self, 1, row) } else { multiply(format, ByteSums.self, 1, row) }
}

@inline(never)
private func two<Format: PackedFormat>(_ format: Format.Type, _ row: Row) {
    multiply(format, WordSums.self, 2, row)
}

@inline(never)
private func three<Format: PackedFormat>(_ format: Format.Type, _ row: Row) {
    multiply(format, WordSums.self, 3, row)
}

@inline(never)
private func four<Format: PackedFormat>(_ format: Format.Type, _ row: Row) {
    multiply(format, WordSums.self, 4, row)
}

/// The sums of a segment, for all tokens of a tile: of products of words, or of bytes.
protocol SegmentSums {
    init()
    /// The tile's codes that are multiplied, and how many bytes apart those of each 32 columns are.
    static func activations(_ row: Row, tokens: Int) -> (first: UnsafeRawPointer, stride: Int)
    /// Adds the first or the last 16 of 32 columns, or both. The flags are literals.
    mutating func add<Format: PackedFormat>(
        _: Format.Type, _ tokens: Int, lower: Bool, upper: Bool, _ planes: UnsafeRawPointer,
        _ trailing: UnsafeRawPointer, _ activations: UnsafeRawPointer)
    var ofTokens: Four<TokenSums> { get }
}

/// Sums of a token with rows 0..<8 and 8..<16.
struct TokenSums {
    var low = _mm256_setzero_si256()
    var high = _mm256_setzero_si256()

    @inline(__always)
    mutating func add(_ weights: (__m256i, __m256i), _ x: UnsafePointer<Int32>) {
        let x = _mm256_set1_epi32(x[0])
        low = in_order(_mm256_add_epi32(low, _mm256_madd_epi16(weights.0, x)))
        high = in_order(_mm256_add_epi32(high, _mm256_madd_epi16(weights.1, x)))
    }
}

/// Results of a token, 16 rows.
private struct Results {
    var low = _mm256_setzero_ps()
    var high = _mm256_setzero_ps()

    @inline(__always)
    mutating func add(_ sums: TokenSums, _ scales: (scale: RowFloats, offset: RowFloats), _ scale: Float, _ sum: Float)
    {
        let scale = _mm256_set1_ps(scale), sum = _mm256_set1_ps(sum)
        low = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums.low), _mm256_mul_ps(scales.scale.0, scale), low)
        high = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums.high), _mm256_mul_ps(scales.scale.1, scale), high)
        low = _mm256_fnmadd_ps(scales.offset.0, sum, low)
        high = _mm256_fnmadd_ps(scales.offset.1, sum, high)
    }

    @inline(__always)
    func write(_ c: UnsafeMutablePointer<Float>) {
        _mm256_storeu_ps(c, low)
        _mm256_storeu_ps(c + 8, high)
    }
}

/// Sums and results of up to four tokens.
struct Four<Value> {
    var (a, b, c, d): (Value, Value, Value, Value)

    @inline(__always)
    init(_ value: Value) { (a, b, c, d) = (value, value, value, value) }
}

/// Sums of products of words.
private struct WordSums: SegmentSums {
    private(set) var ofTokens = Four(TokenSums())

    @inline(__always) init() {}

    @inline(__always)
    static func activations(_ row: Row, tokens: Int) -> (first: UnsafeRawPointer, stride: Int) {
        (row.tile, IntegerTile.blockBytes(columns: 2 &* tokens))
    }

    @inline(__always)
    mutating func add<Format: PackedFormat>(
        _: Format.Type, _ tokens: Int, lower: Bool, upper: Bool, _ planes: UnsafeRawPointer,
        _ trailing: UnsafeRawPointer, _ activations: UnsafeRawPointer
    ) {
        @inline(__always)
        func addHalf(upper: Bool) {
            for step in 0..<4 {
                let first = Format.codes(planes, trailing, step)
                let second = Format.codes(planes + 32, trailing + 32, step)
                let codes = upper ? (first.1, second.1) : (first.0, second.0)
                let words = activations + 8 &* tokens &* (upper ? step &+ 4 : step)
                ofTokens.add(tokens, evenWords(codes), words)
                ofTokens.add(tokens, oddWords(codes), words + 4 &* tokens)
            }
        }
        if lower { addHalf(upper: false) }
        if upper { addHalf(upper: true) }
    }
}

extension Four<TokenSums> {
    /// Adds two columns.
    @inline(__always)
    fileprivate mutating func add(_ tokens: Int, _ weights: (__m256i, __m256i), _ words: UnsafeRawPointer) {
        let x = words.assumingMemoryBound(to: Int32.self)
        a.add(weights, x)
        if tokens > 1 { b.add(weights, x + 1) }
        if tokens > 2 { c.add(weights, x + 2) }
        if tokens > 3 { d.add(weights, x + 3) }
    }
}

extension Four<Results> {
    /// - Parameters:
    ///   - numbers: `[columns]` scales of the tile's vectors, of which each token has two.
    ///   - offsets: What the offsets are multiplied by, for each vector.
    @inline(__always)
    fileprivate mutating func add(
        _ tokens: Int, _ sums: Four<TokenSums>, _ scales: (scale: RowFloats, offset: RowFloats),
        _ numbers: UnsafePointer<Float>, _ offsets: UnsafePointer<Float>
    ) {
        a.add(sums.a, scales, numbers[0], offsets[0])
        if tokens > 1 { b.add(sums.b, scales, numbers[2], offsets[2]) }
        if tokens > 2 { c.add(sums.c, scales, numbers[4], offsets[4]) }
        if tokens > 3 { d.add(sums.d, scales, numbers[6], offsets[6]) }
    }
}

/// `tokens` is a literal.
@inline(__always)
private func multiply<Format: PackedFormat, Sums: SegmentSums>(
    _ format: Format.Type, _: Sums.Type, _ tokens: Int, _ row: Row
) {
    let layout = row.layout
    var results = Four(Results())
    var (block, x) = (row.blocks, row.tile)
    let codes = Sums.activations(row, tokens: tokens)
    var activationCodes = codes.first
    var (trailing, bounds) = (row.trailing, row.bounds)
    let aheadInL1 = prefetches_twice(tokens) != 0 ? PackedLayout.bytesAheadInL1 : nil
    for _ in 0..<row.count {
        prefetchLines(block, layout.scaleBytes, aheadInL1: aheadInL1)
        let shared = Format.shared(block)
        var planes = block + layout.scaleBytes
        for part in 0..<layout.parts {
            prefetchLines(planes, Format.planeBytes, aheadInL1: aheadInL1)
            if Format.isSplit { prefetchLines(trailing, PackedLayout.trailingBytes, ahead: 2304) }
            let numbers = (x + 64 &* tokens).assumingMemoryBound(to: Float.self)
            /// The sums of activations of all 32 columns (1), of the first 16 (2) or of the others (3).
            @inline(__always)
            func activations(_ kind: Int) -> UnsafePointer<Float> { numbers + 2 &* tokens &* kind }
            var sums = Sums()
            if Format.segments == 2 {
                sums.add(format, tokens, lower: true, upper: false, planes, trailing, activationCodes)
                results.add(tokens, sums.ofTokens, Format.scales(shared, block, part, 0), numbers, activations(2))
                sums = Sums()
                sums.add(format, tokens, lower: false, upper: true, planes, trailing, activationCodes)
            } else {
                sums.add(format, tokens, lower: true, upper: true, planes, trailing, activationCodes)
            }
            let last = Format.segments &- 1
            var offsets = activations(last == 0 ? 1 : 3)
            if Format.offsets == .ofBounds, let ofBlock = bounds {
                offsets = ofBlock + 1
                bounds = ofBlock + 2 &* tokens
            }
            results.add(tokens, sums.ofTokens, Format.scales(shared, block, part, last), numbers, offsets)
            if Format.isSplit { trailing += PackedLayout.trailingBytes }
            planes += layout.planeBytes
            x += IntegerTile.blockBytes(columns: 2 &* tokens)
            activationCodes += codes.stride
        }
        block += layout.blockBytes
    }
    results.a.write(row.c)
    if tokens > 1 { results.b.write(row.c + row.stride) }
    if tokens > 2 { results.c.write(row.c + 2 &* row.stride) }
    if tokens > 3 { results.d.write(row.c + 3 &* row.stride) }
}

/// The first and the third of each four columns' codes, in 16 bits.
@inline(__always)
func evenWords(_ codes: (__m256i, __m256i)) -> (__m256i, __m256i) {
    let mask = _mm256_set1_epi16(255)
    return (_mm256_and_si256(codes.0, mask), _mm256_and_si256(codes.1, mask))
}

/// The second and the fourth of each four columns' codes, in 16 bits.
@inline(__always)
func oddWords(_ codes: (__m256i, __m256i)) -> (__m256i, __m256i) {
    (_mm256_srli_epi16(codes.0, 8), _mm256_srli_epi16(codes.1, 8))
}
