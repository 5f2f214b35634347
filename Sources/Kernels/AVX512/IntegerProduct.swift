// An integer matrix product: tiles of quantized activations by panels of unpacked weights.
//
// `vpdpbusd` multiplies 64 weight codes (unsigned bytes) by 64 activation codes (signed) and adds groups of four to
// 32-bit sums: two per cycle with a latency of four, so at least eight independent sums are needed. Two panels by six
// columns are twelve.
//
// All multiplications share two units, so there are few others: the sums start with what the center of the codes amounts
// to, and the minimums of K formats are integers, four products for 256 columns. On AMD's processors other units can do
// additions: there a factor of activations is added to the exponent of a multiple of the scale (see `WideTile`). On
// Intel's, additions share those two units.

import CIntrinsics
public import KernelFormats

/// Whether additions are executed beside multiplications.
public let addsBesideMultiplying = cpu_is_intel() == 0

/// Multiplies a slice of a tile, or the first parts of it, by panels of 16 weight rows each.
///
/// - Parameter addingExponents: Whether scales are multiplied by additions to their exponents. Results are the same.
@inline(never)
public func multiplyTile(_ product: TileProduct, addingExponents: Bool) {
    if addingExponents { multiply(AddingExponents.self, product) } else { multiply(Multiplying.self, product) }
}

@inline(__always)
private func multiply<Scaling: ScalingMethod>(_: Scaling.Type, _ product: TileProduct) {
    switch product.layout.format {
    case .Q4_1, .Q5_1, .IQ1_S: multiply(WithOffsets<Scaling>.self, product)
    case .Q2_K: multiply(WithTwoOffsets<Scaling>.self, product)
    case .Q4_K, .Q5_K: multiply(WithMinimums<Scaling>.self, product)
    case .Q3_K, .Q6_K, .NVFP4, .IQ1_M, .IQ2: multiply(WithTwoScales<Scaling>.self, product)
    case .Q4_0, .Q5_0, .Q8_0, .IQ4_NL, .IQ4_XS, .MXFP4, .ternary, .IQ3_XXS, .IQ3_S:
        multiply(WithScale<Scaling>.self, product)
    }
}

/// How a scale of weights is multiplied by a factor of activations.
private protocol ScalingMethod {
    /// - Parameter multiples: Of the scale, as in a panel.
    static func scale(_ multiples: UnsafeRawPointer, _ numbers: Numbers, _ column: Int) -> __m512
}
private enum Multiplying: ScalingMethod {
    @inline(__always)
    static func scale(_ multiples: UnsafeRawPointer, _ numbers: Numbers, _ column: Int) -> __m512 {
        _mm512_mul_ps(floats16(multiples), broadcastFloat(numbers.factors + 4 &* column))
    }
}
private enum AddingExponents: ScalingMethod {
    @inline(__always)
    static func scale(_ multiples: UnsafeRawPointer, _ numbers: Numbers, _ column: Int) -> __m512 {
        let place = Int(truncatingIfNeeded: (numbers.eighths + 4 &* column).loadUnaligned(as: UInt32.self))
        let lift = broadcast(numbers.lifts + 4 &* column)
        return _mm512_castsi512_ps(_mm512_add_epi32(load64(multiples + place), lift))
    }
}

/// The numbers of a part of a slice.
private struct Numbers {
    let lifts: UnsafeRawPointer
    let eighths: UnsafeRawPointer
    let factors: UnsafeRawPointer

    @inline(__always)
    init(_ slice: UnsafeRawPointer, columns: Int, part: Int) {
        let place = slice + 4 &* columns &* part
        lifts = place + WideTile.lifts &* columns
        eighths = place + WideTile.eighths &* columns
        factors = place + WideTile.factors &* columns
    }
}

/// What panels of some formats have in common.
private protocol PanelKind {
    associatedtype Scaling: ScalingMethod
    static var segments: Int { get }
    static var offsets: Offsets { get }
}
private enum WithScale<Scaling: ScalingMethod>: PanelKind {
    @inline(__always) static var segments: Int { 1 }
    @inline(__always) static var offsets: Offsets { .none }
}
private enum WithTwoScales<Scaling: ScalingMethod>: PanelKind {
    @inline(__always) static var segments: Int { 2 }
    @inline(__always) static var offsets: Offsets { .none }
}
private enum WithOffsets<Scaling: ScalingMethod>: PanelKind {
    @inline(__always) static var segments: Int { 1 }
    @inline(__always) static var offsets: Offsets { .ofSegments }
}
private enum WithTwoOffsets<Scaling: ScalingMethod>: PanelKind {
    @inline(__always) static var segments: Int { 2 }
    @inline(__always) static var offsets: Offsets { .ofSegments }
}
private enum WithMinimums<Scaling: ScalingMethod>: PanelKind {
    @inline(__always) static var segments: Int { 1 }
    @inline(__always) static var offsets: Offsets { .ofParts }
}

@inline(__always)
private func multiply<Kind: PanelKind>(_: Kind.Type, _ product: TileProduct) {
    // It has none of these numbers, and zeroing their memory takes time.
    if Kind.offsets == .ofParts { return multiply(Kind.self, product, product.c) }
    var memory = SliceNumbers.Memory()
    multiply(Kind.self, product, &memory)
}

@inline(__always)
private func multiply<Kind: PanelKind>(_: Kind.Type, _ product: TileProduct, _ memory: UnsafeMutableRawPointer) {
    let numbers = SliceNumbers(in: memory, columns: product.columns)
    numbers.fill(from: product.tile, segments: Kind.segments, center: product.layout.format.center, Kind.offsets)
    let (count, panels, panelBytes) = (product.panelCount, product.panels, product.panelBytes)
    var index = 0
    while index < count {
        // An odd last panel is multiplied twice and written once.
        let both = index &+ 1 < count
        let job = Job(
            tile: product.tile, numbers: numbers, first: panels + index &* panelBytes,
            second: panels + (both ? index &+ 1 : index) &* panelBytes, parts: product.parts,
            c: product.c + index &* IntegerTile.resultFloats, tokens: product.tokens,
            accumulate: product.accumulate, writesSecond: both,
            // The slice of the next tile follows this one.
            nextTile: product.tile + WideTile.sliceBytes &* product.columns,
            nextResults: product.c + (count &+ index) &* IntegerTile.resultFloats)
        switch (product.columns, product.pairs) {
        case (2, false): multiplyTwo(Kind.self, job)
        case (4, false): multiplyFour(Kind.self, job)
        case (_, false): multiplySix(Kind.self, job)
        case (2, true): multiplyPair(Kind.self, job)
        case (4, true): multiplyTwoPairs(Kind.self, job)
        case (_, true): multiplyThreePairs(Kind.self, job)
        }
        index &+= 2
    }
}

// Separate functions, since the compiler would otherwise merge the loops.

@inline(never)
private func multiplyTwo<Kind: PanelKind>(_: Kind.Type, _ job: Job) { multiply(Kind.self, 1, false, job) }

@inline(never)
private func multiplyFour<Kind: PanelKind>(_: Kind.Type, _ job: Job) { multiply(Kind.self, 2, false, job) }

@inline(never)
private func multiplySix<Kind: PanelKind>(_: Kind.Type, _ job: Job) { multiply(Kind.self, 3, false, job) }

@inline(never)
private func multiplyPair<Kind: PanelKind>(_: Kind.Type, _ job: Job) { multiply(Kind.self, 1, true, job) }

@inline(never)
private func multiplyTwoPairs<Kind: PanelKind>(_: Kind.Type, _ job: Job) { multiply(Kind.self, 2, true, job) }

@inline(never)
private func multiplyThreePairs<Kind: PanelKind>(_: Kind.Type, _ job: Job) { multiply(Kind.self, 3, true, job) }

private struct Job {
    let tile: UnsafeRawPointer
    let numbers: SliceNumbers
    let first: UnsafeRawPointer
    let second: UnsafeRawPointer
    let parts: Int
    let c: UnsafeMutablePointer<Float>
    let tokens: Int
    let accumulate: Bool
    let writesSecond: Bool
    /// Needed next, and prefetched along the way: the next tile, and its results so far.
    let nextTile: UnsafeRawPointer
    let nextResults: UnsafeRawPointer
}

/// One value for each of the two panels.
private typealias Panels<Value> = (Value, Value)

/// Sums of two columns of the tile.
private struct Sums {
    var first: Panels<__m512i>
    var second: Panels<__m512i>

    /// - Parameter starts: Of the first of the two columns; `nil`: 0.
    @inline(__always)
    init(_ starts: UnsafePointer<Int32>?) {
        let a = starts.map { _mm512_set1_epi32($0[0]) } ?? _mm512_setzero_si512()
        let b = starts.map { _mm512_set1_epi32($0[1]) } ?? _mm512_setzero_si512()
        (first, second) = ((a, a), (b, b))
    }

    /// One step: four columns of the weight matrix.
    @inline(__always)
    mutating func add(_ w: Panels<__m512i>, _ x: UnsafePointer<Int32>) {
        let (x0, x1) = (_mm512_set1_epi32(x[0]), _mm512_set1_epi32(x[1]))
        first.0 = _mm512_dpbusd_epi32(first.0, w.0, x0)
        first.1 = _mm512_dpbusd_epi32(first.1, w.1, x0)
        second.0 = _mm512_dpbusd_epi32(second.0, w.0, x1)
        second.1 = _mm512_dpbusd_epi32(second.1, w.1, x1)
    }
}

/// Converts the sums of codes of a segment to results.
private struct Scales<Scaling: ScalingMethod> {
    /// The multiples of the panels' scales.
    let weights: Panels<UnsafeRawPointer>
    /// `nil`: the format has no offsets of segments.
    let offsets: Panels<__m512>?
    let numbers: Numbers
    let sums: UnsafePointer<Float>

    /// - Parameter last: The column of the sums of activations.
    @inline(__always)
    func add(_ code: Panels<__m512i>, _ column: Int, last: Int, to result: inout Panels<__m512>) {
        let scales = (Scaling.scale(weights.0, numbers, column), Scaling.scale(weights.1, numbers, column))
        result.0 = _mm512_fmadd_ps(_mm512_cvtepi32_ps(code.0), scales.0, result.0)
        result.1 = _mm512_fmadd_ps(_mm512_cvtepi32_ps(code.1), scales.1, result.1)
        if let offsets {
            let sum = _mm512_set1_ps(sums[last])
            result.0 = _mm512_fnmadd_ps(offsets.0, sum, result.0)
            result.1 = _mm512_fnmadd_ps(offsets.1, sum, result.1)
        }
    }
}

/// The minimums of 256 columns.
private struct Minimums {
    let first: UnsafeRawPointer
    let second: UnsafeRawPointer
    /// The part sums and their exponents, of the first column.
    let partSums: UnsafeRawPointer
    let lifts: UnsafeRawPointer
    let columns: Int

    @inline(__always)
    func subtract(_ column: Int, from result: inout Panels<__m512>) {
        var sums = (_mm512_setzero_si512(), _mm512_setzero_si512())
        for pair in 0..<4 {
            let x = broadcast(partSums + 4 &* (pair &* columns &+ column))
            sums.0 = in_order_wide(_mm512_dpwssd_epi32(sums.0, load64(first + 64 &* pair), x))
            sums.1 = in_order_wide(_mm512_dpwssd_epi32(sums.1, load64(second + 64 &* pair), x))
        }
        let lift = broadcast(lifts + 4 &* column)
        let scales = (_mm512_add_epi32(load64(first + 256), lift), _mm512_add_epi32(load64(second + 256), lift))
        result.0 = _mm512_fnmadd_ps(_mm512_cvtepi32_ps(sums.0), _mm512_castsi512_ps(scales.0), result.0)
        result.1 = _mm512_fnmadd_ps(_mm512_cvtepi32_ps(sums.1), _mm512_castsi512_ps(scales.1), result.1)
    }
}

/// Results of one or two tokens.
private struct Results {
    var first: Panels<__m512>
    var second: Panels<__m512>

    @inline(__always)
    init(_ job: Job, _ token: Int, pairs: Bool) {
        let zero = _mm512_setzero_ps()
        (first, second) = ((zero, zero), (zero, zero))
        guard job.accumulate else { return }
        if token < job.tokens { first = Self.load(job, token) }
        if !pairs, token &+ 1 < job.tokens { second = Self.load(job, token &+ 1) }
    }

    @inline(__always)
    private static func load(_ job: Job, _ token: Int) -> Panels<__m512> {
        let c = job.c + token &* PackedLayout.rows
        return (
            _mm512_loadu_ps(c), job.writesSecond ? _mm512_loadu_ps(c + IntegerTile.resultFloats) : _mm512_setzero_ps()
        )
    }

    @inline(__always)
    mutating func add<Scaling>(_ sums: Sums, _ scales: Scales<Scaling>, _ column: Int, pairs: Bool) {
        if pairs {
            let joined = (joinPair(sums.first.0, sums.second.0), joinPair(sums.first.1, sums.second.1))
            scales.add(joined, column, last: column &+ 1, to: &first)
        } else {
            scales.add(sums.first, column, last: column, to: &first)
            scales.add(sums.second, column &+ 1, last: column &+ 1, to: &second)
        }
    }

    @inline(__always)
    mutating func subtract(_ minimums: Minimums, _ column: Int, pairs: Bool) {
        minimums.subtract(column, from: &first)
        if !pairs { minimums.subtract(column &+ 1, from: &second) }
    }

    @inline(__always)
    func write(_ job: Job, _ token: Int, pairs: Bool) {
        if token < job.tokens { Self.store(first, job, token) }
        if !pairs, token &+ 1 < job.tokens { Self.store(second, job, token &+ 1) }
    }

    @inline(__always)
    private static func store(_ values: Panels<__m512>, _ job: Job, _ token: Int) {
        let c = job.c + token &* PackedLayout.rows
        _mm512_storeu_ps(c, values.0)
        if job.writesSecond { _mm512_storeu_ps(c + IntegerTile.resultFloats, values.1) }
    }
}

/// Lines to prefetch per 32 columns: of six columns of a slice, and of six results of two panels.
private let linesAhead = (tile: 6, results: 2)

/// `twos`, a literal, is half of the tile's columns.
@inline(__always)
private func multiply<Kind: PanelKind>(_: Kind.Type, _ twos: Int, _ pairs: Bool, _ job: Job) {
    let columns = 2 &* twos
    let tokensOfTwo = pairs ? 1 : 2
    let hasOffsets = Kind.offsets == .ofSegments
    let partBytes = panelPartBytes(segments: Kind.segments, hasOffsets: hasOffsets)
    let steps = 8 / Kind.segments
    var r0 = Results(job, 0, pairs: pairs)
    var r1 = Results(job, tokensOfTwo, pairs: pairs)
    var r2 = Results(job, 2 &* tokensOfTwo, pairs: pairs)
    var (first, second) = (job.first, job.second)
    var (nextTile, nextResults) = (job.nextTile, job.nextResults)
    var x = job.tile.assumingMemoryBound(to: Int32.self)
    for part in 0..<job.parts {
        for line in 0..<linesAhead.tile { prefetch(nextTile + 64 &* line) }
        for line in 0..<linesAhead.results { prefetch(nextResults + 64 &* line) }
        nextTile += 64 &* linesAhead.tile
        nextResults += 64 &* linesAhead.results
        let numbers = Numbers(job.tile, columns: columns, part: part)
        for segment in 0..<Kind.segments {
            let starts = Kind.offsets == .none ? job.numbers.starts(segment, part) : nil
            var s0 = Sums(starts), s1 = Sums(starts.map { $0 + 2 }), s2 = Sums(starts.map { $0 + 4 })
            for step in 0..<steps {
                let offset = 64 &* (segment &* steps &+ step)
                let w = (load64(first + offset), load64(second + offset))
                s0.add(w, x)
                if twos > 1 { s1.add(w, x + 2) }
                if twos > 2 { s2.add(w, x + 4) }
                x += columns
            }
            let scale = panelScales(segment), offset = panelOffsets(segment, segments: Kind.segments)
            let scales = Scales<Kind.Scaling>(
                weights: (first + scale, second + scale),
                offsets: hasOffsets ? (floats16(first + offset), floats16(second + offset)) : nil, numbers: numbers,
                sums: job.numbers.sums(segment, part))
            r0.add(s0, scales, 0, pairs: pairs)
            if twos > 1 { r1.add(s1, scales, 2, pairs: pairs) }
            if twos > 2 { r2.add(s2, scales, 4, pairs: pairs) }
        }
        first += partBytes
        second += partBytes
    }
    if Kind.offsets == .ofParts {
        let minimums = Minimums(
            first: first, second: second, partSums: job.tile + WideTile.partSums &* columns,
            lifts: job.tile + WideTile.sumLifts &* columns, columns: columns)
        r0.subtract(minimums, 0, pairs: pairs)
        if twos > 1 { r1.subtract(minimums, 2, pairs: pairs) }
        if twos > 2 { r2.subtract(minimums, 4, pairs: pairs) }
    }
    r0.write(job, 0, pairs: pairs)
    if twos > 1 { r1.write(job, tokensOfTwo, pairs: pairs) }
    if twos > 2 { r2.write(job, 2 &* tokensOfTwo, pairs: pairs) }
}
