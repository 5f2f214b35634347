// The search for the scale of a group of values, and for its minimum if the format has one.

import KernelFormats

/// The values of a format's codes, before scaling.
protocol Levels {
    /// The lowest level, zero or less, and the highest.
    var lowest: Float { get }
    var highest: Float { get }
    /// Distance of levels at the ends: the tried scales map the largest value to within this of an end.
    var spacing: Float { get }
    /// The level nearest to each value.
    func nearest(_ values: SIMD4<Float>) -> SIMD4<Float>
    /// The code of the nearest level to each value.
    func codes(_ values: SIMD4<Float>) -> SIMD4<UInt32>
}

/// The integers from `lowest` to `highest`; codes count from `lowest`.
struct UniformLevels: Levels {
    let lowest: Float
    let highest: Float
    @inline(__always) var spacing: Float { 1 }

    @inline(__always)
    init(_ lowest: Float, _ highest: Float) {
        self.lowest = lowest
        self.highest = highest
    }

    @inline(__always)
    func nearest(_ values: SIMD4<Float>) -> SIMD4<Float> {
        let shift = SIMD4<Float>(repeating: roundingShift)
        return bounded(values, lowest, highest) + shift - shift
    }

    @inline(__always)
    func codes(_ values: SIMD4<Float>) -> SIMD4<UInt32> { integers(nearest(values) - lowest) }
}

/// 1.5 · 2²³: adding it rounds to an integer, ties to even, which is then in the low bits.
@inline(__always) private var roundingShift: Float { 12_582_912 }

/// Converts integral floats to integers, of which the low 22 bits are valid.
@inline(__always)
private func integers(_ values: SIMD4<Float>) -> SIMD4<UInt32> {
    unsafeBitCast(values + roundingShift, to: SIMD4<UInt32>.self)
}

@inline(__always)
private func bounded(_ values: SIMD4<Float>, _ lowest: Float, _ highest: Float) -> SIMD4<Float> {
    let low = SIMD4<Float>(repeating: lowest), high = SIMD4<Float>(repeating: highest)
    let raised = values.replacing(with: low, where: values .< low)
    return raised.replacing(with: high, where: high .< raised)
}

/// The levels of IQ4_NL and IQ4_XS.
struct IQ4Levels: Levels {
    let lowest: Float
    let highest: Float
    @inline(__always) var spacing: Float { 12 }
    /// For each level from the second on: its border to the previous level, then the level, both in all lanes.
    private let steps: UnsafePointer<SIMD4<Float>>

    /// Calls `body` with the levels.
    @inline(__always)
    static func with(_ body: (IQ4Levels) -> Void) {
        withUnsafeTemporaryAllocation(of: SIMD4<Float>.self, capacity: 30) { steps in
            let levels = SIMD16<Float>(iq4Levels)
            for index in 1..<16 {
                steps[2 &* index &- 2] = SIMD4(repeating: 0.5 * (levels[index &- 1] + levels[index]))
                steps[2 &* index &- 1] = SIMD4(repeating: levels[index])
            }
            body(IQ4Levels(lowest: levels[0], highest: levels[15], steps: UnsafePointer(steps.baseAddress!)))
        }
    }

    @inline(__always)
    func nearest(_ values: SIMD4<Float>) -> SIMD4<Float> {
        var result = SIMD4<Float>(repeating: lowest)
        for index in 0..<15 {
            result = result.replacing(with: steps[2 &* index &+ 1], where: steps[2 &* index] .< values)
        }
        return result
    }

    @inline(__always)
    func codes(_ values: SIMD4<Float>) -> SIMD4<UInt32> {
        var result = SIMD4<Float>()
        for index in 0..<15 {
            result = result.replacing(with: SIMD4(repeating: Float(index &+ 1)), where: steps[2 &* index] .< values)
        }
        return integers(result)
    }
}

/// The 4-bit float E2M1, doubled: 0, 1, 2, 3, 4, 6, 8, 12 and their negatives.
struct E2M1Levels: Levels {
    @inline(__always) var lowest: Float { -12 }
    @inline(__always) var highest: Float { 12 }
    @inline(__always) var spacing: Float { 4 }

    @inline(__always)
    func nearest(_ values: SIMD4<Float>) -> SIMD4<Float> {
        let values = bounded(values, lowest, highest)
        let powers = unsafeBitCast(
            unsafeBitCast(values, to: SIMD4<UInt32>.self) & 0x7f80_0000, to: SIMD4<Float>.self)
        // A value has two significant bits; below 2, one: it is rounded to a multiple of half its power of two.
        let two = SIMD4<Float>(repeating: 2)
        let shift = powers.replacing(with: two, where: powers .< two) * (0.5 * roundingShift)
        return values + shift - shift
    }

    @inline(__always)
    func codes(_ values: SIMD4<Float>) -> SIMD4<UInt32> {
        let bits = unsafeBitCast(nearest(values), to: SIMD4<UInt32>.self)
        // Exponent and first mantissa bit: 2 becomes 2, 12 becomes 7.
        let magnitudes = ((bits & 0x7fff_ffff) &>> 22) &- 254
        let small = magnitudes.replacing(with: 1, where: magnitudes .< 2)  // 1 has the exponent 127
        let codes = small.replacing(with: 0, where: (bits & 0x7fff_ffff) .== 0)
        return codes | (codes.replacing(with: 8, where: codes .> 0) & ((bits &>> 31) &* 8))
    }
}

/// Groups whose largest magnitude is below this become zeros.
private let smallestMagnitude: Float = 1e-30

/// The minimum and the maximum of `count` values.
@inline(never)
func range(_ x: UnsafePointer<Float>, count: Int) -> (low: Float, high: Float) {
    var low = load4(x), high = low
    var index = 4
    while index < count {
        let values = load4(x + index)
        low.replace(with: values, where: values .< low)
        high.replace(with: values, where: values .> high)
        index &+= 4
    }
    return (
        min(min(low[0], low[1]), min(low[2], low[3])), max(max(high[0], high[1]), max(high[2], high[3]))
    )
}

/// Sums over a group from which a scale is fitted, where `q` are the levels that a scale gives.
struct ScaleSums {
    /// Σ w·x·q and Σ w·q².
    var xq: Float
    var qq: Float

    /// Sums for the levels of `inverse · x`.
    ///
    /// Not inlined, like the other loops over a group: inlined into its callers, the compiler turns the lane selection
    /// into branches.
    @inline(never)
    init<L: Levels>(
        _ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, count: Int, _ levels: L, inverse: Float
    ) {
        var sumXQ = SIMD4<Float>(), sumQQ = SIMD4<Float>()
        var index = 0
        while index < count {
            let values = load4(x + index)
            let q = levels.nearest(values * inverse)
            let wq = load4(w + index) * q
            sumXQ += wq * values
            sumQQ += wq * q
            index &+= 4
        }
        xq = sumXQ.sum()
        qq = sumQQ.sum()
    }

    /// The scale with the least squared error.
    @inline(__always) var scale: Float { qq > 0 ? xq / qq : 0 }
    /// Reduction of the squared error by that scale, relative to all zeros.
    @inline(__always) var gain: Float { scale * xq }
}

/// Finds a scale `d` such that `d` times the nearest levels approximates the values, and the sums of its levels.
///
/// - Parameters:
///   - count: A multiple of 4, as in the other functions here.
///   - steps: `2 · steps + 1` scales are tried that map the largest value to within `spacing` of the lowest level, and
///     as many for the highest level.
@inline(__always)
func fitScale<L: Levels>(
    _ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, count: Int, _ levels: L, steps: Int
) -> (scale: Float, sums: ScaleSums) {
    let (low, high) = range(x, count: count)
    let largest = high > -low ? high : low
    let zeros = ScaleSums(x, w, count: count, levels, inverse: 0)
    guard abs(largest) > smallestMagnitude else { return (0, zeros) }
    guard abs(largest) < .infinity else { return (.infinity, zeros) }
    var best = ScaleSums(x, w, count: count, levels, inverse: levels.highest / largest)
    @inline(__always)
    func consider(_ inverse: Float) {
        let sums = ScaleSums(x, w, count: count, levels, inverse: inverse)
        if sums.gain > best.gain { best = sums }
    }
    for step in -steps...steps {
        let delta = levels.spacing * Float(step) / Float(max(1, steps))
        if levels.lowest < 0 { consider((levels.lowest + delta) / largest) }
        consider((levels.highest + delta) / largest)
    }
    // The fitted scale changes codes near borders, and these the fit: iterating never increases the error.
    for _ in 0..<2 where best.scale != 0 { consider(1 / best.scale) }
    return (best.scale, best)
}

/// Sums over a group from which a line `x ≈ scale · q + offset` is fitted.
struct LineSums {
    var w: Float = 0, x: Float = 0, q: Float = 0, xq: Float = 0, qq: Float = 0

    /// Sums for the codes `0...top` of `inverse · (x − offset)`.
    @inline(never)
    init(
        _ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, count: Int, top: Float, inverse: Float, offset: Float
    ) {
        let levels = UniformLevels(0, top)
        var sumW = SIMD4<Float>(), sumX = sumW, sumQ = sumW, sumXQ = sumW, sumQQ = sumW
        var index = 0
        while index < count {
            let values = load4(x + index), weights = load4(w + index)
            let q = levels.nearest((values - offset) * inverse)
            let wq = weights * q
            sumW += weights
            sumX += weights * values
            sumQ += wq
            sumXQ += wq * values
            sumQQ += wq * q
            index &+= 4
        }
        self.w = sumW.sum()
        self.x = sumX.sum()
        q = sumQ.sum()
        xq = sumXQ.sum()
        qq = sumQQ.sum()
    }

    /// The line with the least squared error and an offset of at most `highest`, and its reduction of the error
    /// relative to all zeros.
    @inline(__always)
    func line(highest: Float) -> (scale: Float, offset: Float, gain: Float) {
        let determinant = w * qq - q * q
        if determinant > 0 {
            let scale = (w * xq - x * q) / determinant
            let offset = (qq * x - q * xq) / determinant
            if offset <= highest { return (scale, offset, scale * xq + offset * x) }
        }
        // With the offset at its bound, the best scale is Σ w·(x − offset)·q / Σ w·q².
        let offset = min(highest, 0)
        guard qq > 0 else { return (0, offset, 0) }
        return (xq / qq, offset, xq * xq / qq)
    }
}

/// Finds a scale and an offset such that `scale · (0...top) + offset` approximates the values.
///
/// - Parameters:
///   - highest: Upper bound of the offset: 0, or infinity for none.
///   - steps: `2 · steps + 1` scales are tried that spread the values over `top − 1` to `top + 1` codes.
@inline(__always)
func fitLine(
    _ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, count: Int, top: Float, highest: Float, steps: Int
) -> (scale: Float, offset: Float, sums: LineSums) {
    var (low, high) = range(x, count: count)
    if low > highest { low = highest }
    guard high - low > smallestMagnitude else {
        let sums = LineSums(x, w, count: count, top: top, inverse: 0, offset: low)
        return (0, low, sums)
    }
    // The range overflows a float, so the scale is out of every format's range.
    guard high - low < .infinity else {
        return (.infinity, low, LineSums(x, w, count: count, top: top, inverse: 0, offset: 0))
    }
    var bestSums = LineSums(x, w, count: count, top: top, inverse: top / (high - low), offset: low)
    var best = bestSums.line(highest: highest)
    @inline(__always)
    func consider(_ inverse: Float, _ offset: Float) {
        let sums = LineSums(x, w, count: count, top: top, inverse: inverse, offset: offset)
        let line = sums.line(highest: highest)
        if line.gain > best.gain, line.scale > 0 { (best, bestSums) = (line, sums) }
    }
    for step in -steps...steps {
        consider((top + Float(step) / Float(max(1, steps))) / (high - low), low)
    }
    for _ in 0..<2 where best.scale > 0 { consider(1 / best.scale, best.offset) }
    return (best.scale, best.offset, bestSums)
}

/// Σ w·(x − scale·q − offset)² for the levels of a scale.
@inline(never)
func squaredError<L: Levels>(
    _ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, count: Int, _ levels: L, scale: Float, offset: Float = 0
) -> Float {
    let inverse = reciprocal(scale)
    var sum = SIMD4<Float>()
    var index = 0
    while index < count {
        let values = load4(x + index) - offset
        let difference = values - levels.nearest(values * inverse) * scale
        sum += load4(w + index) * difference * difference
        index &+= 4
    }
    return sum.sum()
}

/// Writes the codes of `(x − offset) / scale`.
@inline(never)
func encode<L: Levels>(
    _ x: UnsafePointer<Float>, count: Int, _ levels: L, scale: Float, offset: Float = 0,
    into codes: UnsafeMutablePointer<UInt8>
) {
    let inverse = reciprocal(scale)
    var index = 0
    while index < count {
        let four = levels.codes((load4(x + index) - offset) * inverse)
        for lane in 0..<4 { codes[index &+ lane] = UInt8(truncatingIfNeeded: four[lane]) }
        index &+= 4
    }
}

/// 1 / scale; 0 if the scale is zero or its inverse infinite, which maps all values to the level nearest to zero.
@inline(__always)
func reciprocal(_ scale: Float) -> Float {
    let inverse = 1 / scale
    return inverse.isFinite ? inverse : 0
}

@inline(__always)
private func load4(_ p: UnsafePointer<Float>) -> SIMD4<Float> {
    UnsafeRawPointer(p).loadUnaligned(as: SIMD4<Float>.self)
}
