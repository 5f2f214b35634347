// The search for the scales of eight groups, and for their offsets if the format has them.

/// Groups whose largest magnitude is below this become zeros.
@inlinable @inline(__always)
var smallestMagnitude: Float { 1e-30 }

/// Groups with a larger magnitude get an infinite scale: no format's scales reach it, and the sums might overflow.
@inlinable @inline(__always)
var largestMagnitude: Float { 1e10 }

/// Scales, the sums of their levels, and the reduction of the squared error relative to all zeros.
@usableFromInline
struct ScaleFit<V: Lanes> {
    @usableFromInline var scale = V(0)
    @usableFromInline var gain = V(-.infinity)
    @usableFromInline var sums = ScaleSums<V>()

    @inlinable @inline(__always)
    init() {}

    @inlinable @inline(__always)
    mutating func improve(_ other: ScaleSums<V>) {
        let otherScale = other.scale
        let otherGain = otherScale * other.xq
        sums = other.chosen(where: gain, below: otherGain, else: sums)
        scale = .choose(gain, below: otherGain, otherScale, else: scale)
        gain = .choose(gain, below: otherGain, otherGain, else: gain)
    }
}

extension Groups {
    /// Finds scales `d` such that `d` times the nearest levels approximates the values.
    ///
    /// - Parameters:
    ///   - steps: `2 · steps + 1` scales are tried that map the largest value to within `spacing` of the lowest
    ///     level, and as many for the highest level.
    ///   - rounds: The fitted scale changes codes near borders, and these the fit: how often that is repeated, which
    ///     never increases the error.
    @inlinable @inline(__always)
    func fitScale<R: Rounding>(_ rounding: R, steps: Int, rounds: Int = 2) -> ScaleFit<V> where R.V == V {
        let (low, high) = range()
        let largest = V.choose(V(0) - low, below: high, high, else: low)
        let magnitude = V.max(high, V(0) - low)
        let inverse = V.choose(V(smallestMagnitude), below: magnitude, V(1) / largest, else: V(0))
        var best = ScaleFit<V>()
        var step = -steps
        while step <= steps {
            let delta = rounding.spacing * Float(step) / Float(Swift.max(1, steps))
            let (a, b) = scaleSums(
                rounding, V(rounding.lowest + delta) * inverse, V(rounding.highest + delta) * inverse)
            best.improve(a)
            best.improve(b)
            step &+= 1
        }
        for _ in 0..<rounds { best.improve(scaleSums(rounding, best.scale.reciprocal)) }
        best.scale = .choose(magnitude, below: V(largestMagnitude), best.scale, else: V(.infinity))
        return best
    }

    /// Finds scales and offsets such that `scale · (0...top) + offset` approximates the values.
    ///
    /// - Parameters:
    ///   - highest: Upper bound of the offset: 0, or infinity for none.
    ///   - steps: `2 · steps + 1` scales are tried that spread the values over `top − 1` to `top + 1` codes.
    @inlinable @inline(__always)
    func fitLine(_ rounding: UniformRounding<V>, highest: Float, steps: Int, rounds: Int = 2) -> LineFit<V> {
        var (low, high) = range()
        low = .min(low, V(highest))
        let width = high - low
        let inverse = V.choose(V(smallestMagnitude), below: width, V(1) / width, else: V(0))
        let (w, x) = weightSums()
        var best = LineFit<V>(w: w, x: x, highest: V(highest), offset: low)
        var step = -steps
        while step <= steps {
            let factor = V(rounding.highest + Float(step) / Float(Swift.max(1, steps))) * inverse
            // Up to the step that maps the largest value to the highest code, no code is out of bounds.
            best.improve(
                step <= 0
                    ? lineSums(IntegerRounding<V>(), factor, offset: low) : lineSums(rounding, factor, offset: low))
            step &+= 1
        }
        if steps == 0 {
            // One scale was tried. Values of fewer bits, as -4...3 or -7...7, may have steps that `top − 1` is a multiple of.
            let factor = V(rounding.highest - 1) * inverse
            let distance = distanceFromIntegers(factor, offset: low)
            let limit: Float = 1 / 16384
            if distance.least < limit {
                // Groups that have no such steps get the scale of before, so that they do not depend on the others.
                let tried = V.choose(distance, below: V(limit), factor, else: V(rounding.highest) * inverse)
                best.improve(lineSums(IntegerRounding<V>(), tried, offset: low))
            }
        }
        for _ in 0..<rounds {
            best.improve(lineSums(rounding, best.scale.reciprocal, offset: best.offset))
        }
        best.scale = .choose(width, below: V(largestMagnitude), best.scale, else: V(.infinity))
        return best
    }
}

/// Lines, the sums of their codes, and the reduction of the squared error relative to all zeros.
@usableFromInline
struct LineFit<V: Lanes> {
    /// Σ w and Σ w·x.
    @usableFromInline let w: V
    @usableFromInline let x: V
    @usableFromInline let highest: V
    @usableFromInline var scale = V(0)
    @usableFromInline var offset: V
    @usableFromInline var gain = V(-.infinity)
    @usableFromInline var qq = V(0)

    @inlinable @inline(__always)
    init(w: V, x: V, highest: V, offset: V) {
        (self.w, self.x, self.highest, self.offset) = (w, x, highest, offset)
    }

    /// Takes the line with the least squared error for some codes, and with an offset of at most `highest`, where its
    /// scale is positive and its gain greater.
    @inlinable @inline(never)
    mutating func improve(_ sums: LineSums<V>) {
        // With the offset at its bound, 0, the best scale is Σ w·x·q / Σ w·q².
        let zero = V(0)
        var newScale = V.choose(zero, below: sums.qq, sums.xq / sums.qq, else: zero)
        var newOffset = zero
        var newGain = newScale * sums.xq
        let determinant = w * sums.qq - sums.q * sums.q
        let freeScale = (w * sums.xq - x * sums.q) / determinant
        let freeOffset = (sums.qq * x - sums.q * sums.xq) / determinant
        let freeGain = freeScale * sums.xq + freeOffset * x
        // Positive where the line is determined and its offset is in bounds.
        let isFree = V.choose(highest, below: freeOffset, zero, else: determinant)
        newScale = .choose(zero, below: isFree, freeScale, else: newScale)
        newOffset = .choose(zero, below: isFree, freeOffset, else: newOffset)
        newGain = .choose(zero, below: isFree, freeGain, else: newGain)
        newGain = .choose(zero, below: newScale, newGain, else: V(-.infinity))
        scale = .choose(gain, below: newGain, newScale, else: scale)
        offset = .choose(gain, below: newGain, newOffset, else: offset)
        qq = .choose(gain, below: newGain, sums.qq, else: qq)
        gain = .choose(gain, below: newGain, newGain, else: gain)
    }
}

/// The scale of a block whose groups' scales are integer multiples of it: `lowest...highest` times the result
/// approximates `count` values.
///
/// The lanes hold candidates: scales that map the largest value to within 1 of the highest or lowest multiple.
@inlinable @inline(never)
func fitMultiples<V: Lanes>(
    _: V.Type, _ values: UnsafePointer<Float>, _ weights: UnsafePointer<Float>, count: Int, lowest: Float,
    highest: Float
) -> Float {
    var largest: Float = 0
    for index in 0..<count where abs(values[index]) > abs(largest) { largest = values[index] }
    guard abs(largest) > smallestMagnitude, abs(largest) < largestMagnitude else {
        return abs(largest) <= smallestMagnitude ? 0 : .infinity
    }
    let rounding = UniformRounding<V>(lowest, highest)
    @inline(__always)
    func sums(_ factor: V) -> ScaleSums<V> {
        var sums = ScaleSums<V>()
        for index in 0..<count {
            let value = V(values[index])
            let q = rounding.nearest(value * factor)
            let wq = V(weights[index]) * q
            sums.xq = sums.xq + wq * value
            sums.qq = sums.qq + wq * q
        }
        return sums
    }
    return withUnsafeTemporaryAllocation(of: Float.self, capacity: 16) { lanes in
        let lanes = lanes.baseAddress!
        // From -1 to 0.875, in steps of an eighth.
        for index in 0..<16 { lanes[index] = Float(index &- 8) / 8 }
        let (below, above) = (V.load(lanes), V.load(lanes + 8))
        let inverse = V(1 / largest)
        var best = ScaleFit<V>()
        best.improve(sums((V(highest) + below) * inverse))
        best.improve(sums((V(highest) + above) * inverse))
        if lowest < 0 {
            best.improve(sums((V(lowest) + below) * inverse))
            best.improve(sums((V(lowest) + above) * inverse))
        }
        for _ in 0..<2 { best.improve(sums(best.scale.reciprocal)) }
        best.scale.store(lanes)
        best.gain.store(lanes + 8)
        var index = 0
        for lane in 1..<8 where lanes[8 &+ lane] > lanes[8 &+ index] { index = lane }
        return lanes[index]
    }
}
