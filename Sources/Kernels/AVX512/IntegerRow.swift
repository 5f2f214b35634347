// Up to four tokens times packed weights, for decoding: weights are streamed from memory and unpacked in registers.
//
// Results are bit for bit those of `multiplyTile` for the same tokens. With two tokens or more, two groups of rows share
// each broadcast of activations.

import CIntrinsics
public import KernelFormats

/// Multiplies a tile of up to four tokens, pairs of columns, by packed weights.
@inline(never)
public func multiplyTokens(_ product: PackedProduct) {
    switch product.layout.format {
    case .Q4_0: multiply(PackedQ4_0.self, product)
    case .Q4_1: multiply(PackedQ4_1.self, product)
    case .Q5_0: multiply(PackedQ5_0.self, product)
    case .Q5_1: multiply(PackedQ5_1.self, product)
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
    multiply(Format.self, product, &memory)
}

@inline(__always)
private func multiply<Format: PackedFormat>(
    _: Format.Type, _ product: PackedProduct, _ memory: UnsafeMutableRawPointer
) {
    var group = 0
    while group < product.groups {
        switch product.tokens {
        case 1: multiplyOne(Format.self, product, group, memory)
        case 2: multiplyTwo(Format.self, product, group, memory)
        case 3: multiplyThree(Format.self, product, group, memory)
        default: multiplyFour(Format.self, product, group, memory)
        }
        group &+= product.tokens == 1 ? 1 : 2
    }
}

// Separate functions, since the compiler would otherwise merge the loops.

@inline(never)
private func multiplyOne<Format: PackedFormat>(
    _: Format.Type, _ product: PackedProduct, _ group: Int, _ memory: UnsafeMutableRawPointer
) {
    multiply(Format.self, tokens: 1, both: false, product, group, memory)
}

@inline(never)
private func multiplyTwo<Format: PackedFormat>(
    _: Format.Type, _ product: PackedProduct, _ group: Int, _ memory: UnsafeMutableRawPointer
) {
    multiply(Format.self, tokens: 2, both: true, product, group, memory)
}

@inline(never)
private func multiplyThree<Format: PackedFormat>(
    _: Format.Type, _ product: PackedProduct, _ group: Int, _ memory: UnsafeMutableRawPointer
) {
    multiply(Format.self, tokens: 3, both: true, product, group, memory)
}

@inline(never)
private func multiplyFour<Format: PackedFormat>(
    _: Format.Type, _ product: PackedProduct, _ group: Int, _ memory: UnsafeMutableRawPointer
) {
    multiply(Format.self, tokens: 4, both: true, product, group, memory)
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

    /// - Parameter x: Four activations of each column.
    @inline(__always)
    mutating func add(_ codes: Groups<__m512i>, _ x: UnsafePointer<Int32>, both: Bool) {
        let (x0, x1) = (_mm512_set1_epi32(x[0]), _mm512_set1_epi32(x[1]))
        first.0 = _mm512_dpbusd_epi32(first.0, codes.0, x0)
        second.0 = _mm512_dpbusd_epi32(second.0, codes.0, x1)
        guard both else { return }
        first.1 = _mm512_dpbusd_epi32(first.1, codes.1, x0)
        second.1 = _mm512_dpbusd_epi32(second.1, codes.1, x1)
    }

    /// Begins a segment with what the center of the codes amounts to.
    @inline(__always)
    mutating func start(_ start: Int32) {
        first = (_mm512_setzero_si512(), _mm512_setzero_si512())
        second = (_mm512_set1_epi32(start), _mm512_set1_epi32(start))
    }

    /// Adds the sums of a segment to the results.
    @inline(__always)
    mutating func finish(_ scales: Groups<(scale: __m512, offset: __m512)>, factor: Float, sum: Float?, both: Bool) {
        result.0 = finish(joinPair(first.0, second.0), scales.0, factor, sum, result.0)
        if both { result.1 = finish(joinPair(first.1, second.1), scales.1, factor, sum, result.1) }
    }

    @inline(__always)
    private func finish(
        _ codes: __m512i, _ scales: (scale: __m512, offset: __m512), _ factor: Float, _ sum: Float?, _ result: __m512
    ) -> __m512 {
        let scale = _mm512_mul_ps(scales.scale, _mm512_set1_ps(factor))
        let scaled = _mm512_fmadd_ps(_mm512_cvtepi32_ps(codes), scale, result)
        guard let sum else { return scaled }
        return _mm512_fnmadd_ps(scales.offset, _mm512_set1_ps(sum), scaled)
    }

    /// Subtracts the minimums of 256 columns.
    @inline(__always)
    mutating func subtract(
        _ minimums: Groups<Minimums>, partSums: UnsafeRawPointer, columns: Int, lift: UnsafeRawPointer, both: Bool
    ) {
        result.0 = minimums.0.subtract(partSums, columns, lift, from: result.0)
        if both { result.1 = minimums.1.subtract(partSums, columns, lift, from: result.1) }
    }

    @inline(__always)
    func write(_ c: UnsafeMutablePointer<Float>, times scale: Float, writesSecond: Bool) {
        let scale = _mm512_set1_ps(scale)
        _mm512_storeu_ps(c, _mm512_mul_ps(result.0, scale))
        if writesSecond { _mm512_storeu_ps(c + PackedLayout.rows, _mm512_mul_ps(result.1, scale)) }
    }
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
    func subtract(
        _ partSums: UnsafeRawPointer, _ columns: Int, _ lift: UnsafeRawPointer, from result: __m512
    ) -> __m512 {
        // A power of two: its exponent is `lift`, without the bias.
        let step = _mm512_castsi512_ps(_mm512_add_epi32(broadcast(lift), _mm512_set1_epi32(127 << 23)))
        var sum = add_products_of_words(_mm512_setzero_si512(), pairs.0, broadcast(partSums))
        sum = add_products_of_words(sum, pairs.1, broadcast(partSums + 4 &* columns))
        sum = add_products_of_words(sum, pairs.2, broadcast(partSums + 8 &* columns))
        sum = add_products_of_words(sum, pairs.3, broadcast(partSums + 12 &* columns))
        return _mm512_fnmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(scale, step), result)
    }
}

/// `tokens` and `both` are literals; `memory` is a `SliceNumbers.Memory`.
@inline(__always)
private func multiply<Format: PackedFormat>(
    _: Format.Type, tokens: Int, both: Bool, _ product: PackedProduct, _ group: Int,
    _ memory: UnsafeMutableRawPointer
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
    // One token is multiplied faster than several, and so needs its weights earlier.
    let bytesAhead = tokens == 1 ? 6912 : bytesAhead
    var t0 = Token(), t1 = Token(), t2 = Token(), t3 = Token()
    var slice = product.tile
    var slicePart = 0
    let numbers = SliceNumbers(in: memory, columns: columns)
    for _ in 0..<product.blocks {
        let shared = (Format.shared(block), Format.shared(block + toSecond))
        for part in 0..<layout.parts {
            if slicePart == 0 {
                numbers.fill(
                    from: slice, segments: Format.segments, center: layout.format.center, Format.offsets, pairs: true,
                    bases: false)
            }
            let planes = block + (layout.scaleBytes &+ part &* layout.planeBytes)
            // Behind the first group is the second one, and behind that the next two.
            let ahead = block + (part &* partBytes &+ bytesAhead)
            let skipped = both && ahead >= end ? groupBytes : 0
            prefetchLines(ahead + skipped, partBytes)
            if both { prefetchLines(ahead + (skipped &+ toSecond), partBytes) }
            let x = (slice + 32 &* columns &* slicePart).assumingMemoryBound(to: Int32.self)
            let factors =
                (slice + WideTile.factors &* columns).assumingMemoryBound(to: Float.self)
                + slicePart &* columns

            @inline(__always)
            func start(_ segment: Int) {
                let starts = Format.offsets == .none ? numbers.starts(segment, slicePart) : nil
                t0.start(starts?[1] ?? 0)
                if tokens > 1 { t1.start(starts?[3] ?? 0) }
                if tokens > 2 { t2.start(starts?[5] ?? 0) }
                if tokens > 3 { t3.start(starts?[7] ?? 0) }
            }
            @inline(__always)
            func add(_ codes: Groups<__m512i>, _ step: Int) {
                let x = x + step &* columns
                t0.add(codes, x, both: both)
                if tokens > 1 { t1.add(codes, x + 2, both: both) }
                if tokens > 2 { t2.add(codes, x + 4, both: both) }
                if tokens > 3 { t3.add(codes, x + 6, both: both) }
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
            func finish(_ segment: Int) {
                let scales = segment == 0 ? first : second
                let sums = Format.offsets == .ofSegments ? numbers.sums(segment, slicePart) : nil
                t0.finish(scales, factor: factors[0], sum: sums?[1], both: both)
                if tokens > 1 { t1.finish(scales, factor: factors[2], sum: sums?[3], both: both) }
                if tokens > 2 { t2.finish(scales, factor: factors[4], sum: sums?[5], both: both) }
                if tokens > 3 { t3.finish(scales, factor: factors[6], sum: sums?[7], both: both) }
            }
            @inline(__always)
            func codes(_ step: Int) -> (Groups<__m512i>, Groups<__m512i>) {
                let a = Format.codes(planes, step), b = both ? Format.codes(planes + toSecond, step) : a
                return ((a.0, b.0), (a.1, b.1))
            }

            start(0)
            if Format.segments == 1 {
                for step in 0..<4 {
                    let (low, high) = codes(step)
                    add(low, step)
                    add(high, step &+ 4)
                }
                finish(0)
            } else {
                for step in 0..<4 { add(codes(step).0, step) }
                finish(0)
                start(1)
                for step in 0..<4 { add(codes(step).1, step &+ 4) }
                finish(1)
            }
            slicePart &+= 1
            if slicePart == WideTile.sliceParts {
                if Format.offsets == .ofParts {
                    let first = Minimums(Format.self, block, shared.0)
                    let minimums = (first, both ? Minimums(Format.self, block + toSecond, shared.1) : first)
                    let sums = slice + WideTile.partSums &* columns
                    let lifts = slice + WideTile.sumLifts &* columns
                    t0.subtract(minimums, partSums: sums, columns: columns, lift: lifts, both: both)
                    if tokens > 1 {
                        t1.subtract(minimums, partSums: sums + 8, columns: columns, lift: lifts + 8, both: both)
                    }
                    if tokens > 2 {
                        t2.subtract(minimums, partSums: sums + 16, columns: columns, lift: lifts + 16, both: both)
                    }
                    if tokens > 3 {
                        t3.subtract(minimums, partSums: sums + 24, columns: columns, lift: lifts + 24, both: both)
                    }
                }
                slice += WideTile.sliceBytes &* columns
                slicePart = 0
            }
        }
        block += layout.blockBytes
    }
    let c = product.c + group &* PackedLayout.rows
    let scales = product.scales
    t0.write(c, times: scales[0], writesSecond: hasSecond)
    if tokens > 1 { t1.write(c + product.cStride, times: scales[1], writesSecond: hasSecond) }
    if tokens > 2 { t2.write(c + 2 &* product.cStride, times: scales[2], writesSecond: hasSecond) }
    if tokens > 3 { t3.write(c + 3 &* product.cStride, times: scales[3], writesSecond: hasSecond) }
}
