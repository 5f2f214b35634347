// The loops over a group of values, eight at a time; see `GroupLoops`.

public import KernelFormats

typealias Eight = SIMD8<Float>

/// Rounds values to levels.
private protocol Rounding {
    /// The level nearest to each value.
    func nearest(_ values: Eight) -> Eight
    /// The code of the nearest level to each value.
    func codes(_ values: Eight) -> SIMD8<UInt32>
}

private struct UniformRounding: Rounding {
    let lowest: Float
    let highest: Float

    @inline(__always)
    func nearest(_ values: Eight) -> Eight {
        bounded(values, lowest, highest) + roundingShift - roundingShift
    }

    @inline(__always)
    func codes(_ values: Eight) -> SIMD8<UInt32> { integers(nearest(values) - lowest) }
}

/// 1.5 · 2²³: adding it rounds to an integer, ties to even, which is then in the low bits.
@inline(__always) private var roundingShift: Float { 12_582_912 }

/// Converts integral floats to integers, of which the low 22 bits are valid.
@inline(__always)
private func integers(_ values: Eight) -> SIMD8<UInt32> {
    unsafeBitCast(values + roundingShift, to: SIMD8<UInt32>.self)
}

@inline(__always)
private func bounded(_ values: Eight, _ lowest: Float, _ highest: Float) -> Eight {
    let low = Eight(repeating: lowest)
    let high = Eight(repeating: highest)
    let raised = values.replacing(with: low, where: values .< low)
    return raised.replacing(with: high, where: high .< raised)
}

private struct IQ4Rounding: Rounding {
    /// For each level from the second on: its border to the previous level, then the level, both in all lanes.
    let steps: UnsafePointer<Eight>

    @inline(__always)
    static func with(_ body: (IQ4Rounding) -> Void) {
        withUnsafeTemporaryAllocation(of: Eight.self, capacity: 30) { steps in
            let levels = SIMD16<Float>(iq4Levels)
            for index in 1..<16 {
                steps[2 &* index &- 2] = Eight(repeating: 0.5 * (levels[index &- 1] + levels[index]))
                steps[2 &* index &- 1] = Eight(repeating: levels[index])
            }
            body(IQ4Rounding(steps: UnsafePointer(steps.baseAddress!)))
        }
    }

    @inline(__always)
    func nearest(_ values: Eight) -> Eight {
        var result = Eight(repeating: -127)
        for index in 0..<15 {
            result = result.replacing(with: steps[2 &* index &+ 1], where: steps[2 &* index] .< values)
        }
        return result
    }

    @inline(__always)
    func codes(_ values: Eight) -> SIMD8<UInt32> {
        var result = Eight()
        for index in 0..<15 {
            result = result.replacing(
                with: Eight(repeating: Float(index &+ 1)), where: steps[2 &* index] .< values)
        }
        return integers(result)
    }
}

private struct E2M1Rounding: Rounding {
    @inline(__always)
    func nearest(_ values: Eight) -> Eight {
        let values = bounded(values, -12, 12)
        let powers = unsafeBitCast(
            unsafeBitCast(values, to: SIMD8<UInt32>.self) & 0x7f80_0000, to: Eight.self)
        // A value has two significant bits; below 2, one: it is rounded to a multiple of half its power of two.
        let two = Eight(repeating: 2)
        let shift = powers.replacing(with: two, where: powers .< two) * (0.5 * roundingShift)
        return values + shift - shift
    }

    @inline(__always)
    func codes(_ values: Eight) -> SIMD8<UInt32> {
        let bits = unsafeBitCast(nearest(values), to: SIMD8<UInt32>.self)
        // Exponent and first mantissa bit: 2 becomes 2, 12 becomes 7.
        let magnitudes = ((bits & 0x7fff_ffff) &>> 22) &- 254
        let small = magnitudes.replacing(with: 1, where: magnitudes .< 2)  // 1 has the exponent 127
        let codes = small.replacing(with: 0, where: (bits & 0x7fff_ffff) .== 0)
        return codes | (codes.replacing(with: 8, where: codes .> 0) & ((bits &>> 31) &* 8))
    }
}

@inline(__always)
private func load(_ p: UnsafePointer<Float>) -> Eight {
    UnsafeRawPointer(p).loadUnaligned(as: Eight.self)
}

/// The sum of eight lanes, by neighbours.
@inline(__always)
private func sum(_ v: Eight) -> Float {
    let pairs = v.evenHalf + v.oddHalf
    return (pairs[0] + pairs[1]) + (pairs[2] + pairs[3])
}

extension GroupLoops {
    /// The reference of the other tiers.
    public static let portable = GroupLoops(
        range: { portableRange($0, count: $1) },
        scaleSums: { group, levels, inverses, sums in
            switch levels {
            case .uniform(let lowest, let highest):
                sumScales(group, UniformRounding(lowest: lowest, highest: highest), inverses, sums)
            case .iq4: IQ4Rounding.with { sumScales(group, $0, inverses, sums) }
            case .e2m1: sumScales(group, E2M1Rounding(), inverses, sums)
            }
        },
        lineSums: { sumLines($0, top: $1, offset: $2, $3, $4) },
        squaredErrors: { group, levels, scales, offsets, errors in
            switch levels {
            case .uniform(let lowest, let highest):
                sumErrors(group, UniformRounding(lowest: lowest, highest: highest), scales, offsets, errors)
            case .iq4: IQ4Rounding.with { sumErrors(group, $0, scales, offsets, errors) }
            case .e2m1: sumErrors(group, E2M1Rounding(), scales, offsets, errors)
            }
        },
        encode: { x, count, levels, scale, offset, codes in
            switch levels {
            case .uniform(let lowest, let highest):
                writeCodes(
                    x, count, UniformRounding(lowest: lowest, highest: highest), scale, offset, codes)
            case .iq4: IQ4Rounding.with { writeCodes(x, count, $0, scale, offset, codes) }
            case .e2m1: writeCodes(x, count, E2M1Rounding(), scale, offset, codes)
            }
        })
}

@inline(never)
private func portableRange(_ x: UnsafePointer<Float>, count: Int) -> (low: Float, high: Float) {
    var low = load(x)
    var high = low
    var index = 8
    while index < count {
        let values = load(x + index)
        low.replace(with: values, where: values .< low)
        high.replace(with: values, where: values .> high)
        index &+= 8
    }
    // No zero has a sign, whichever comes first.
    return (0 + low.min(), 0 + high.max())
}

@inline(never)
private func sumScales<R: Rounding>(
    _ group: Group, _ rounding: R, _ inverses: UnsafeBufferPointer<Float>,
    _ sums: UnsafeMutablePointer<ScaleSums>
) {
    for (candidate, inverse) in inverses.enumerated() {
        var sumXQ = Eight()
        var sumQQ = Eight()
        var index = 0
        while index < group.count {
            let values = load(group.x + index)
            let q = rounding.nearest(values * inverse)
            let wq = load(group.w + index) * q
            sumXQ += wq * values
            sumQQ += wq * q
            index &+= 8
        }
        sums[candidate] = ScaleSums(xq: sum(sumXQ), qq: sum(sumQQ))
    }
}

@inline(never)
private func sumLines(
    _ group: Group, top: Float, offset: Float, _ inverses: UnsafeBufferPointer<Float>,
    _ sums: UnsafeMutablePointer<LineSums>
) {
    let rounding = UniformRounding(lowest: 0, highest: top)
    for (candidate, inverse) in inverses.enumerated() {
        var sumW = Eight()
        var sumX = sumW
        var sumQ = sumW
        var sumXQ = sumW
        var sumQQ = sumW
        var index = 0
        while index < group.count {
            let values = load(group.x + index)
            let weights = load(group.w + index)
            let q = rounding.nearest((values - offset) * inverse)
            let wq = weights * q
            sumW += weights
            sumX += weights * values
            sumQ += wq
            sumXQ += wq * values
            sumQQ += wq * q
            index &+= 8
        }
        var result = LineSums()
        (result.w, result.x, result.q) = (sum(sumW), sum(sumX), sum(sumQ))
        (result.xq, result.qq) = (sum(sumXQ), sum(sumQQ))
        sums[candidate] = result
    }
}

@inline(never)
private func sumErrors<R: Rounding>(
    _ group: Group, _ rounding: R, _ scales: UnsafeBufferPointer<Float>,
    _ offsets: UnsafePointer<Float>,
    _ errors: UnsafeMutablePointer<Float>
) {
    for (candidate, scale) in scales.enumerated() {
        let inverse = reciprocal(scale)
        let offset = offsets[candidate]
        var total = Eight()
        var index = 0
        while index < group.count {
            let values = load(group.x + index) - offset
            let difference = values - rounding.nearest(values * inverse) * scale
            total += load(group.w + index) * difference * difference
            index &+= 8
        }
        errors[candidate] = sum(total)
    }
}

@inline(never)
private func writeCodes<R: Rounding>(
    _ x: UnsafePointer<Float>, _ count: Int, _ rounding: R, _ scale: Float, _ offset: Float,
    _ codes: UnsafeMutablePointer<UInt8>
) {
    let inverse = reciprocal(scale)
    var index = 0
    while index < count {
        let eight = rounding.codes((load(x + index) - offset) * inverse)
        UnsafeMutableRawPointer(codes + index).storeBytes(
            of: SIMD8<UInt8>(truncatingIfNeeded: eight), as: SIMD8<UInt8>.self)
        index &+= 8
    }
}
