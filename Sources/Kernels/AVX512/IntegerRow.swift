// Up to eight tokens times packed weights, for decoding: weights are streamed from memory and unpacked in registers.
//
// Results are bit for bit those of `multiplyTiles` for the same tokens. The sums of eight tokens by a group of rows, or of
// four by two groups, which share each broadcast of activations, are what the registers hold.

import CIntrinsics
public import KernelFormats

/// Multiplies a tile of up to eight tokens, pairs of columns, by packed weights.
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
    multiply(Format.self, product, SliceNumbers(in: &memory, columns: 2 &* product.tokens))
}

@inline(__always)
private func multiply<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    switch product.tokens {
    case 1: multiplyOne(Format.self, product, numbers)
    case 2: multiplyTwo(Format.self, product, numbers)
    case 3: multiplyThree(Format.self, product, numbers)
    case 4: multiplyFour(Format.self, product, numbers)
    case 5: multiplyFive(Format.self, product, numbers)
    case 6: multiplySix(Format.self, product, numbers)
    case 7: multiplySeven(Format.self, product, numbers)
    default: multiplyEight(Format.self, product, numbers)
    }
}

// Separate functions, since the compiler would otherwise merge the loops.

@inline(never)
private func multiplyOne<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    multiply(Format.self, OneToken.self, groups: 1, product, numbers)
}

@inline(never)
private func multiplyTwo<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    multiply(Format.self, TwoTokens.self, groups: 2, product, numbers)
}

@inline(never)
private func multiplyThree<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    multiply(Format.self, ThreeTokens.self, groups: 2, product, numbers)
}

@inline(never)
private func multiplyFour<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    multiply(Format.self, FourTokens.self, groups: 2, product, numbers)
}

@inline(never)
private func multiplyFive<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    multiply(Format.self, FiveTokens.self, groups: 1, product, numbers)
}

@inline(never)
private func multiplySix<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    multiply(Format.self, SixTokens.self, groups: 1, product, numbers)
}

@inline(never)
private func multiplySeven<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    multiply(Format.self, SevenTokens.self, groups: 1, product, numbers)
}

@inline(never)
private func multiplyEight<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    multiply(Format.self, EightTokens.self, groups: 1, product, numbers)
}

/// One value for each of two groups of 16 rows; of one group, the second is not used.
private typealias Groups<Value> = (Value, Value)

/// Tokens' sums of a segment, by column of the pair, and their results.
private protocol TokenSums {
    static var count: Int { get }
    init()
    /// Adds a step.
    ///
    /// - Parameter x: Four activations of each column.
    mutating func add(_ codes: Groups<__m512i>, _ x: UnsafePointer<Int32>, both: Bool)
    /// Begins a segment with what the center of the codes amounts to, by column; `nil`: 0.
    mutating func start(_ starts: UnsafePointer<Int32>?)
    /// Adds the sums of a segment to the results. `factors` and `sums` are by column.
    mutating func finish(
        _ scales: Groups<(scale: __m512, offset: __m512)>, _ factors: UnsafePointer<Float>,
        _ sums: UnsafePointer<Float>?, both: Bool)
    /// Subtracts the minimums of 256 columns.
    mutating func subtract(
        _ minimums: Groups<Minimums>, partSums: UnsafeRawPointer, columns: Int, lifts: UnsafeRawPointer, both: Bool)
    func write(
        _ c: UnsafeMutablePointer<Float>, stride: Int, times scales: UnsafePointer<Float>, writesSecond: Bool)
}

private typealias TwoTokens = TokensOfBoth<OneToken, OneToken>
private typealias ThreeTokens = TokensOfBoth<TwoTokens, OneToken>
private typealias FourTokens = TokensOfBoth<TwoTokens, TwoTokens>
private typealias FiveTokens = TokensOfBoth<FourTokens, OneToken>
private typealias SixTokens = TokensOfBoth<FourTokens, TwoTokens>
private typealias SevenTokens = TokensOfBoth<FourTokens, ThreeTokens>
private typealias EightTokens = TokensOfBoth<FourTokens, FourTokens>

private struct OneToken: TokenSums {
    private var first: Groups<__m512i>
    private var second: Groups<__m512i>
    private var result: Groups<__m512>

    static var count: Int { 1 }

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
    mutating func start(_ starts: UnsafePointer<Int32>?) {
        let start = _mm512_set1_epi32(starts?[1] ?? 0)
        first = (_mm512_setzero_si512(), _mm512_setzero_si512())
        second = (start, start)
    }

    @inline(__always)
    mutating func finish(
        _ scales: Groups<(scale: __m512, offset: __m512)>, _ factors: UnsafePointer<Float>,
        _ sums: UnsafePointer<Float>?, both: Bool
    ) {
        result.0 = finish(joinPair(first.0, second.0), scales.0, factors[0], sums?[1], result.0)
        if both { result.1 = finish(joinPair(first.1, second.1), scales.1, factors[0], sums?[1], result.1) }
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

    @inline(__always)
    mutating func subtract(
        _ minimums: Groups<Minimums>, partSums: UnsafeRawPointer, columns: Int, lifts: UnsafeRawPointer, both: Bool
    ) {
        result.0 = minimums.0.subtract(partSums, columns, lifts, from: result.0)
        if both { result.1 = minimums.1.subtract(partSums, columns, lifts, from: result.1) }
    }

    @inline(__always)
    func write(
        _ c: UnsafeMutablePointer<Float>, stride: Int, times scales: UnsafePointer<Float>, writesSecond: Bool
    ) {
        let scale = _mm512_set1_ps(scales[0])
        _mm512_storeu_ps(c, _mm512_mul_ps(result.0, scale))
        if writesSecond { _mm512_storeu_ps(c + PackedLayout.rows, _mm512_mul_ps(result.1, scale)) }
    }
}

/// The tokens of `A`, and those of `B` behind them.
private struct TokensOfBoth<A: TokenSums, B: TokenSums>: TokenSums {
    private var a = A()
    private var b = B()

    static var count: Int { A.count &+ B.count }

    @inline(__always)
    init() {}

    @inline(__always)
    mutating func add(_ codes: Groups<__m512i>, _ x: UnsafePointer<Int32>, both: Bool) {
        a.add(codes, x, both: both)
        b.add(codes, x + 2 &* A.count, both: both)
    }

    @inline(__always)
    mutating func start(_ starts: UnsafePointer<Int32>?) {
        a.start(starts)
        b.start(starts.map { $0 + 2 &* A.count })
    }

    @inline(__always)
    mutating func finish(
        _ scales: Groups<(scale: __m512, offset: __m512)>, _ factors: UnsafePointer<Float>,
        _ sums: UnsafePointer<Float>?, both: Bool
    ) {
        a.finish(scales, factors, sums, both: both)
        b.finish(scales, factors + 2 &* A.count, sums.map { $0 + 2 &* A.count }, both: both)
    }

    @inline(__always)
    mutating func subtract(
        _ minimums: Groups<Minimums>, partSums: UnsafeRawPointer, columns: Int, lifts: UnsafeRawPointer, both: Bool
    ) {
        a.subtract(minimums, partSums: partSums, columns: columns, lifts: lifts, both: both)
        let behind = 8 &* A.count
        b.subtract(minimums, partSums: partSums + behind, columns: columns, lifts: lifts + behind, both: both)
    }

    @inline(__always)
    func write(
        _ c: UnsafeMutablePointer<Float>, stride: Int, times scales: UnsafePointer<Float>, writesSecond: Bool
    ) {
        a.write(c, stride: stride, times: scales, writesSecond: writesSecond)
        b.write(c + A.count &* stride, stride: stride, times: scales + A.count, writesSecond: writesSecond)
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

/// `groups`, a literal: 1 or 2, those that share broadcasts of activations.
@inline(__always)
private func multiply<Format: PackedFormat, Tokens: TokenSums>(
    _: Format.Type, _: Tokens.Type, groups: Int, _ product: PackedProduct, _ numbers: SliceNumbers
) {
    let groupBytes = product.blocks &* product.layout.blockBytes
    for group in stride(from: 0, to: product.groups, by: groups) {
        // An odd last group is multiplied twice and written once.
        let hasSecond = groups == 2 && group &+ 1 < product.groups
        let weights = product.weights + group &* groupBytes
        var tokens = Tokens()
        add(Format.self, product, numbers, weights, second: hasSecond ? groupBytes : 0, both: groups == 2, to: &tokens)
        tokens.write(
            product.c + group &* PackedLayout.rows, stride: product.cStride, times: product.scales,
            writesSecond: hasSecond)
    }
}

/// Adds the products of a group of rows, or of two groups, `second` bytes apart.
@inline(__always)
private func add<Format: PackedFormat, Tokens: TokenSums>(
    _: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers, _ weights: UnsafeRawPointer, second: Int,
    both: Bool, to tokens: inout Tokens
) {
    let layout = product.layout
    let columns = 2 &* Tokens.count
    let groupBytes = product.blocks &* layout.blockBytes
    var block = weights
    let end = block + groupBytes
    let partBytes = layout.blockBytes / layout.parts
    // One token is multiplied faster than several, and so needs its weights earlier.
    let bytesAhead = Tokens.count == 1 ? 6912 : bytesAhead
    var slice = product.tile
    var slicePart = 0
    for _ in 0..<product.blocks {
        let shared = (Format.shared(block), Format.shared(block + second))
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
            if both { prefetchLines(ahead + (skipped &+ second), partBytes) }
            let x = (slice + 32 &* columns &* slicePart).assumingMemoryBound(to: Int32.self)
            let factors =
                (slice + WideTile.factors &* columns).assumingMemoryBound(to: Float.self)
                + slicePart &* columns

            @inline(__always)
            func start(_ segment: Int) {
                tokens.start(Format.offsets == .none ? numbers.starts(segment, slicePart) : nil)
            }
            @inline(__always)
            func add(_ codes: Groups<__m512i>, _ step: Int) {
                tokens.add(codes, x + step &* columns, both: both)
            }
            @inline(__always)
            func scales(_ segment: Int) -> Groups<(scale: __m512, offset: __m512)> {
                let first = Format.scales(shared.0, block, part, segment)
                let other = both ? Format.scales(shared.1, block + second, part, segment) : first
                return ((at_once(first.scale), first.offset), (at_once(other.scale), other.offset))
            }
            // Before the products, which would delay what comes after them.
            let first = scales(0), last = Format.segments == 1 ? first : scales(1)
            @inline(__always)
            func finish(_ segment: Int) {
                let sums = Format.offsets == .ofSegments ? numbers.sums(segment, slicePart) : nil
                tokens.finish(segment == 0 ? first : last, factors, sums, both: both)
            }
            @inline(__always)
            func codes(_ step: Int) -> (Groups<__m512i>, Groups<__m512i>) {
                let a = Format.codes(planes, step), b = both ? Format.codes(planes + second, step) : a
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
                    let other = both ? Minimums(Format.self, block + second, shared.1) : first
                    tokens.subtract(
                        (first, other), partSums: slice + WideTile.partSums &* columns, columns: columns,
                        lifts: slice + WideTile.sumLifts &* columns, both: both)
                }
                slice += WideTile.sliceBytes &* columns
                slicePart = 0
            }
        }
        block += layout.blockBytes
    }
}
