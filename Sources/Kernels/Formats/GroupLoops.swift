/// The values of a format's codes, before scaling.
public enum Levels: Sendable {
    /// The integers from `lowest` to `highest`; codes count from `lowest`.
    case uniform(lowest: Float, highest: Float)
    /// `iq4Levels`.
    case iq4
    /// The 4-bit float E2M1, doubled: 0, 1, 2, 3, 4, 6, 8, 12 and their negatives.
    case e2m1

    /// The lowest level, zero or less.
    @inlinable @inline(__always)
    public var lowest: Float {
        switch self {
        case .uniform(let lowest, _): lowest
        case .iq4: -127
        case .e2m1: -12
        }
    }
    @inlinable @inline(__always)
    public var highest: Float {
        switch self {
        case .uniform(_, let highest): highest
        case .iq4: 113
        case .e2m1: 12
        }
    }
    /// Distance of levels at the ends: the tried scales map the largest value to within this of an end.
    @inlinable @inline(__always)
    public var spacing: Float {
        switch self {
        case .uniform: 1
        case .iq4: 12
        case .e2m1: 4
        }
    }
}

/// Sums over a group from which a scale is fitted, where `q` are the levels that a scale gives.
public struct ScaleSums: Sendable {
    /// Σ w·x·q and Σ w·q².
    public var xq: Float
    public var qq: Float

    @inlinable @inline(__always)
    public init(xq: Float = 0, qq: Float = 0) {
        self.xq = xq
        self.qq = qq
    }

    /// The scale with the least squared error.
    @inlinable @inline(__always)
    public var scale: Float { qq > 0 ? xq / qq : 0 }
    /// Reduction of the squared error by that scale, relative to all zeros.
    @inlinable @inline(__always)
    public var gain: Float { scale * xq }
}

/// Sums over a group from which a line `x ≈ scale · q + offset` is fitted.
public struct LineSums: Sendable {
    /// Σ w, Σ w·x, Σ w·q, Σ w·x·q and Σ w·q².
    public var w: Float = 0, x: Float = 0, q: Float = 0, xq: Float = 0, qq: Float = 0

    @inlinable @inline(__always)
    public init() {}
}

/// The values of a group and their weights in the squared error.
public struct Group {
    public let x: UnsafePointer<Float>
    public let w: UnsafePointer<Float>
    /// A multiple of 8.
    public let count: Int

    @inlinable @inline(__always)
    public init(_ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, count: Int) {
        self.x = x
        self.w = w
        self.count = count
    }
}

/// The loops over the values of a group that the search for a scale consists of, each for several candidates. All tiers
/// give the same bits: sums are added in eight lanes, these by neighbours (`(0 + 1) + (2 + 3)`, and so on).
public struct GroupLoops: Sendable {
    /// The minimum and the maximum of `count` values.
    public var range: @Sendable (UnsafePointer<Float>, _ count: Int) -> (low: Float, high: Float)
    /// For each inverse, the sums for the levels nearest to `inverse · x`.
    public var scaleSums:
        @Sendable (
            Group, Levels, _ inverses: UnsafeBufferPointer<Float>, UnsafeMutablePointer<ScaleSums>
        ) -> Void
    /// For each inverse, the sums for the codes `0...top` of `inverse · (x − offset)`.
    public var lineSums:
        @Sendable (
            Group, _ top: Float, _ offset: Float, _ inverses: UnsafeBufferPointer<Float>,
            UnsafeMutablePointer<LineSums>
        ) -> Void
    /// For each scale and offset, Σ w·(x − scale·q − offset)² for the levels that they give.
    public var squaredErrors:
        @Sendable (
            Group, Levels, _ scales: UnsafeBufferPointer<Float>, _ offsets: UnsafePointer<Float>,
            UnsafeMutablePointer<Float>
        ) -> Void
    /// Writes the codes of `(x − offset) / scale`.
    public var encode:
        @Sendable (
            UnsafePointer<Float>, _ count: Int, Levels, _ scale: Float, _ offset: Float,
            UnsafeMutablePointer<UInt8>
        ) -> Void

    public init(
        range: @escaping @Sendable (UnsafePointer<Float>, Int) -> (low: Float, high: Float),
        scaleSums:
            @escaping @Sendable (
                Group, Levels, UnsafeBufferPointer<Float>, UnsafeMutablePointer<ScaleSums>
            ) -> Void,
        lineSums:
            @escaping @Sendable (
                Group, Float, Float, UnsafeBufferPointer<Float>, UnsafeMutablePointer<LineSums>
            ) ->
            Void,
        squaredErrors:
            @escaping @Sendable (
                Group, Levels, UnsafeBufferPointer<Float>, UnsafePointer<Float>, UnsafeMutablePointer<Float>
            ) -> Void,
        encode:
            @escaping @Sendable (
                UnsafePointer<Float>, Int, Levels, Float, Float, UnsafeMutablePointer<UInt8>
            ) -> Void
    ) {
        self.range = range
        self.scaleSums = scaleSums
        self.lineSums = lineSums
        self.squaredErrors = squaredErrors
        self.encode = encode
    }
}

/// 1 / scale; 0 if the scale is zero or its inverse infinite, which maps all values to the level nearest to zero.
@inlinable @inline(__always)
public func reciprocal(_ scale: Float) -> Float {
    let inverse = 1 / scale
    return inverse.isFinite ? inverse : 0
}
