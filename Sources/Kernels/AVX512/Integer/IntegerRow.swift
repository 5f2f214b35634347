// Up to eight tokens times packed weights, for decoding: weights are streamed from memory and unpacked in registers.
//
// Results are bit for bit those of `multiplyTiles` for the same tokens. The sums of eight tokens by a group of rows, or of
// four by two groups, which share each broadcast of activations, are what the registers of AVX-512 hold.

import CIntrinsics
public import KernelFormats

/// Multiplies a tile of up to eight tokens, pairs of columns, by packed weights; or computes upper bounds of the results, if
/// the product has `bounds`.
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
    func run<Format: PackedFormat>(_: Format.Type) {
        var memory = SliceNumbers.Memory()
        multiply(Format.self, self, SliceNumbers(in: &memory, columns: WideTile.streamedColumns(tokens)))
    }
}

@inline(__always)
private func multiply<Format: PackedFormat>(_: Format.Type, _ product: PackedProduct, _ numbers: SliceNumbers) {
    switch product.tokens {
    case 1: multiply(Format.self, OneToken.self, product, numbers)
    case 2: multiply(Format.self, TwoTokens.self, product, numbers)
    case 3: multiply(Format.self, ThreeTokens.self, product, numbers)
    case 4: multiply(Format.self, FourTokens.self, product, numbers)
    case 5, 6: multiply(Format.self, SixTokens.self, product, numbers)
    default: multiply(Format.self, EightTokens.self, product, numbers)
    }
}

/// What a loop multiplies at once. Types instead of parameters, so that functions are compiled for them before they become
/// parts of the loop: with tests of both numbers it would have more branches than the compiler puts into one function.
private protocol Shape {
    static var tokens: Int { get }
    /// Whether two groups of rows share each broadcast of activations.
    static var both: Bool { get }
}

private enum OneToken: Shape {
    static var tokens: Int { 1 }
    /// With AVX-VNNI one group would be four chains of additions, too few for their latency.
    static var both: Bool { !fitsTwoGroups }
}

private enum TwoTokens: Shape {
    static var tokens: Int { 2 }
    static var both: Bool { fitsTwoGroups }
}

private enum ThreeTokens: Shape {
    static var tokens: Int { 3 }
    static var both: Bool { fitsTwoGroups }
}

private enum FourTokens: Shape {
    static var tokens: Int { 4 }
    static var both: Bool { fitsTwoGroups }
}

private enum SixTokens: Shape {
    static var tokens: Int { 6 }
    static var both: Bool { false }
}

private enum EightTokens: Shape {
    static var tokens: Int { 8 }
    static var both: Bool { false }
}

/// One value for each of two groups of 16 rows; of one group, the second is not used.
private typealias Groups<Value> = (Value, Value)

/// A token's sums of a segment, by column of the pair, and its results.
///
/// Operations give a new value: what they change in place would be memory to the compiler at first, which makes compiling the
/// unrolled loops twice as slow.
private struct Token<S: Shape> {
    private let first: Groups<__m512i>
    private let second: Groups<__m512i>
    private let result: Groups<__m512>

    @inline(__always)
    private init(_ first: Groups<__m512i>, _ second: Groups<__m512i>, _ result: Groups<__m512>) {
        (self.first, self.second, self.result) = (first, second, result)
    }

    @inline(__always)
    init() {
        let zero = _mm512_setzero_si512()
        self.init((zero, zero), (zero, zero), (_mm512_setzero_ps(), _mm512_setzero_ps()))
    }

    @inline(__always)
    func adding(_ codes: Groups<__m512i>, _ x: UnsafePointer<Int32>) -> Token {
        let (x0, x1) = (_mm512_set1_epi32(x[0]), _mm512_set1_epi32(x[1]))
        return Token(adding(codes, x0, to: first), adding(codes, x1, to: second), result)
    }

    @inline(__always)
    private func adding(_ codes: Groups<__m512i>, _ x: __m512i, to sums: Groups<__m512i>) -> Groups<__m512i> {
        let sum = _mm512_dpbusd_epi32(sums.0, codes.0, x)
        return (sum, S.both ? _mm512_dpbusd_epi32(sums.1, codes.1, x) : sums.1)
    }

    @inline(__always)
    func starting(_ starts: UnsafePointer<Int32>) -> Token {
        let (a, b) = (_mm512_set1_epi32(starts[0]), _mm512_set1_epi32(starts[1]))
        return Token((a, a), (b, b), result)
    }

    @inline(__always)
    func finished(
        _ scales: Groups<(scale: __m512, offset: __m512)>, _ bases: UnsafePointer<Float>, sum: Float?
    ) -> Token {
        let added = finished(first.0, second.0, bases, scales.0, sum, result.0)
        let addedSecond = S.both ? finished(first.1, second.1, bases, scales.1, sum, result.1) : result.1
        return Token(first, second, (added, addedSecond))
    }

    @inline(__always)
    private func finished(
        _ first: __m512i, _ second: __m512i, _ bases: UnsafePointer<Float>,
        _ scales: (scale: __m512, offset: __m512), _ sum: Float?, _ result: __m512
    ) -> __m512 {
        let joined = _mm512_add_ps(float(first, without: bases[0]), float(second, without: bases[1]))
        let scaled = _mm512_fmadd_ps(joined, scales.scale, result)
        guard let sum else { return scaled }
        return _mm512_fnmadd_ps(scales.offset, _mm512_set1_ps(sum), scaled)
    }

    @inline(__always)
    func subtracting(_ minimums: Groups<Minimums>, _ sums: PartSums, column: Int) -> Token {
        let less = minimums.0.subtract(sums, column, from: result.0)
        return Token(first, second, (less, S.both ? minimums.1.subtract(sums, column, from: result.1) : result.1))
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

/// The tokens of a shape.
private struct Tokens<S: Shape> {
    private let (t0, t1, t2, t3): (Token<S>, Token<S>, Token<S>, Token<S>)
    private let (t4, t5, t6, t7): (Token<S>, Token<S>, Token<S>, Token<S>)

    @inline(__always)
    init() {
        let zero = Token<S>()
        self.init(zero, zero, zero, zero, zero, zero, zero, zero)
    }

    @inline(__always)
    private init(
        _ t0: Token<S>, _ t1: Token<S>, _ t2: Token<S>, _ t3: Token<S>, _ t4: Token<S>, _ t5: Token<S>, _ t6: Token<S>,
        _ t7: Token<S>
    ) {
        (self.t0, self.t1, self.t2, self.t3) = (t0, t1, t2, t3)
        (self.t4, self.t5, self.t6, self.t7) = (t4, t5, t6, t7)
    }

    @inline(__always)
    func starting(_ starts: UnsafePointer<Int32>) -> Tokens {
        Tokens(
            t0.starting(starts),
            S.tokens > 1 ? t1.starting(starts + 2) : t1,
            S.tokens > 2 ? t2.starting(starts + 4) : t2,
            S.tokens > 3 ? t3.starting(starts + 6) : t3,
            S.tokens > 4 ? t4.starting(starts + 8) : t4,
            S.tokens > 5 ? t5.starting(starts + 10) : t5,
            S.tokens > 6 ? t6.starting(starts + 12) : t6,
            S.tokens > 7 ? t7.starting(starts + 14) : t7)
    }

    @inline(__always)
    func adding(_ codes: Groups<__m512i>, _ x: UnsafePointer<Int32>) -> Tokens {
        Tokens(
            t0.adding(codes, x),
            S.tokens > 1 ? t1.adding(codes, x + 2) : t1,
            S.tokens > 2 ? t2.adding(codes, x + 4) : t2,
            S.tokens > 3 ? t3.adding(codes, x + 6) : t3,
            S.tokens > 4 ? t4.adding(codes, x + 8) : t4,
            S.tokens > 5 ? t5.adding(codes, x + 10) : t5,
            S.tokens > 6 ? t6.adding(codes, x + 12) : t6,
            S.tokens > 7 ? t7.adding(codes, x + 14) : t7)
    }

    @inline(__always)
    func finished(
        _ scales: Groups<(scale: __m512, offset: __m512)>, _ bases: UnsafePointer<Float>, _ sums: UnsafePointer<Float>?
    ) -> Tokens {
        Tokens(
            t0.finished(scales, bases, sum: sums?[1]),
            S.tokens > 1 ? t1.finished(scales, bases + 2, sum: sums?[3]) : t1,
            S.tokens > 2 ? t2.finished(scales, bases + 4, sum: sums?[5]) : t2,
            S.tokens > 3 ? t3.finished(scales, bases + 6, sum: sums?[7]) : t3,
            S.tokens > 4 ? t4.finished(scales, bases + 8, sum: sums?[9]) : t4,
            S.tokens > 5 ? t5.finished(scales, bases + 10, sum: sums?[11]) : t5,
            S.tokens > 6 ? t6.finished(scales, bases + 12, sum: sums?[13]) : t6,
            S.tokens > 7 ? t7.finished(scales, bases + 14, sum: sums?[15]) : t7)
    }

    @inline(__always)
    func subtracting(_ minimums: Groups<Minimums>, _ sums: PartSums) -> Tokens {
        Tokens(
            t0.subtracting(minimums, sums, column: 0),
            S.tokens > 1 ? t1.subtracting(minimums, sums, column: 2) : t1,
            S.tokens > 2 ? t2.subtracting(minimums, sums, column: 4) : t2,
            S.tokens > 3 ? t3.subtracting(minimums, sums, column: 6) : t3,
            S.tokens > 4 ? t4.subtracting(minimums, sums, column: 8) : t4,
            S.tokens > 5 ? t5.subtracting(minimums, sums, column: 10) : t5,
            S.tokens > 6 ? t6.subtracting(minimums, sums, column: 12) : t6,
            S.tokens > 7 ? t7.subtracting(minimums, sums, column: 14) : t7)
    }

    /// Writes the results of a group, and of the next one, of the tokens that the product has.
    @inline(__always)
    func write(_ product: PackedProduct, _ scales: UnsafePointer<Float>, group: Int, writesSecond: Bool) {
        @inline(__always)
        func write(_ token: Token<S>, _ index: Int) {
            guard index < product.tokens else { return }
            let c = product.c + (group &* PackedLayout.rows &+ index &* product.cStride)
            token.write(c, times: scales[index], writesSecond: writesSecond)
        }
        write(t0, 0)
        if S.tokens > 1 { write(t1, 1) }
        if S.tokens > 2 { write(t2, 2) }
        if S.tokens > 3 { write(t3, 3) }
        if S.tokens > 4 { write(t4, 4) }
        if S.tokens > 5 { write(t5, 5) }
        if S.tokens > 6 { write(t6, 6) }
        if S.tokens > 7 { write(t7, 7) }
    }
}

/// Adds a part's products, or those of its lower or its upper 16 columns.
private struct PartProducts<Format: PackedFormat, S: Shape> {
    let x: UnsafePointer<Int32>
    let trailing: UnsafeRawPointer
    let toSecond: Int
    let toSecondTrailing: Int

    /// Not a loop: the compiler would not always unroll it.
    @inline(__always)
    func add(_ planes: UnsafeRawPointer, low: Bool, high: Bool, to sums: Tokens<S>) -> Tokens<S> {
        let first = add(planes, 0, low, high, to: sums)
        let second = add(planes, 1, low, high, to: first)
        let third = add(planes, 2, low, high, to: second)
        return add(planes, 3, low, high, to: third)
    }

    @inline(__always)
    private func add(_ planes: UnsafeRawPointer, _ step: Int, _ low: Bool, _ high: Bool, to sums: Tokens<S>) -> Tokens<
        S
    > {
        let columns = 2 &* S.tokens
        let a = Format.codes(planes, trailing, step)
        let b = S.both ? Format.codes(planes + toSecond, trailing + toSecondTrailing, step) : a
        var (xLow, xHigh) = (x + step &* columns, x + (step &+ 4) &* columns)
        if low && high {
            // Over all steps, the compiler would read several activations at once and take them apart again.
            xLow = to_read_again(xLow)!.assumingMemoryBound(to: Int32.self)
            xHigh = to_read_again(xHigh)!.assumingMemoryBound(to: Int32.self)
        }
        let half = low ? sums.adding((a.0, b.0), xLow) : sums
        return high ? half.adding((a.1, b.1), xHigh) : half
    }
}

// A function of its own for each format and shape, since the compiler would otherwise merge the loops.
@inline(never)
private func multiply<Format: PackedFormat, S: Shape>(
    _: Format.Type, _: S.Type, _ product: PackedProduct, _ numbers: SliceNumbers
) {
    for group in stride(from: 0, to: product.groups, by: S.both ? 2 : 1) {
        multiply(Format.self, S.self, product, numbers, group)
    }
}

@inline(__always)
private func multiply<Format: PackedFormat, S: Shape>(
    _: Format.Type, _: S.Type, _ product: PackedProduct, _ numbers: SliceNumbers, _ group: Int
) {
    let layout = product.layout
    let columns = 2 &* S.tokens
    let groupBytes = product.blocks &* layout.blockBytes
    // An odd last group is multiplied twice and written once.
    let hasSecond = S.both && group &+ 1 < product.groups
    var block = product.weights + group &* groupBytes
    let toSecond = hasSecond ? groupBytes : 0
    let end = block + groupBytes
    let partBytes = layout.blockBytes / layout.parts
    let trailingBytes = product.blocks &* PackedLayout.trailingBytes
    var trailing = block
    if Format.isSplit, let first = product.trailing { trailing = UnsafeRawPointer(first) + group &* trailingBytes }
    let toSecondTrailing = hasSecond ? trailingBytes : 0
    /// Read only with `Offsets.ofBounds`; the results' address stands for none.
    var bounds = product.bounds ?? UnsafePointer(product.c)
    let bytesAhead = S.tokens == 1 ? Format.bytesAheadOfOneToken : bytesAhead
    let bytesAheadInL1 = prefetches_twice(S.tokens) != 0 ? PackedLayout.bytesAheadInL1 : nil
    var sums = Tokens<S>()
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
            let skipped = S.both && ahead >= end ? groupBytes : 0
            prefetchLines(ahead + skipped, partBytes)
            if S.both { prefetchLines(ahead + (skipped &+ toSecond), partBytes) }
            if Format.isSplit {
                let ahead = trailing + bytesAhead
                prefetchLines(ahead, PackedLayout.trailingBytes)
                if S.both { prefetchLines(ahead + toSecondTrailing, PackedLayout.trailingBytes) }
            }
            if let bytesAheadInL1 {
                prefetchLines(block + (part &* partBytes &+ bytesAheadInL1), partBytes, toL1: true)
                if Format.isSplit {
                    prefetchLines(trailing + bytesAheadInL1, PackedLayout.trailingBytes, toL1: true)
                }
            }
            let x = (slice + 32 &* columns &* slicePart).assumingMemoryBound(to: Int32.self)
            let basesOfSlice = (slice + WideTile.bases &* columns).assumingMemoryBound(to: Float.self)
            let bases = basesOfSlice + slicePart &* columns
            let products = PartProducts<Format, S>(
                x: x, trailing: trailing, toSecond: toSecond, toSecondTrailing: toSecondTrailing)
            /// What the segment's sums start with.
            @inline(__always)
            func starts(_ segment: Int, _ bases: UnsafePointer<Float>) -> UnsafePointer<Int32> {
                Format.offsets == .none
                    ? numbers.starts(segment, slicePart) : UnsafeRawPointer(bases).assumingMemoryBound(to: Int32.self)
            }
            @inline(__always)
            func scales(_ segment: Int) -> Groups<(scale: __m512, offset: __m512)> {
                let first = Format.scales(shared.0, block, part, segment)
                let second = S.both ? Format.scales(shared.1, block + toSecond, part, segment) : first
                return ((at_once(first.scale), first.offset), (at_once(second.scale), second.offset))
            }
            /// What the segment's offsets are multiplied by.
            @inline(__always)
            func offsets(_ segment: Int) -> UnsafePointer<Float>? {
                switch Format.offsets {
                case .ofSegments: numbers.sums(segment, slicePart)
                case .ofBounds: bounds
                default: nil
                }
            }
            // Before the products, which would delay what comes after them.
            let first = scales(0), second = Format.segments == 1 ? first : scales(1)
            sums = sums.starting(starts(0, bases))
            if Format.segments == 1 {
                sums = products.add(planes, low: true, high: true, to: sums).finished(first, bases, offsets(0))
            } else {
                sums = products.add(planes, low: true, high: false, to: sums).finished(first, bases, offsets(0))
                let planes = to_read_again(planes)!
                let bases = to_read_again(bases)!.assumingMemoryBound(to: Float.self)
                sums = sums.starting(starts(1, bases))
                sums = products.add(planes, low: false, high: true, to: sums).finished(second, bases, offsets(1))
            }
            if Format.isSplit { trailing += PackedLayout.trailingBytes }
            if Format.offsets == .ofBounds { bounds += columns }
            slicePart &+= 1
            if slicePart == WideTile.sliceParts {
                if Format.offsets == .ofParts {
                    let first = Minimums(Format.self, block, shared.0)
                    let minimums = (first, S.both ? Minimums(Format.self, block + toSecond, shared.1) : first)
                    sums = sums.subtracting(minimums, PartSums(slice, columns: columns))
                }
                slice += WideTile.sliceBytes &* columns
                slicePart = 0
            }
        }
        block += layout.blockBytes
    }
    guard let scales = product.scales else { return }
    sums.write(product, scales, group: group, writesSecond: hasSecond)
}
