// Passes over the values of eight groups.

/// Eight groups of `count` values each, transposed: value `i` of all groups, then value `i + 1`.
@usableFromInline
struct Groups<V: Lanes, W: Weights> where W.V == V {
    @usableFromInline let x: UnsafePointer<Float>
    @usableFromInline let weights: W
    @usableFromInline let count: Int

    @inlinable @inline(__always)
    init(_ x: UnsafePointer<Float>, _ weights: W, count: Int) {
        self.x = x
        self.weights = weights
        self.count = count
    }

    /// The next eight groups.
    @inlinable @inline(__always)
    var next: Groups { Groups(x + 8 &* count, weights.next(count), count: count) }

    @inlinable @inline(__always)
    func values(_ index: Int) -> V { V.load(x + 8 &* index) }

    @inlinable @inline(never)
    func range() -> (low: V, high: V) {
        // Even and odd values apart, here and below: a sum waits for the previous one.
        var even = (low: values(0), high: values(0))
        var odd = (low: values(1), high: values(1))
        var index = 2
        while index < count {
            let (a, b) = (values(index), values(index &+ 1))
            even = (.min(even.low, a), .max(even.high, a))
            odd = (.min(odd.low, b), .max(odd.high, b))
            index &+= 2
        }
        return (.min(even.low, odd.low), .max(even.high, odd.high))
    }

    /// The sums for the levels nearest to the values times one factor, and times another.
    @inlinable @inline(never)
    func scaleSums<R: Rounding>(
        _ rounding: R, _ first: V, _ second: V
    ) -> (ScaleSums<V>, ScaleSums<V>) where R.V == V {
        var (a, b) = (ScaleSums<V>(), ScaleSums<V>())
        for index in 0..<count {
            let x = values(index)
            a.add(x, rounding.nearest(x * first), weights, index)
            b.add(x, rounding.nearest(x * second), weights, index)
        }
        return (a, b)
    }

    @inlinable @inline(never)
    func scaleSums<R: Rounding>(_ rounding: R, _ factor: V) -> ScaleSums<V> where R.V == V {
        var (even, odd) = (ScaleSums<V>(), ScaleSums<V>())
        var index = 0
        while index < count {
            let (a, b) = (values(index), values(index &+ 1))
            even.add(a, rounding.nearest(a * factor), weights, index)
            odd.add(b, rounding.nearest(b * factor), weights, index &+ 1)
            index &+= 2
        }
        even.xq = even.xq + odd.xq
        even.qq = even.qq + odd.qq
        return even
    }

    /// The sums and Σ w·(x − scale·q)² for the levels nearest to x / scale.
    @inlinable @inline(never)
    func scaleErrors<R: Rounding>(_ rounding: R, scale: V) -> (error: V, sums: ScaleSums<V>) where R.V == V {
        let inverse = scale.reciprocal
        var sums = ScaleSums<V>()
        var error = V(0)
        for index in 0..<count {
            let x = values(index)
            let q = rounding.nearest(x * inverse)
            let difference = x - q * scale
            error = error + weights.weigh(difference, at: index) * difference
            sums.add(x, q, weights, index)
        }
        return (error, sums)
    }

    /// Σ w and Σ w·x.
    @inlinable @inline(never)
    func weightSums() -> (w: V, x: V) {
        let areEqual = W.areEqual
        var (even, odd) = ((w: V(0), x: V(0)), (w: V(0), x: V(0)))
        var index = 0
        while index < count {
            if !areEqual {
                even.w = even.w + weights.weigh(V(1), at: index)
                odd.w = odd.w + weights.weigh(V(1), at: index &+ 1)
            }
            even.x = even.x + weights.weigh(values(index), at: index)
            odd.x = odd.x + weights.weigh(values(index &+ 1), at: index &+ 1)
            index &+= 2
        }
        return (areEqual ? V(Float(count)) : even.w + odd.w, even.x + odd.x)
    }

    /// How far the first four values are from integers, after `offset` was subtracted and they were multiplied by `factor`:
    /// the largest distance, squared.
    @inlinable @inline(__always)
    func distanceFromIntegers(_ factor: V, offset: V) -> V {
        var largest = V(0)
        for index in 0..<4 {
            let x = (values(index) - offset) * factor
            let distance = x - x.rounded()
            largest = .max(largest, distance * distance)
        }
        return largest
    }

    /// The sums for the codes `0...top` nearest to `factor · (x − offset)`.
    @inlinable @inline(never)
    func lineSums<R: Rounding>(_ rounding: R, _ factor: V, offset: V) -> LineSums<V> where R.V == V {
        var (even, odd) = (LineSums<V>(), LineSums<V>())
        var index = 0
        while index < count {
            let (a, b) = (values(index), values(index &+ 1))
            even.add(a, rounding.nearest((a - offset) * factor), weights, index)
            odd.add(b, rounding.nearest((b - offset) * factor), weights, index &+ 1)
            index &+= 2
        }
        even.q = even.q + odd.q
        even.xq = even.xq + odd.xq
        even.qq = even.qq + odd.qq
        return even
    }

    /// Σ w·(x − scale·q − offset)² for the codes nearest to (x − offset) / scale.
    @inlinable @inline(never)
    func lineError(_ rounding: UniformRounding<V>, scale: V, offset: V) -> V {
        let inverse = scale.reciprocal
        var error = V(0)
        for index in 0..<count {
            let x = values(index) - offset
            let difference = x - rounding.nearest(x * inverse) * scale
            error = error + weights.weigh(difference, at: index) * difference
        }
        return error
    }

    /// Writes the codes nearest to (x − offset) / scale, `count` bytes of each group.
    @inlinable @inline(never)
    func encode<R: Rounding>(
        _ rounding: R, scale: V, offset: V = V(0), _ codes: UnsafeMutablePointer<UInt8>
    ) where R.V == V {
        let inverse = scale.reciprocal
        @inline(__always)
        func word(_ index: Int) -> V.Integers {
            @inline(__always)
            func code(_ index: Int) -> V.Integers { rounding.codes((values(index) - offset) * inverse) }
            return V.bytes(
                code(index), code(index &+ 1), code(index &+ 2), code(index &+ 3), bias: rounding.bias,
                top: rounding.top)
        }
        var index = 0
        while index < count {
            V.storeRows(
                word(index), word(index &+ 4), word(index &+ 8), word(index &+ 12), codes + index, stride: count)
            index &+= 16
        }
    }
}

/// Sums from which scales are fitted, where `q` are the levels that a scale gives.
@usableFromInline
struct ScaleSums<V: Lanes> {
    /// Σ w·x·q and Σ w·q².
    @usableFromInline var xq = V(0)
    @usableFromInline var qq = V(0)

    @inlinable @inline(__always)
    init() {}

    @inlinable @inline(__always)
    mutating func add<W: Weights>(_ x: V, _ q: V, _ weights: W, _ index: Int) where W.V == V {
        let wq = weights.weigh(q, at: index)
        xq = xq + wq * x
        qq = qq + wq * q
    }

    /// The scale with the least squared error.
    @inlinable @inline(__always)
    var scale: V { .choose(V(0), below: qq, xq / qq, else: V(0)) }

    /// These where `a < b`, else others.
    @inlinable @inline(__always)
    func chosen(where a: V, below b: V, else other: Self) -> Self {
        var result = self
        result.xq = .choose(a, below: b, xq, else: other.xq)
        result.qq = .choose(a, below: b, qq, else: other.qq)
        return result
    }
}

/// Sums from which lines `x ≈ scale · q + offset` are fitted.
@usableFromInline
struct LineSums<V: Lanes> {
    /// Σ w·q, Σ w·x·q and Σ w·q².
    @usableFromInline var q = V(0)
    @usableFromInline var xq = V(0)
    @usableFromInline var qq = V(0)

    @inlinable @inline(__always)
    init() {}

    @inlinable @inline(__always)
    mutating func add<W: Weights>(_ x: V, _ q: V, _ weights: W, _ index: Int) where W.V == V {
        let wq = weights.weigh(q, at: index)
        self.q = self.q + wq
        xq = xq + wq * x
        qq = qq + wq * q
    }
}
