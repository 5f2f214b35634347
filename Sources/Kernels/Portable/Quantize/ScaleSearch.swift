// The search for the scale of a group of values, and for its offset if the format has one.

import KernelFormats

/// Groups whose largest magnitude is below this become zeros.
private let smallestMagnitude: Float = 1e-30

/// Candidates that are evaluated together, at most.
private let maximumCandidates = 32

/// Calls `body` with room for candidates and their results.
@inline(__always)
private func withCandidates<Sums>(
    _ type: Sums.Type, _ body: (UnsafeMutablePointer<Float>, UnsafeMutablePointer<Sums>) -> Void
) {
    withUnsafeTemporaryAllocation(of: Float.self, capacity: maximumCandidates) { inverses in
        withUnsafeTemporaryAllocation(of: Sums.self, capacity: maximumCandidates) { sums in
            body(inverses.baseAddress!, sums.baseAddress!)
        }
    }
}

extension GroupLoops {
    @inline(__always)
    func scaleSums(_ group: Group, _ levels: Levels, inverse: Float) -> ScaleSums {
        var sums = ScaleSums()
        withUnsafePointer(to: inverse) {
            scaleSums(group, levels, UnsafeBufferPointer(start: $0, count: 1), &sums)
        }
        return sums
    }

    @inline(__always)
    func lineSums(_ group: Group, top: Float, inverse: Float, offset: Float) -> LineSums {
        var sums = LineSums()
        withUnsafePointer(to: inverse) {
            lineSums(group, top, offset, UnsafeBufferPointer(start: $0, count: 1), &sums)
        }
        return sums
    }

    /// Finds a scale `d` such that `d` times the nearest levels approximates the values, and the sums of its levels.
    ///
    /// - Parameter steps: `2 · steps + 1` scales are tried that map the largest value to within `spacing` of the lowest
    ///   level, and as many for the highest level; at most 7.
    @inline(never)
    func fitScale(_ group: Group, _ levels: Levels, steps: Int) -> (scale: Float, sums: ScaleSums) {
        let (low, high) = range(group.x, group.count)
        let largest = high > -low ? high : low
        guard abs(largest) > smallestMagnitude, abs(largest) < .infinity else {
            return (abs(largest) < .infinity ? 0 : .infinity, scaleSums(group, levels, inverse: 0))
        }
        var best = ScaleSums()
        withCandidates(ScaleSums.self) { inverses, sums in
            var count = 0
            for step in -steps...steps {
                let delta = levels.spacing * Float(step) / Float(max(1, steps))
                if levels.lowest < 0 {
                    inverses[count] = (levels.lowest + delta) / largest
                    count &+= 1
                }
                inverses[count] = (levels.highest + delta) / largest
                count &+= 1
            }
            scaleSums(group, levels, UnsafeBufferPointer(start: inverses, count: count), sums)
            best = sums[0]
            for candidate in 1..<max(1, count) where sums[candidate].gain > best.gain {
                best = sums[candidate]
            }
        }
        // The fitted scale changes codes near borders, and these the fit: iterating never increases the error.
        for _ in 0..<2 where best.scale != 0 {
            let sums = scaleSums(group, levels, inverse: 1 / best.scale)
            guard sums.gain > best.gain else { break }
            best = sums
        }
        return (best.scale, best)
    }

    /// Finds a scale and an offset such that `scale · (0...top) + offset` approximates the values.
    ///
    /// - Parameters:
    ///   - highest: Upper bound of the offset: 0, or infinity for none.
    ///   - steps: `2 · steps + 1` scales are tried that spread the values over `top − 1` to `top + 1` codes.
    @inline(never)
    func fitLine(_ group: Group, top: Float, highest: Float, steps: Int) -> (
        scale: Float, offset: Float, sums: LineSums
    ) {
        var (low, high) = range(group.x, group.count)
        if low > highest { low = highest }
        guard high - low > smallestMagnitude else {
            return (0, low, lineSums(group, top: top, inverse: 0, offset: low))
        }
        // The range overflows a float, so the scale is out of every format's range.
        guard high - low < .infinity else {
            return (.infinity, low, lineSums(group, top: top, inverse: 0, offset: 0))
        }
        var bestSums = LineSums()
        var best = (scale: Float(0), offset: low, gain: -Float.infinity)
        withCandidates(LineSums.self) { inverses, sums in
            let count = 2 &* steps &+ 1
            for step in -steps...steps {
                inverses[step &+ steps] = (top + Float(step) / Float(max(1, steps))) / (high - low)
            }
            lineSums(group, top, low, UnsafeBufferPointer(start: inverses, count: count), sums)
            for candidate in 0..<count {
                let line = sums[candidate].line(highest: highest)
                if candidate == 0 || line.gain > best.gain && line.scale > 0 {
                    (best, bestSums) = (line, sums[candidate])
                }
            }
        }
        for _ in 0..<2 where best.scale > 0 {
            let sums = lineSums(group, top: top, inverse: 1 / best.scale, offset: best.offset)
            let line = sums.line(highest: highest)
            guard line.gain > best.gain, line.scale > 0 else { break }
            (best, bestSums) = (line, sums)
        }
        return (best.scale, best.offset, bestSums)
    }
}

extension LineSums {
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
