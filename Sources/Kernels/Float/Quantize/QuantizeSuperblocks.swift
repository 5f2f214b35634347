// K-quants: blocks of 256 values, in groups of 16 or 32 whose scales are integer multiples of the block's scale.

public import KernelFormats

/// Room for the search in one block.
@usableFromInline
struct SuperblockScratch<V: Lanes> {
    /// Values, weights and codes: eight groups after the other.
    @usableFromInline let panel: Panel<V>
    /// For each group, the multiple of the block's scale, and below of the block's minimum.
    @usableFromInline let scales: UnsafeMutablePointer<Float>
    @usableFromInline let minimums: UnsafeMutablePointer<Float>
    /// For each group, the result of its search, and the increase of its error per squared deviation from that.
    @usableFromInline let fitted: UnsafeMutablePointer<Float>
    @usableFromInline let curvature: UnsafeMutablePointer<Float>
    @usableFromInline let fittedMinimums: UnsafeMutablePointer<Float>
    @usableFromInline let minimumCurvature: UnsafeMutablePointer<Float>
    @usableFromInline let lanes: UnsafeMutablePointer<Float>

    @inlinable @inline(__always)
    init(_ panel: Panel<V>, _ base: UnsafeMutablePointer<Float>) {
        self.panel = panel
        (scales, minimums, fitted, curvature) = (base, base + 16, base + 32, base + 48)
        (fittedMinimums, minimumCurvature, lanes) = (base + 64, base + 80, base + 96)
    }

    @inlinable @inline(__always)
    static func with(_ body: (SuperblockScratch<V>) -> Void) {
        Panel<V>.with { panel in
            withUnsafeTemporaryAllocation(of: Float.self, capacity: 6 * 16 + 8) {
                body(SuperblockScratch<V>(panel, $0.baseAddress!))
            }
        }
    }

    /// The sum of the lanes.
    @inlinable @inline(__always)
    func sum(_ v: V) -> Float {
        v.store(lanes)
        var sum: Float = 0
        for lane in 0..<8 { sum += lanes[lane] }
        return sum
    }
}

/// The nearest half-precision value.
@inlinable @inline(__always)
func rounded(_ value: Float) -> Float { floatFromHalf(half(value)) }

@inlinable @inline(__always)
func reciprocal(_ scale: Float) -> Float {
    let inverse = 1 / scale
    return inverse.isFinite ? inverse : 0
}

/// Quantizes blocks of 256 values.
///
/// - Parameters:
///   - search: Finds scales and codes of a block, given its first eight groups, and returns `d` and `dmin`.
///   - pack: Stores a block.
@inlinable @inline(__always)
func quantizeSuperblocks<V: Lanes, W: Weights>(
    _ source: QuantizedRow<V, W>, groupSize: Int, blockBytes: Int,
    search: (Groups<V, W>, SuperblockScratch<V>) -> (d: UInt16, dmin: UInt16),
    pack: ((d: UInt16, dmin: UInt16), SuperblockScratch<V>, UnsafeMutablePointer<UInt8>) -> Void
) {
    SuperblockScratch<V>.with { scratch in
        for block in 0..<(source.count / 256) {
            let groups = source.superblock(block &* 256, groupSize: groupSize, scratch.panel)
            let bytes = source.destination + block &* blockBytes
            pack(search(groups, scratch), scratch, bytes.assumingMemoryBound(to: UInt8.self))
        }
    }
}

/// Finds the codes and scales of a block: `x ≈ d · scale[group] · level`.
///
/// - Returns: `d`, as stored.
@inlinable @inline(__always)
func fitScales<V: Lanes, W: Weights, R: Rounding>(
    _ first: Groups<V, W>, _ rounding: R, lowest: Float, highest: Float, steps: Int, _ scratch: SuperblockScratch<V>
) -> UInt16 where R.V == V {
    let panels = 32 / first.count
    var groups = first
    for panel in 0..<panels {
        let fit = groups.fitScale(rounding, steps: steps)
        fit.scale.store(scratch.fitted + 8 &* panel)
        fit.sums.qq.store(scratch.curvature + 8 &* panel)
        groups = groups.next
    }
    let d = rounded(
        fitMultiples(
            V.self, scratch.fitted, scratch.curvature, count: 8 &* panels, lowest: lowest, highest: highest))
    // Try the multiples next to the fitted scale: which is best shows only when values are rounded with it.
    let inverse = V(reciprocal(d))
    let (low, high) = (V(lowest), V(highest))
    var total = ScaleSums<V>()
    groups = first
    for panel in 0..<panels {
        let nearest = V.min(.max(V.load(scratch.fitted + 8 &* panel) * inverse, low), high).rounded()
        var (error, scale, sums) = (V(.infinity), V(0), ScaleSums<V>())
        for step in -1...1 {
            let multiple = V.min(.max(nearest + V(Float(step)), low), high)
            let found = groups.scaleErrors(rounding, scale: V(d) * multiple)
            scale = .choose(found.error, below: error, multiple, else: scale)
            sums = found.sums.chosen(where: found.error, below: error, else: sums)
            error = .min(found.error, error)
        }
        scale.store(scratch.scales + 8 &* panel)
        total.xq = total.xq + scale * sums.xq
        total.qq = total.qq + scale * scale * sums.qq
        groups = groups.next
    }
    // Refit the block's scale to all codes; its rounding to a half may undo the gain.
    let (xq, qq) = (scratch.sum(total.xq), scratch.sum(total.qq))
    let refitted = qq > 0 ? rounded(xq / qq) : d
    let isBetter = refitted * (refitted * qq - 2 * xq) < d * (d * qq - 2 * xq)
    let best = isBetter ? refitted : d
    groups = first
    for panel in 0..<panels {
        groups.encode(
            rounding, scale: V(best) * V.load(scratch.scales + 8 &* panel),
            scratch.panel.codes + 8 &* panel &* first.count)
        groups = groups.next
    }
    return half(best)
}

/// Finds the codes, scales and minimums of a block: `x ≈ d · scale[group] · code − dmin · minimum[group]`.
///
/// - Returns: `d` and `dmin`, as stored.
@inlinable @inline(__always)
func fitLines<V: Lanes, W: Weights>(
    _ first: Groups<V, W>, top: Float, scaleTop: Float, steps: Int, _ scratch: SuperblockScratch<V>
) -> (d: UInt16, dmin: UInt16) {
    let panels = 32 / first.count
    let rounding = UniformRounding<V>(0, top)
    var groups = first
    for panel in 0..<panels {
        let fit = groups.fitLine(rounding, highest: 0, steps: steps)
        fit.scale.store(scratch.fitted + 8 &* panel)
        fit.qq.store(scratch.curvature + 8 &* panel)
        (V(0) - fit.offset).store(scratch.fittedMinimums + 8 &* panel)
        fit.w.store(scratch.minimumCurvature + 8 &* panel)
        groups = groups.next
    }
    @inline(__always)
    func fitted(_ values: UnsafePointer<Float>, _ curvature: UnsafePointer<Float>) -> Float {
        rounded(fitMultiples(V.self, values, curvature, count: 8 &* panels, lowest: 0, highest: scaleTop))
    }
    let d = fitted(scratch.fitted, scratch.curvature)
    let dmin = fitted(scratch.fittedMinimums, scratch.minimumCurvature)
    var total = LineEquations<V>()
    groups = first
    for panel in 0..<panels {
        let (scale, minimum) = chooseMultiples(
            groups, rounding, scaleTop, d, dmin, fitted: V.load(scratch.fitted + 8 &* panel),
            minimum: V.load(scratch.fittedMinimums + 8 &* panel))
        scale.store(scratch.scales + 8 &* panel)
        minimum.store(scratch.minimums + 8 &* panel)
        total.add(groups, rounding, scale, minimum, d, dmin)
        groups = groups.next
    }
    let best = total.solution(d, dmin, scratch)
    groups = first
    for panel in 0..<panels {
        groups.encode(
            rounding, scale: V(best.d) * V.load(scratch.scales + 8 &* panel),
            offset: V(-best.dmin) * V.load(scratch.minimums + 8 &* panel),
            scratch.panel.codes + 8 &* panel &* first.count)
        groups = groups.next
    }
    return (half(best.d), half(best.dmin))
}

/// Chooses the multiples of `d` and `dmin` of eight groups: of the three next to the fitted scale, each with the nearest
/// minimum and with the best one for the codes that both give.
@inlinable @inline(__always)
func chooseMultiples<V: Lanes, W: Weights>(
    _ groups: Groups<V, W>, _ rounding: UniformRounding<V>, _ scaleTop: Float, _ d: Float, _ dmin: Float,
    fitted: V, minimum: V
) -> (scale: V, minimum: V) {
    let (zero, top) = (V(0), V(scaleTop))
    let inverseMinimum = V(reciprocal(dmin))
    let nearest = V.min(fitted * V(reciprocal(d)), top).rounded()
    let nearestMinimum = V.min(minimum * inverseMinimum, top).rounded()
    let (w, x) = groups.weightSums()
    var best = (error: V(.infinity), scale: zero, minimum: zero)
    @inline(__always)
    func consider(_ multiple: V, _ minimum: V) {
        let error = groups.lineError(rounding, scale: V(d) * multiple, offset: V(-dmin) * minimum)
        best.scale = .choose(error, below: best.error, multiple, else: best.scale)
        best.minimum = .choose(error, below: best.error, minimum, else: best.minimum)
        best.error = .min(error, best.error)
    }
    for step in -1...1 {
        let multiple = V.min(.max(nearest + V(Float(step)), zero), top)
        let scale = V(d) * multiple
        consider(multiple, nearestMinimum)
        let sums = groups.lineSums(rounding, scale.reciprocal, offset: V(-dmin) * nearestMinimum)
        let free = V.choose(zero, below: w, (scale * sums.q - x) / w, else: zero)
        consider(multiple, V.min(.max(free * inverseMinimum, zero), top).rounded())
    }
    return (best.scale, best.minimum)
}

/// The normal equations of x ≈ d · a − dmin · b, with a = scale · code and b = minimum.
@usableFromInline
struct LineEquations<V: Lanes> {
    @usableFromInline var aa = V(0), ab = V(0), bb = V(0), ax = V(0), bx = V(0)

    @inlinable @inline(__always)
    init() {}

    @inlinable @inline(__always)
    mutating func add<W: Weights>(
        _ groups: Groups<V, W>, _ rounding: UniformRounding<V>, _ scale: V, _ minimum: V, _ d: Float, _ dmin: Float
    ) where W.V == V {
        let sums = groups.lineSums(rounding, (V(d) * scale).reciprocal, offset: V(-dmin) * minimum)
        let (w, x) = groups.weightSums()
        aa = aa + scale * scale * sums.qq
        ab = ab + scale * minimum * sums.q
        bb = bb + minimum * minimum * w
        ax = ax + scale * sums.xq
        bx = bx + minimum * x
    }

    /// The halves `d` and `dmin` with the least squared error; the given ones where no others are better.
    @inlinable @inline(__always)
    func solution(_ d: Float, _ dmin: Float, _ scratch: SuperblockScratch<V>) -> (d: Float, dmin: Float) {
        let (aa, ab, bb) = (scratch.sum(aa), scratch.sum(ab), scratch.sum(bb))
        let (ax, bx) = (scratch.sum(ax), scratch.sum(bx))
        let determinant = aa * bb - ab * ab
        var refitted = (d: d, dmin: dmin)
        if determinant > 1e-6 * aa * bb {
            refitted = (rounded((bb * ax - ab * bx) / determinant), rounded((ab * ax - aa * bx) / determinant))
        } else if aa > 0 {
            refitted.d = rounded((ax + dmin * ab) / aa)
        }
        /// The squared error, less Σ w·x².
        @inline(__always)
        func error(_ d: Float, _ dmin: Float) -> Float {
            d * (d * aa - 2 * dmin * ab - 2 * ax) + dmin * (dmin * bb + 2 * bx)
        }
        return error(refitted.d, refitted.dmin) < error(d, dmin) ? refitted : (d, dmin)
    }
}
