// Up to eight tokens times packed weights, for decoding: weights are streamed from memory and unpacked in registers.
//
// Results are bit for bit those of `multiplyTiles` for the same tokens. The sums of eight tokens by a group of rows, or of
// four by two groups, which share each broadcast of activations, are what the registers hold.

import CIntrinsics
public import KernelFormats

/// Multiplies a tile of up to eight tokens, pairs of columns, by packed weights; or computes upper bounds of the results, if
/// the product has `bounds`.
@inline(never)
public func multiplyTokens(_ product: PackedProduct) {
    switch product.layout.format {
    case .Q4_0: multiply(PackedQ4_0.self, product)
    case .Q4_1: multiply(PackedQ4_1.self, product)
    case .Q5_0: multiply(PackedQ5_0.self, product)
    case .Q5_1: multiply(PackedQ5_1.self, product)
    case .Q8_0 where product.bounds != nil: multiply(LeadingQ8_0.self, product)
    case .Q8_0 where product.trailing != nil: multiply(SplitQ8_0.self, product)
    case .Q8_0: multiply(PackedQ8_0.self, product)
    case .Q2_K: multiply(PackedQ2_K.self, product)
    case .Q3_K: multiply(PackedQ3_K.self, product)
    case .Q4_K: multiply(PackedQ4_K.self, product)
    case .Q5_K: multiply(PackedQ5_K.self, product)
    case .Q6_K: multiply(PackedQ6_K.self, product)
    case .IQ4_NL: multiply(PackedIQ4_NL.self, product)
    case .IQ4_XS: multiply(PackedIQ4_XS.self, product)
    case .MXFP4: multiply(PackedMXFP4.self, product)
    case .NVFP4: multiply(PackedNVFP4.self, product)
    case .ternary: multiply(PackedTernary.self, product)
    case .IQ1_S: multiply(PackedIQ1_S.self, product)
    case .IQ1_M: multiply(PackedIQ1_M.self, product)
    case .IQ2: multiply(PackedIQ2.self, product)
    case .IQ3_XXS: multiply(PackedIQ3_XXS.self, product)
    case .IQ3_S: multiply(PackedIQ3_S.self, product)
    }
}

@inline(__always)
private func multiply<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct) {
    var memory = SliceNumbers.Memory()
    multiply(Format.self, product, SliceNumbers(in: &memory, columns: WideTile.streamedColumns(product.tokens)))
}

@inline(__always)
private func multiply<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    switch product.tokens {
    case 1: multiplyOne(Format.self, product, numbers)
    case 2: multiplyTwo(Format.self, product, numbers)
    case 3: multiplyThree(Format.self, product, numbers)
    case 4: multiplyFour(Format.self, product, numbers)
    case 5, 6: multiplySix(Format.self, product, numbers)
    default: multiplyEight(Format.self, product, numbers)
    }
}

// Separate functions, since the compiler would otherwise merge the loops.

@inline(never)
private func multiplyOne<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    multiply(Format.self, tokens: 1, both: false, product, numbers)
}

@inline(never)
private func multiplyTwo<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    multiply(Format.self, tokens: 2, both: true, product, numbers)
}

@inline(never)
private func multiplyThree<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    multiply(Format.self, tokens: 3, both: true, product, numbers)
}

@inline(never)
private func multiplyFour<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    multiply(Format.self, tokens: 4, both: true, product, numbers)
}

@inline(never)
private func multiplySix<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    multiply(Format.self, tokens: 6, both: false, product, numbers)
}

@inline(never)
private func multiplyEight<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    multiply(Format.self, tokens: 8, both: false, product, numbers)
}

/// One value for each of two groups of 16 rows; of one group, the second is not used.
private typealias Groups<Value> = (Value, Value)

/// A token's sums of a segment, by column of the pair, and its results.
private struct Token {
    private var first: Groups<__m512i>
    private var second: Groups<__m512i>
    private var result: Groups<__m512>

    @inline(__always)
    init() {
        let zero = _mm512_setzero_si512()
        (first, second) = ((zero, zero), (zero, zero))
        result = (_mm512_setzero_ps(), _mm512_setzero_ps())
    }

    @inline(__always)
    mutating func add(_ codes: Groups<__m512i>, _ x: UnsafePointer<Int32>, both: Bool) {
        let (x0, x1) = (_mm512_set1_epi32(x[0]), _mm512_set1_epi32(x[1]))
        first.0 = _mm512_dpbusd_epi32(first.0, codes.0, x0)
        second.0 = _mm512_dpbusd_epi32(second.0, codes.0, x1)
        guard both else { return }
        first.1 = _mm512_dpbusd_epi32(first.1, codes.1, x0)
        second.1 = _mm512_dpbusd_epi32(second.1, codes.1, x1)
    }

    @inline(__always)
    mutating func start(_ starts: UnsafePointer<Int32>) {
        let (a, b) = (_mm512_set1_epi32(starts[0]), _mm512_set1_epi32(starts[1]))
        (first, second) = ((a, a), (b, b))
    }

    @inline(__always)
    mutating func finish(
        _ scales: Groups<(scale: __m512, offset: __m512)>, _ bases: UnsafePointer<Float>, sum: Float?, both: Bool
    ) {
        result.0 = finish(first.0, second.0, bases, scales.0, sum, result.0)
        if both { result.1 = finish(first.1, second.1, bases, scales.1, sum, result.1) }
    }

    @inline(__always)
    private func finish(
        _ first: __m512i, _ second: __m512i, _ bases: UnsafePointer<Float>,
        _ scales: (scale: __m512, offset: __m512), _ sum: Float?, _ result: __m512
    ) -> __m512 {
        let joined = _mm512_add_ps(float(first, without: bases[0]), float(second, without: bases[1]))
        let scaled = _mm512_fmadd_ps(joined, scales.scale, result)
        guard let sum else { return scaled }
        return _mm512_fnmadd_ps(scales.offset, _mm512_set1_ps(sum), scaled)
    }

    @inline(__always)
    mutating func subtract(_ minimums: Groups<Minimums>, _ sums: PartSums, column: Int, both: Bool) {
        result.0 = minimums.0.subtract(sums, column, from: result.0)
        if both { result.1 = minimums.1.subtract(sums, column, from: result.1) }
    }

    @inline(__always)
    func write(_ c: UnsafeMutablePointer<Float>, times scale: Float, writesSecond: Bool) {
        let scale = _mm512_set1_ps(scale)
        _mm512_storeu_ps(c, _mm512_mul_ps(result.0, scale))
        if writesSecond { _mm512_storeu_ps(c + PackedLayout.rows, _mm512_mul_ps(result.1, scale)) }
    }
}

/// The sums of a slice's parts.
private struct PartSums {
    private let slice: UnsafeRawPointer
    private let columns: Int

    @inline(__always)
    init(_ slice: UnsafeRawPointer, columns: Int) { (self.slice, self.columns) = (slice, columns) }

    @inline(__always)
    func pair(_ index: Int, _ column: Int) -> UnsafeRawPointer {
        slice + (WideTile.partSums &* columns &+ 4 &* (index &* columns &+ column))
    }

    @inline(__always)
    func exponent(_ column: Int) -> UnsafeRawPointer { slice + (WideTile.sumExponents &* columns &+ 4 &* column) }
}

/// The minimums of 16 rows and 256 columns.
private struct Minimums {
    private let pairs: (__m512i, __m512i, __m512i, __m512i)
    private let scale: __m512

    @inline(__always)
    init<Format: PackedFormat>(_: Format.Type, _ block: UnsafeRawPointer, _ shared: Format.Shared) {
        pairs = (
            minimums(Format.self, block, 0), minimums(Format.self, block, 1), minimums(Format.self, block, 2),
            minimums(Format.self, block, 3)
        )
        scale = Format.minimumScale(shared)
    }

    @inline(__always)
    func subtract(_ sums: PartSums, _ column: Int, from result: __m512) -> __m512 {
        // A power of two: its exponent is the sum's, without the bias.
        let step = _mm512_castsi512_ps(_mm512_add_epi32(broadcast(sums.exponent(column)), _mm512_set1_epi32(127 << 23)))
        var sum = add_products_of_words(_mm512_setzero_si512(), pairs.0, broadcast(sums.pair(0, column)))
        sum = add_products_of_words(sum, pairs.1, broadcast(sums.pair(1, column)))
        sum = add_products_of_words(sum, pairs.2, broadcast(sums.pair(2, column)))
        sum = add_products_of_words(sum, pairs.3, broadcast(sums.pair(3, column)))
        return _mm512_fnmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(scale, step), result)
    }
}

/// - Parameters:
///   - tokens: A literal.
///   - both: A literal: whether two groups share broadcasts of activations.
@inline(__always)
private func multiply<Format: PackedFormat>(
    _: Format.Type, tokens: Int, both: Bool, _ product: PackedProduct, _ numbers: SliceNumbers
) {
    for group in stride(from: 0, to: product.groups, by: both ? 2 : 1) {
        multiply(Format.self, tokens: tokens, both: both, product, numbers, group)
    }
}

/// `tokens` and `both` are literals.
@inline(__always)
private func multiply<Format: PackedFormat>(
    _: Format.Type, tokens: Int, both: Bool, _ product: PackedProduct, _ numbers: SliceNumbers, _ group: Int
) {
    let layout = product.layout
    let columns = 2 &* tokens
    let groupBytes = product.blocks &* layout.blockBytes
    // An odd last group is multiplied twice and written once.
    let hasSecond = both && group &+ 1 < product.groups
    var block = product.weights + group &* groupBytes
    let toSecond = hasSecond ? groupBytes : 0
    let end = block + groupBytes
    let partBytes = layout.blockBytes / layout.parts
    let trailingBytes = product.blocks &* PackedLayout.trailingBytes
    var trailing = block
    if Format.isSplit, let first = product.trailing { trailing = first + group &* trailingBytes }
    let toSecondTrailing = hasSecond ? trailingBytes : 0
    var bounds = product.bounds
    // One token is multiplied faster than several, and so needs its weights earlier.
    let bytesAhead = tokens == 1 ? 6912 : bytesAhead
    var t0 = Token(), t1 = Token(), t2 = Token(), t3 = Token()
    var t4 = Token(), t5 = Token(), t6 = Token(), t7 = Token()
    var slice = product.tile
    var slicePart = 0
    for _ in 0..<product.blocks {
        let shared = (Format.shared(block), Format.shared(block + toSecond))
        for part in 0..<layout.parts {
            if slicePart == 0 {
                numbers.fill(
                    from: slice, segments: Format.segments, center: layout.format.center, Format.offsets, pairs: true)
            }
            let planes = block + (layout.scaleBytes &+ part &* layout.planeBytes)
            // Behind the first group is the second one, and behind that the next two.
            let ahead = block + (part &* partBytes &+ bytesAhead)
            let skipped = both && ahead >= end ? groupBytes : 0
            prefetchLines(ahead + skipped, partBytes)
            if both { prefetchLines(ahead + (skipped &+ toSecond), partBytes) }
            if Format.isSplit {
                let ahead = trailing + bytesAhead
                prefetchLines(ahead, PackedLayout.trailingBytes)
                if both { prefetchLines(ahead + toSecondTrailing, PackedLayout.trailingBytes) }
            }
            let x = (slice + 32 &* columns &* slicePart).assumingMemoryBound(to: Int32.self)
            let basesOfSlice = (slice + WideTile.bases &* columns).assumingMemoryBound(to: Float.self)
            let bases = basesOfSlice + slicePart &* columns

            @inline(__always)
            func start(_ segment: Int, _ bases: UnsafePointer<Float>) {
                var starts = UnsafeRawPointer(bases).assumingMemoryBound(to: Int32.self)
                if Format.offsets == .none { starts = numbers.starts(segment, slicePart) }
                t0.start(starts)
                if tokens > 1 { t1.start(starts + 2) }
                if tokens > 2 { t2.start(starts + 4) }
                if tokens > 3 { t3.start(starts + 6) }
                if tokens > 4 { t4.start(starts + 8) }
                if tokens > 5 { t5.start(starts + 10) }
                if tokens > 6 { t6.start(starts + 12) }
                if tokens > 7 { t7.start(starts + 14) }
            }
            @inline(__always)
            func add(_ codes: Groups<__m512i>, _ x: UnsafePointer<Int32>) {
                t0.add(codes, x, both: both)
                if tokens > 1 { t1.add(codes, x + 2, both: both) }
                if tokens > 2 { t2.add(codes, x + 4, both: both) }
                if tokens > 3 { t3.add(codes, x + 6, both: both) }
                if tokens > 4 { t4.add(codes, x + 8, both: both) }
                if tokens > 5 { t5.add(codes, x + 10, both: both) }
                if tokens > 6 { t6.add(codes, x + 12, both: both) }
                if tokens > 7 { t7.add(codes, x + 14, both: both) }
            }
            @inline(__always)
            func scales(_ segment: Int) -> Groups<(scale: __m512, offset: __m512)> {
                let first = Format.scales(shared.0, block, part, segment)
                let second = both ? Format.scales(shared.1, block + toSecond, part, segment) : first
                return ((at_once(first.scale), first.offset), (at_once(second.scale), second.offset))
            }
            // Before the products, which would delay what comes after them.
            let first = scales(0), second = Format.segments == 1 ? first : scales(1)
            @inline(__always)
            func finish(_ segment: Int, _ bases: UnsafePointer<Float>) {
                let scales = segment == 0 ? first : second
                var sums: UnsafePointer<Float>?
                if Format.offsets == .ofSegments { sums = numbers.sums(segment, slicePart) }
                if Format.offsets == .ofBounds { sums = bounds }
                t0.finish(scales, bases, sum: sums?[1], both: both)
                if tokens > 1 { t1.finish(scales, bases + 2, sum: sums?[3], both: both) }
                if tokens > 2 { t2.finish(scales, bases + 4, sum: sums?[5], both: both) }
                if tokens > 3 { t3.finish(scales, bases + 6, sum: sums?[7], both: both) }
                if tokens > 4 { t4.finish(scales, bases + 8, sum: sums?[9], both: both) }
                if tokens > 5 { t5.finish(scales, bases + 10, sum: sums?[11], both: both) }
                if tokens > 6 { t6.finish(scales, bases + 12, sum: sums?[13], both: both) }
                if tokens > 7 { t7.finish(scales, bases + 14, sum: sums?[15], both: both) }
            }
            @inline(__always)
            func add(_ planes: UnsafeRawPointer, _ step: Int, low: Bool, high: Bool) {
                let a = Format.codes(planes, trailing, step)
                let b = both ? Format.codes(planes + toSecond, trailing + toSecondTrailing, step) : a
                let low = low ? x + step &* columns : nil, high = high ? x + (step &+ 4) &* columns : nil
                if let low, let high {
                    // Over all steps, the compiler would read several activations at once and take them apart again.
                    add((a.0, b.0), to_read_again(low)!.assumingMemoryBound(to: Int32.self))
                    add((a.1, b.1), to_read_again(high)!.assumingMemoryBound(to: Int32.self))
                } else if let low {
                    add((a.0, b.0), low)
                } else if let high {
                    add((a.1, b.1), high)
                }
            }
            // Not a loop: the compiler would not always unroll it.
            @inline(__always)
            func addSteps(_ planes: UnsafeRawPointer, low: Bool, high: Bool) {
                add(planes, 0, low: low, high: high)
                add(planes, 1, low: low, high: high)
                add(planes, 2, low: low, high: high)
                add(planes, 3, low: low, high: high)
            }

            start(0, bases)
            if Format.segments == 1 {
                addSteps(planes, low: true, high: true)
                finish(0, bases)
            } else {
                addSteps(planes, low: true, high: false)
                finish(0, bases)
                let planes = to_read_again(planes)!
                let bases = to_read_again(bases)!.assumingMemoryBound(to: Float.self)
                start(1, bases)
                addSteps(planes, low: false, high: true)
                finish(1, bases)
            }
            if Format.isSplit { trailing += PackedLayout.trailingBytes }
            if Format.offsets == .ofBounds { bounds = bounds.map { $0 + columns } }
            slicePart &+= 1
            if slicePart == WideTile.sliceParts {
                if Format.offsets == .ofParts {
                    let first = Minimums(Format.self, block, shared.0)
                    let minimums = (first, both ? Minimums(Format.self, block + toSecond, shared.1) : first)
                    let sums = PartSums(slice, columns: columns)
                    t0.subtract(minimums, sums, column: 0, both: both)
                    if tokens > 1 { t1.subtract(minimums, sums, column: 2, both: both) }
                    if tokens > 2 { t2.subtract(minimums, sums, column: 4, both: both) }
                    if tokens > 3 { t3.subtract(minimums, sums, column: 6, both: both) }
                    if tokens > 4 { t4.subtract(minimums, sums, column: 8, both: both) }
                    if tokens > 5 { t5.subtract(minimums, sums, column: 10, both: both) }
                    if tokens > 6 { t6.subtract(minimums, sums, column: 12, both: both) }
                    if tokens > 7 { t7.subtract(minimums, sums, column: 14, both: both) }
                }
                slice += WideTile.sliceBytes &* columns
                slicePart = 0
            }
        }
        block += layout.blockBytes
    }
    guard let scales = product.scales else { return }
    @inline(__always)
    func write(_ token: Token, _ index: Int) {
        guard index < product.tokens else { return }
        let c = product.c + (group &* PackedLayout.rows &+ index &* product.cStride)
        token.write(c, times: scales[index], writesSecond: hasSecond)
    }
    write(t0, 0)
    if tokens > 1 { write(t1, 1) }
    if tokens > 2 { write(t2, 2) }
    if tokens > 3 { write(t3, 3) }
    if tokens > 4 { write(t4, 4) }
    if tokens > 5 { write(t5, 5) }
    if tokens > 6 { write(t6, 6) }
    if tokens > 7 { write(t7, 7) }
}
